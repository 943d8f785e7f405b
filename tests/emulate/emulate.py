"""Runs emitted .cu files on the CPU, under AddressSanitizer and UndefinedBehaviorSanitizer, and compares with the reference.

The text is compiled by clang with the headers in shim/ and executed by the runner in runtime/. Some things are rewritten first: launches and
__shared__ declarations, because they are no C++, and reinterpret_cast, to check alignments. See HACKING.md, "The emulator".

    python3 emulate.py FUSEC GRAPH… [--seed N] [--keep DIR]     each graph against the reference, with random inputs
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import data

SKIPPED = 77
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# A product and a sum written in one expression are fused where the machine can, as nvcc does: the text has to say where that is wrong.
CONTRACT = ["-mfma", "-ffp-contract=on"] if " fma " in pathlib.Path("/proc/cpuinfo").read_text() else []
# Each access is a call of AddressSanitizer, none left out, which the runner takes note of (WRAP).
EACH_ACCESS = ["-mllvm", "-asan-instrumentation-with-call-threshold=0", "-mllvm", "-asan-opt=0"]
WRAP = [f"-Wl,--wrap=__asan_{f}" for f in ("memcpy", *(f"{verb}{bytes}" for verb in ("load", "store") for bytes in (1, 2, 4, 8, 16, "N")))]
KERNEL_FLAGS = ["-std=c++20", "-O0", "-g1", "-w", "-fPIC", "-ftrivial-auto-var-init=pattern", *SANITIZE, *EACH_ACCESS, *CONTRACT]
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=1:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=1",
}


class Failure(Exception):
    """A graph did not do what it has to."""


def run(*args, **options):
    return subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **options)


def find_clang():
    return next((found for name in ("clang++", *(f"clang++-{v}" for v in range(22, 13, -1))) if (found := shutil.which(name))), None)


def must(*args, **options):
    done = run(*args, **options)
    if done.returncode != 0:
        said = done.stdout + done.stderr
        raise Failure(f"{' '.join(map(str, args))}: exit {done.returncode}\n{said if len(said) < 4000 else said[:2000] + '…' + said[-2000:]}")
    return done.stdout


# --- building ------------------------------------------------------------------------------------------------------------------------


class Tools:
    """The runner and the precompiled shim, built once into `folder` for a state of their sources."""

    def __init__(self, folder):
        self.clang = find_clang()
        if not self.clang:
            print("skipped: no clang++ (14 or later)")
            sys.exit(SKIPPED)
        sources = sorted((HERE / "runtime").iterdir()) + sorted((HERE / "shim").iterdir())
        # (with their place: a precompiled header looks for them there)
        stamp = hashlib.sha256(b"".join(p.read_bytes() for p in sources) + " ".join([str(HERE), self.clang, *KERNEL_FLAGS]).encode()).hexdigest()[:16]
        folder = pathlib.Path(folder)
        self.folder = folder / f"emulator-{stamp}"
        self.runner, self.shim = self.folder / "runner", self.folder / "emulate.pch"
        if self.shim.exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        work = pathlib.Path(tempfile.mkdtemp(prefix="emulator-", dir=folder))
        code = [p for p in sources if p.suffix == ".cpp"]
        objects = []
        for source in code:
            objects.append(work / (source.stem + ".o"))
            must(self.clang, "-std=c++20", "-O2", "-g1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", objects[-1])
        must(self.clang, *SANITIZE, "-rdynamic", *objects, "-ldl", "-o", work / "runner")
        must(self.clang, "-x", "c++-header", *KERNEL_FLAGS, HERE / "shim" / "emulate.h", "-o", work / "emulate.pch")
        try:
            work.rename(self.folder)  # another process may have been faster
        except OSError:
            shutil.rmtree(work)

    def compile(self, sources, library):
        """Emitted files, any number of them, into one library."""
        text = ""
        for i, source in enumerate(sources):
            text += f'namespace graph_{i} {{\n#line 1 "{source}"\n{rewrite(pathlib.Path(source).read_text())}\n}}\n'
        unit = pathlib.Path(library).with_suffix(".cpp")
        unit.write_text(text)
        must(self.clang, *KERNEL_FLAGS, "-I", HERE / "shim", "-include-pch", self.shim, "-shared", *WRAP, unit, "-o", library)


LAUNCH = re.compile(r"\b(\w+)<<<(.*?)>>>\(")
SHARED = re.compile(r"\b(extern\s+)?__shared__\s+((?:__align__\(\d+\)\s+|alignas\(\d+\)\s+)?)([\w:]+(?:\s+(?:int|char|short|long))*(?:<[^;=]*?>)?)\s+(\w+)((?:\[[^\]]*\])*)\s*;")


CLUSTER = re.compile(r"__cluster_dims__\((\d+), 1, 1\)\s*__launch_bounds__\([^)]*\)\s*(\w+)\(")
ASSEMBLY = re.compile(r'\basm\s*(?:volatile\s*)?\(\s*"((?:[^"\\]|\\.)*)"(.*)\);')


def assembly(match):
    """asm("add.u32 %0, %1;" : "=r"(a) : "r"(b)); → emu::ptx::add_u32(a, b);"""
    text, rest = match.groups()
    names = [re.sub(r"[.:]", "_", one.split()[0]) for one in re.split(r";|\\n", text) if one.strip()]
    operands, at = [], 0
    while found := re.compile(r'"[=+&]*\w"\(').search(rest, at):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        operands.append(rest[found.end() : end - 1])
        at = end
    return f"emu::ptx::{'_and_'.join(names)}({', '.join(operands)});"


def rewrite(text):
    """Emitted CUDA as C++, line for line."""
    def shared(match):
        extern, align, kind, name, extents = match.groups()
        if extern:
            return f"{kind}* const {name} = ({kind}*)emu_dynamic_shared();"
        # The address of a local static tells instances of a template apart, as their __shared__ variables are.
        key = f"static char emu_key_{name}; "
        if align:
            return f"{key}struct {align} emu_{name} {{ {kind} v{extents}; }}; auto& {name} = emu::shared<emu_{name}, {kind}>(&emu_key_{name}).v;"
        return f"{key}using emu_{name} = {kind}{extents}; emu_{name}& {name} = emu::shared<emu_{name}>(&emu_key_{name});"

    text = SHARED.sub(shared, text)
    clusters = {name: blocks for blocks, name in CLUSTER.findall(text)}

    def launch(match):
        name, configuration = match.groups()
        cluster = f".cluster({clusters[name]})" if name in clusters else ""
        return f'emu::configure({configuration}){cluster}.kernel("{name}", {name})('

    text = LAUNCH.sub(launch, text)
    text = ASSEMBLY.sub(assembly, text)
    text = re.sub(r"\breinterpret_cast<", "emu::reinterpret<", text)
    text = re.sub(r"#pragma unroll\b.*", "", text)
    # Stores of which one wins are no race.
    text = text.replace("T value) { *p = value; }", "T value) { emu_atomic_begin(p); *p = value; emu_atomic_end(p); }")
    text = text.replace("{ fs_store<W>(p, v); }", "{ for (int k = 0; k < N; ++k) { emu_atomic_begin(p + k); p[k] = v.at[k]; emu_atomic_end(p + k); } }")
    left = re.search(r".*(?:__shared__|<<<|\basm\b).*", re.sub(r"//.*", "", text))
    if left:
        raise Failure(f"the emulator cannot rewrite: {left.group(0).strip()}")
    return text


# --- one graph -----------------------------------------------------------------------------------------------------------------------


def evaluate(size, values):
    """A size of the manifest: an integer, or a list of products."""
    if isinstance(size, int):
        return size
    total = 0
    for product in size:
        n = 1
        for factor in product:
            n *= factor if isinstance(factor, int) else values[factor]
        total += n
    return total


class Program:
    """What `fusec compile` wrote for one graph, at given sizes (default: the typical ones). `deterministic`: each run gives the bits
    of the first; as a path, of the first of all programs with that path."""

    def __init__(self, folder, name, sizes=None, deterministic=False):
        self.folder, self.name, self.deterministic = pathlib.Path(folder), name, deterministic
        self.source = self.folder / f"{name}.cu"
        m = self.manifest = json.loads((self.folder / f"{name}.manifest.json").read_text())
        self.values, self.sizes = {}, []
        for size in m["sizes"]:
            if "floor_of" in size:
                self.values[size["name"]] = evaluate(size["floor_of"]["numerator"], self.values) // size["floor_of"]["denominator"]
            else:
                self.values[size["name"]] = (sizes or {}).get(size["name"], size["typical"])
                self.sizes.append(self.values[size["name"]])
        self.inputs, self.outputs = ([self.tensor(t) for t in m[key]] for key in ("inputs", "outputs"))

    def tensor(self, t):
        out = dict(t)
        for key in ("shape", "strides"):
            out[key] = [evaluate(n, self.values) for n in t[key]]
        return out

    def stored_names(self):
        """What the outputs are called in a file: a value that is an output twice has the second under another name."""
        seen, names = {}, []
        for name in (t["name"] for t in self.outputs):
            seen[name] = seen.get(name, 0) + 1
            names.append(name if seen[name] == 1 or "#" in name else f"{name}#{seen[name]}")
        return names

    def job(self, library, runs, input_file, reference_file, tolerance=lambda output: (0, 0), names=None, save=None, index_error=()):
        """The runner's job. `names`: of the outputs in the reference file, where they differ. `save`: where the outputs go, one after the other.
        `index_error`: position, index and size that the launch has to report."""
        scatters = [op for op in self.manifest["graph"]["ops"] if op["op"] in ("scatter", "index_put")]
        given, wanted = data.safetensors_offsets(input_file), data.safetensors_offsets(reference_file)
        lines = [f"library {library}", f"name {self.name}"]
        if self.deterministic:
            kept = self.deterministic
            if kept is True:
                kept = self.folder / f"{self.name}.first_outputs"
                kept.unlink(missing_ok=True)
            lines.append(f"repeatable {kept}")
        if any("accumulate" not in op or self.deterministic for op in scatters):
            lines.append("collisions")
        if index_error:
            lines.append("index_error " + " ".join(map(str, index_error)))
        if save:
            lines.append(f"save {save}")
        if self.sizes:
            lines.append("sizes " + " ".join(map(str, self.sizes)))
        lines += [f"run {seed} {poison} {how}" for seed, poison, how in runs]

        def tensor(t, file, offset, alias):
            return f"{t['name']} {t['dtype']} {file} {offset} {int(t.get('scalar', False))} {alias} {len(t['shape'])} " + " ".join(map(str, t["shape"] + t["strides"]))

        lines += ["input " + tensor(t, input_file, given[t["name"]], -1) for t in self.inputs]
        places = {t["name"]: i for i, t in enumerate(self.inputs)}
        for t, stored in zip(self.outputs, names or self.stored_names()):
            lines.append("tolerance {} {}".format(*tolerance(t)))
            lines.append("output " + tensor(t, reference_file, wanted[stored], places[t["alias"]] if "alias" in t else -1))
        lines += [f"workspace {evaluate(b['bytes'], self.values)}" for b in self.manifest["workspace"]["buffers"]]
        kernels = [launch for launch in self.manifest["launches"] if "kernel" in launch]
        if len(kernels) == len(self.manifest["launches"]):  # a copy between launches goes by the arena
            for i, launch in enumerate(kernels):
                lines += [f"pointer {i} {j} {arg['workspace']}" for j, arg in enumerate(launch["args"]) if "workspace" in arg]
        else:
            lines = [line.replace(" separate", " arena") for line in lines]
        return "\n".join(lines) + "\n"


# Order of threads, byte in fresh memory, and where the workspace lies: together each wrong order and each byte that nothing wrote shows.
RUNS = [(0, 0xFF, "separate"), (1, 0x5A, "arena")]
SCATTER_SCHEDULES = ["direct", "warp", "shared", "cached", "replicas", "lists"]
ONE_RUN = [(1, 0x33, "separate")]
MORE_RUNS = RUNS + [(n, 0x33, "separate") for n in (2, 3)]


def execute(tools, program, library, work, input_file, reference_file, runs=RUNS, tolerance=lambda output: (0, 0), names=None, timeout=300, save=None, index_error=()):
    """Raises Failure with what the runner says."""
    job = pathlib.Path(work) / f"{program.name}.job"
    job.write_text(program.job(library, runs, input_file, reference_file, tolerance, names, save, index_error))
    try:
        done = run(tools.runner, job, env=ENVIRONMENT, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failure(f"no end after {timeout} s")
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Failure(f"exit {done.returncode}\n" + "\n".join(lines[:40]))


def prepare_inputs(program, graph, path, seed, special):
    rng = random.Random(seed)
    inits = {i["name"]: i.get("init") for i in graph["inputs"]}
    tensors = []
    for t in program.inputs:
        tensors.append((t["name"], t["dtype"], t["shape"], data.make_input(rng, t, inits[t["name"]], special and not t.get("scalar"))))
    data.write_safetensors(path, tensors)


def near(tensor):
    """Two units in the last place of the output's dtype, beside what math functions and the order of sums may do to f32."""
    if tensor["dtype"] not in data.FLOATS:
        return 0, 0
    return 2.0 ** (1 - data.FLOATS[tensor["dtype"]][1]) + 1e-5, 1e-5


