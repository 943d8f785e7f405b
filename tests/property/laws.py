"""What must hold for each random graph:

- the emitted text computes what the reference does, bit for bit where values are exact;
- two compilations give the same bytes;
- with --deterministic two orders of the threads give the same bits, and the last of several plain stores stays;
- leaving out an optional pass, naming sizes that stay open until launch, one more output, another order of the ops, another GPU: nothing
  of it changes an output. One of these is drawn for each graph;
- kernels drawn at random give what the chosen ones give, bit for bit where no reduction, scan or scatter comes before;
- the report holds its own rules (report_laws.py).
"""
import copy
import json
import random

import data
import emulate
import report_laws

# The small ones get vectors and repeated work from tensors of a few thousand elements.
ARCHS = ["sm_72", "sm_72", "sm_87", "sm_90"]
SCATTER_SCHEDULES = emulate.SCATTER_SCHEDULES
PASSES = ["fold_constants", "simplify", "invert_permutations", "share_equal_ops"]
# Ops whose result may depend on an order that the kernel chooses, and composites of such.
ORDERED = {"sum", "prod", "mean", "var", "var_mean", "logsumexp", "cumsum", "cumprod", "scatter", "index_put", "softmax", "log_softmax", "layer_norm", "rms_norm"}


def tolerance_of(graph):
    """Output name → (relative, absolute), from the graph's meta."""
    return graph.get("meta", {}).get("tolerance", {})


def flags_of(graph):
    """What the graph is compiled with."""
    return graph.get("meta", {}).get("flags", [])


def compile_graph(fusec, graph, work, arch, *flags):
    path = work / f"{graph['name']}.fusion.json"
    path.write_text(json.dumps(graph))
    flags = [*flags_of(graph), *flags]
    emulate.must(fusec, "-q", "compile", path, "-o", work, "--emit", "cu", "--arch", arch, *flags)
    return emulate.Program(work, graph["name"], deterministic="--deterministic" in flags)


# --- variants: another way to say the same. Each gives a graph, flags, and for each output its name in the reference; or None ------------


def skipped_pass(rng, graph):
    return graph, ["--skip", rng.choice(PASSES)], None


def other_order(rng, graph):
    rng.shuffle(graph["ops"])
    return graph, [], None


def one_more_output(rng, graph):
    given = {o["value"] for o in graph["outputs"]}
    inexact = set(tolerance_of(graph))
    for op in graph["ops"]:  # an inexact result may be cast before it is an output
        if op["out"] in inexact if isinstance(op["out"], str) else inexact & set(op["out"]):
            inexact |= {a for a in op.get("in", []) if isinstance(a, str)}
    free = [op["out"] for op in graph["ops"] if isinstance(op["out"], str) and op["out"] not in given and op["out"] not in inexact]
    if not free:
        return None
    graph["outputs"].append({"value": rng.choice(free)})
    return graph, [], None


def open_sizes(rng, graph):
    """Some extents become names. Where an op then meets sizes that it cannot compare, fusec refuses the graph, and the variant is dropped."""
    extents = sorted({n for i in graph["inputs"] for n in i["shape"] if n > 1})
    if not extents:
        return None
    chosen = {n: f"D{n}" for n in rng.sample(extents, min(len(extents), rng.choice([1, 1, 2])))}
    graph["dims"] = {name: {"size": n, "dynamic": True} for n, name in chosen.items()}
    if rng.random() < 0.3:
        for n, name in chosen.items():
            graph["dims"][name]["multiple_of"] = max(k for k in (1, 2, 4, 8, 16) if n % k == 0)

    def renamed(list_of_sizes):
        return [chosen.get(n, n) if isinstance(n, int) else n for n in list_of_sizes]

    for i in graph["inputs"]:
        if "strides" not in i:
            i["shape"] = renamed(i["shape"])
    for op in graph["ops"]:
        for key in ("shape", "stops"):
            if key in op:
                op[key] = renamed(op[key])
    return graph, [], "may be refused"


def scatter_schedule(rng, graph):
    """Updates spread in another way."""
    if not any(op.get("accumulate") for op in graph["ops"]):
        return skipped_pass(rng, graph)
    return graph, ["--scatter", rng.choice(SCATTER_SCHEDULES)], None


def deterministic(rng, graph):
    if "--deterministic" in flags_of(graph):
        return None
    schedule = rng.choice([None, *SCATTER_SCHEDULES])
    return graph, ["--deterministic", *(["--scatter", schedule] if schedule else [])], None


VARIANTS = [skipped_pass, other_order, one_more_output, open_sizes, open_sizes, scatter_schedule, deterministic]


def make_variant(fusec, graph, rng, work, seen):
    """A compiled variant, or None."""
    scatters = any(op.get("accumulate") for op in graph["ops"])
    change = scatter_schedule if scatters and rng.random() < 0.5 else rng.choice(VARIANTS)
    made = change(rng, copy.deepcopy(graph))
    if not made:
        return None
    other, flags, refusal = made
    other["name"] += "_variant"
    path = work / f"{other['name']}.fusion.json"
    path.write_text(json.dumps(other))
    if refusal and emulate.run(fusec, "check", path).returncode == 2:
        return None
    try:
        program = compile_graph(fusec, other, work, rng.choice(ARCHS), *flags)
    except emulate.Failure as failure:
        if refusal and "sorts rows that may be too long" in str(failure):
            return None
        raise
    seen.append(change.__name__.replace("_", " "))
    return other, program


# --- cuts: the same graph in other kernels -----------------------------------------------------------------------------------------------

CUTS = 1


