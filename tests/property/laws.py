"""What must hold for each random graph:

- the emitted text computes what the reference does, bit for bit where values are exact;
- two compilations give the same bytes;
- leaving out an optional pass, naming sizes that stay open until launch, one more output, another order of the ops, another GPU: nothing
  of it changes an output. One of these is drawn for each graph.
"""
import copy
import json
import random
import struct

import data
import emulate

# The small ones get vectors and repeated work from tensors of a few thousand elements.
ARCHS = ["sm_72", "sm_72", "sm_87", "sm_90"]
SCATTER_SCHEDULES = ["direct", "shared", "cached", "lists"]
PASSES = ["fold_constants", "simplify", "share_equal_ops"]


def tolerance_of(graph):
    """Output name → (relative, absolute), from the graph's meta."""
    return graph.get("meta", {}).get("tolerance", {})


def compile_graph(fusec, graph, work, arch, *flags):
    path = work / f"{graph['name']}.fusion.json"
    path.write_text(json.dumps(graph))
    emulate.must(fusec, "compile", path, "-o", work, "--emit", "cu", "--arch", arch, *flags)
    return emulate.Program(work, graph["name"])


def read_tensors(path):
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    head = json.loads(raw[8 : 8 + size])
    names = {tag: dtype for dtype, tag in data.TAGS.items()}
    return {
        name: (names[t["dtype"]], t["shape"], raw[8 + size + t["data_offsets"][0] : 8 + size + t["data_offsets"][1]])
        for name, t in head.items()
        if name != "__metadata__"
    }


def as_float(bits, dtype):
    exponent_bits, mantissa_bits = data.FLOATS[dtype]
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent, mantissa = bits >> mantissa_bits & (2**exponent_bits - 1), bits & (2**mantissa_bits - 1)
    last = 2**exponent_bits - 1
    if dtype == "f8e4m3":
        if exponent == last and mantissa == 7:
            return float("nan")
    elif exponent == last:
        return float("nan") if mantissa else sign * float("inf")
    bias = 2 ** (exponent_bits - 1) - 1
    return sign * (mantissa + (2**mantissa_bits if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)


def same(a, b, dtype, relative, absolute):
    if a == b:
        return True
    if dtype not in data.FLOATS:
        return False
    x, y = as_float(a, dtype), as_float(b, dtype)
    if x != x or y != y:
        return x != x and y != y
    return bool(relative or absolute) and abs(x - y) <= relative * abs(y) + absolute


def difference(left, right, graph):
    """None, or the first difference of two files of outputs."""
    a, b, tolerance = read_tensors(left), read_tensors(right), tolerance_of(graph)
    if a.keys() != b.keys():
        return f"outputs {sorted(a)} and {sorted(b)}"
    for name in a:
        (dtype, shape, x), (dtype2, shape2, y) = a[name], b[name]
        if (dtype, shape) != (dtype2, shape2):
            return f"{name}: {dtype}{shape} and {dtype2}{shape2}"
        if x == y:
            continue
        code = data.CODES[dtype].upper()
        u, v = (struct.unpack(f"<{len(z) // data.BYTES[dtype]}{code}", z) for z in (x, y))
        bad = [i for i, (p, q) in enumerate(zip(u, v)) if not same(p, q, dtype, *tolerance.get(name.split("#")[0], (0, 0)))]
        if bad:
            return f"{name} ({dtype}{shape}): {len(bad)} of {len(u)} differ, first at {bad[0]}: {u[bad[0]]:#x}, reference {v[bad[0]]:#x}"
    return None


# --- variants: another way to say the same. Each gives a graph, flags, and for each output its name in the reference; or None ------------


def skipped_pass(rng, graph):
    return graph, ["--skip", rng.choice(PASSES)], None


def other_order(rng, graph):
    rng.shuffle(graph["ops"])
    return graph, [], None


def one_more_output(rng, graph):
    given = {o["value"] for o in graph["outputs"]}
    free = [op["out"] for op in graph["ops"] if isinstance(op["out"], str) and op["out"] not in given and op["out"] not in tolerance_of(graph)]
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


VARIANTS = [skipped_pass, other_order, one_more_output, open_sizes, open_sizes, scatter_schedule]


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
        if refusal and "error[row-too-long]" in str(failure):  # an open size is too long to sort
            return None
        raise
    seen.append(change.__name__.replace("_", " "))
    return other, program


def check(fusec, tools, graph, seed, work, seen):
    """Raises emulate.Failure. Adds the laws that were looked at to `seen`."""
    rng = random.Random(seed)
    name = graph["name"]
    arch = rng.choice(ARCHS)
    program = compile_graph(fusec, graph, work, arch)
    first = program.source.read_bytes()
    second = work / "again"
    emulate.must(fusec, "compile", work / f"{name}.fusion.json", "-o", second, "--emit", "cu", "--arch", arch)
    if (second / f"{name}.cu").read_bytes() != first:
        raise emulate.Failure("two compilations differ")
    variant = make_variant(fusec, graph, rng, work, seen)
    sources = [program.source]
    if variant and variant[1].source.read_text().replace(name + "_variant", name) != first.decode():
        sources.append(variant[1].source)
    library = work / "kernels.so"
    tools.compile(sources, library)
    inputs = work / "in.safetensors"
    emulate.prepare_inputs(program, graph, inputs, seed, special=True)

    def reference(g, tag):
        out = work / f"{tag}.safetensors"
        emulate.must(fusec, "run", work / f"{g['name']}.fusion.json", "--device", "cpu", "--inputs", inputs, "--outputs", out)
        return out

    expected = reference(graph, "cpu")
    allowed = tolerance_of(graph)
    seen.append("emitted text = reference")
    emulate.execute(tools, program, library, work, inputs, expected, tolerance=lambda t: allowed.get(t["name"].split("#")[0], (0, 0)))
    if len(sources) < 2:
        return
    try:
        other = variant[0]
        wanted = reference(other, "variant")
        before, after = read_tensors(expected), read_tensors(wanted)
        for output in before:
            if before[output] != after.get(output):
                raise emulate.Failure(f"the reference of the variant differs in {output}")
        emulate.execute(tools, variant[1], library, work, inputs, wanted, tolerance=lambda t: allowed.get(t["name"].split("#")[0], (0, 0)))
    except emulate.Failure as failure:
        raise emulate.Failure(f"variant ({seen[0]}): {failure}")