def main():
    p = argparse.ArgumentParser()
    p.add_argument("fusec")
    p.add_argument("graphs", nargs="+")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tools", default=os.path.join(tempfile.gettempdir(), "fusec-emulator"))
    p.add_argument("--exact", action="store_true", help="bit for bit, except for what the graph's meta.tolerance names (meta.flags: what it is compiled with)")
    p.add_argument("--special", action="store_true", help="NaN, infinities, denormals among the inputs")
    p.add_argument("--arch", default="sm_90")
    p.add_argument("--skip-missing", action="store_true", help="graphs with an op that has no kernel are named, and no failure")
    p.add_argument("--dim", action="append", default=[])
    p.add_argument("--keep")
    o = p.parse_args()
    tools, failed = Tools(o.tools), 0
    for path in o.graphs:
        work = o.keep or tempfile.mkdtemp(prefix="fusec_emulate_")
        graph = json.loads(pathlib.Path(path).read_text())
        name = graph.get("name", pathlib.Path(path).name.split(".")[0])
        try:
            dims = [a for d in o.dim for a in ("--dim", d)]
            flags = graph.get("meta", {}).get("flags", [])
            if o.skip_missing and "error[no-kernel]" in run(o.fusec, "compile", path, "-o", work, "--emit", "cu", *dims).stderr:
                print(f"skipped {name}: no kernel", flush=True)
                continue
            deterministic = "--deterministic" in flags and pathlib.Path(work) / "first_outputs"
            for schedule in [[]] + [["--scatter", how] for how in SCATTER_SCHEDULES if deterministic and o.arch == "sm_90"]:
                must(o.fusec, "compile", path, "-o", work, "--emit", "cu", "--arch", o.arch, *dims, *flags, *schedule)
                program = Program(work, name, deterministic=deterministic)
                tools.compile([program.source], f"{work}/{name}.so")
                if not schedule:
                    prepare_inputs(program, graph, f"{work}/in.safetensors", o.seed, o.special)
                    must(o.fusec, "run", path, "--device", "cpu", "--inputs", f"{work}/in.safetensors", "--outputs", f"{work}/cpu.safetensors", *dims)
                execute(tools, program, f"{work}/{name}.so", work, f"{work}/in.safetensors", f"{work}/cpu.safetensors", MORE_RUNS, (lambda t: graph.get("meta", {}).get("tolerance", {}).get(t["name"], (0, 0))) if o.exact else near)
            print(f"ok      {name}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED  {name}: {failure}", flush=True)
        if not o.keep:
            shutil.rmtree(work)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