def make_cuts(fusec, graph, seed, work, arch, rewritten):
    """Compiled with kernels drawn at random: name of the partition → program."""
    cuts = {}
    for n in range(CUTS if seed % 3 == 0 else 0):  # (each costs a compilation)
        how = f"random:{CUTS * seed + n}"
        other = {**graph, "name": f"{graph['name']}_cut{n}"}
        program = compile_graph(fusec, other, work, arch, "--partition", how)
        report_laws.check(rewritten, read_report(work, other["name"]))
        cuts[how] = program
    return cuts


def read_report(work, name):
    return json.loads((work / f"{name}.report.json").read_text())


def settled_outputs(graph):
    """Outputs that no reduction, scan or scatter leads to: whatever the kernels are, their bits are the same."""
    ops = {name: op for op in graph["ops"] for name in (op["out"] if isinstance(op["out"], list) else [op["out"]])}
    known = {}

    def settled(name):
        if name not in known:
            op = ops.get(name)
            known[name] = op is None or (op["op"] not in ORDERED and all(settled(a) for a in op.get("in", []) if isinstance(a, str)))
        return known[name]

    return {o["value"] for o in graph["outputs"] if settled(o["value"])}


# --- one graph ---------------------------------------------------------------------------------------------------------------------------


class Trial:
    """A graph and everything that is compiled from it: itself, a variant, other cuts. Their texts are compiled together, with those of other
    trials too, and then executed. Raises emulate.Failure. Adds the laws that were looked at to `seen`."""

    def __init__(self, fusec, graph, seed, work, seen):
        self.fusec, self.graph, self.seed, self.work, self.seen = fusec, graph, seed, work, seen
        rng, name = random.Random(seed), graph["name"]
        arch = rng.choice(ARCHS)
        self.program = compile_graph(fusec, graph, work, arch)
        rewritten = emulate.must(fusec, "compile", work / f"{name}.fusion.json", "--stop-after", "remove_dead_ops", *flags_of(graph))
        report_laws.check(rewritten, read_report(work, name))
        text = self.text(self.program)
        again = work / "again"
        emulate.must(fusec, "compile", work / f"{name}.fusion.json", "-o", again, "--emit", "cu", "--arch", arch, *flags_of(graph))
        if (again / f"{name}.cu").read_bytes() != self.program.source.read_bytes():
            raise emulate.Failure("two compilations differ")
        variant = make_variant(fusec, graph, rng, work, seen)
        self.variant = variant if variant and self.text(variant[1]) != text else None
        self.cuts, texts = {}, {text}
        for how, program in make_cuts(fusec, graph, seed, work, arch, rewritten).items():
            if self.text(program) not in texts:
                texts.add(self.text(program))
                self.cuts[how] = program
        self.inputs = work / "in.safetensors"
        emulate.prepare_inputs(self.program, graph, self.inputs, seed, special=True)

    def text(self, program):
        """The emitted text, whatever the graph is called."""
        return program.source.read_text().replace(program.name, self.graph["name"])

    def sources(self):
        return [p.source for p in (self.program, *([self.variant[1]] if self.variant else []), *self.cuts.values())]

    def reference(self, graph, tag):
        out = self.work / f"{tag}.safetensors"
        emulate.must(self.fusec, "run", self.work / f"{graph['name']}.fusion.json", "--device", "cpu", "--inputs", self.inputs, "--outputs", out)
        return out

    def execute(self, tools, library):
        expected, saved = self.reference(self.graph, "cpu"), self.work / "saved.bin"
        allowed = tolerance_of(self.graph)

        def tolerance(output):
            return allowed.get(output["name"].split("#")[0], (0, 0))

        self.seen.append("emitted text = reference" + (", the same bits in two runs" if self.program.deterministic else ""))
        emulate.execute(tools, self.program, library, self.work, self.inputs, expected, tolerance=tolerance, save=saved)
        if self.variant:
            self.execute_variant(tools, library, expected, tolerance)
        if self.cuts:
            self.execute_cuts(tools, library, expected, saved, tolerance)

    def execute_variant(self, tools, library, expected, tolerance):
        other, program = self.variant
        try:
            wanted = self.reference(other, "variant")
            before, after = data.read_tensors(expected), data.read_tensors(wanted)
            for output in before:
                if before[output] != after.get(output):
                    raise emulate.Failure(f"the reference of the variant differs in {output}")
            emulate.execute(tools, program, library, self.work, self.inputs, wanted, tolerance=tolerance)
        except emulate.Failure as failure:
            raise emulate.Failure(f"variant ({self.seen[0]}): {failure}")

    def execute_cuts(self, tools, library, expected, saved, tolerance):
        settled = settled_outputs(self.graph)
        wanted = self.work / "cuts.safetensors"
        raw, tensors, at, references = saved.read_bytes(), [], 0, data.read_tensors(expected)
        for name in self.program.stored_names():
            dtype, shape, reference = references[name]
            own = raw[at : at + len(reference)]
            at += len(reference)
            tensors.append((name, dtype, shape, own if name.split("#")[0] in settled else reference))
        data.write_safetensors(wanted, tensors)
        for how, program in self.cuts.items():
            self.seen.append("another cut, same bits" if len(settled) == len({o["value"] for o in self.graph["outputs"]}) else "another cut")
            try:
                emulate.execute(tools, program, library, self.work, self.inputs, wanted, emulate.ONE_RUN, lambda t: (0, 0) if t["name"].split("#")[0] in settled else tolerance(t))
            except emulate.Failure as failure:
                raise emulate.Failure(f"partition {how}: {failure}")


def check(fusec, tools, graph, seed, work, seen):
    """One graph by itself."""
    trial = Trial(fusec, graph, seed, work, seen)
    tools.compile(trial.sources(), work / "kernels.so")
    trial.execute(tools, work / "kernels.so")
