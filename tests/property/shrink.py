"""Makes a failing graph smaller with `fusec reduce`, as long as it fails in the same way.

As a command it is what `fusec reduce` asks about each candidate: shrink.py FUSEC TOOLS SEED KIND WHOLE CANDIDATE ends with 1 when the candidate
fails like WHOLE did.
"""
import json
import pathlib
import re
import shlex
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "emulate")]
import emulate
import laws

KINDS = ("data race", "AddressSanitizer", "runtime error", "nothing wrote", "differ", "deadlock", "misaligned", "clang", "variant", "partition", "the report", "fusec compile")


def pretty(graph):
    """One line an input, an op and an output."""
    lines = ["{"]
    for key, value in graph.items():
        if key in ("inputs", "ops", "outputs") and value:
            lines += [f'  "{key}": [', *(f"    {json.dumps(v)}," for v in value[:-1]), f"    {json.dumps(value[-1])}", "  ],"]
        else:
            lines.append(f'  "{key}": {json.dumps(value)},')
    lines[-1] = lines[-1].rstrip(",")
    return "\n".join(lines + ["}"]) + "\n"


def kind_of(text):
    """What failed, without numbers."""
    return "+".join([k.replace(" ", "_") for k in KINDS if k in text] + re.findall(r"error\[([\w-]+)\]", text)[:1]) or "other"


def results(op):
    return op["out"] if isinstance(op["out"], list) else [op["out"]]


def restored(candidate, whole):
    """The candidate with name, tolerances and flags, which `fusec reduce` drops. None when an inexact op no longer reads what was made fit for it."""
    tolerance = {name: t for name, t in laws.tolerance_of(whole).items() if any(name in results(op) for op in candidate["ops"])}

    def operand(graph, name):
        op = next((op for op in graph["ops"] if name in results(op)), {})
        return next((a for a in op.get("in", []) if isinstance(a, str)), None), op.get("op")

    inputs = {i["name"] for i in candidate["inputs"]}
    for name in tolerance:
        (now, kind), (before, kind_before) = operand(candidate, name), operand(whole, name)
        if kind != kind_before or (now in inputs and not any(before == i["name"] for i in whole["inputs"])):
            return None
    # Plain stores of different values that may collide have no one result.
    flags = laws.flags_of(whole)
    if not flags and any(op["op"] in ("scatter", "index_put") and "accumulate" not in op and isinstance(op["in"][2], str) for op in candidate["ops"]):
        return None
    rest = {k: v for k, v in candidate.items() if k not in ("name", "meta")}
    meta = {**({"tolerance": tolerance} if tolerance else {}), **({"flags": flags} if flags else {})}
    out = {"version": rest.pop("version"), "name": whole["name"], **({"meta": meta} if meta else {}), **rest}
    out["outputs"] = [o if isinstance(o, dict) else {"value": o} for o in out["outputs"]]
    return out


def smaller(fusec, tools, graph, seed, work, text, tries=150):
    """The smallest graph found, and its failure; the graph itself where nothing smaller was."""
    whole, small = work / "whole.fusion.json", work / "small.fusion.json"
    whole.write_text(json.dumps(graph))
    command = shlex.join(map(str, [sys.executable, pathlib.Path(__file__).resolve(), fusec, tools.folder.parent, seed, kind_of(text), whole])) + " {}"
    done = emulate.run(fusec, "reduce", whole, "--check", command, "-o", small, "--max-tries", tries, "--timeout", 120)
    if done.returncode != 0 or not small.exists():
        return graph, f"{text}\n(not made smaller: {done.stderr.strip()[-300:]})"
    found = restored(json.loads(small.read_text()), graph)
    return found, fails(fusec, tools, found, seed, work) or text


def fails(fusec, tools, graph, seed, work):
    try:
        laws.check(fusec, tools, graph, seed, work, [])
        return None
    except emulate.Failure as failure:
        return str(failure)


def main():
    fusec, folder, seed, kind, whole, candidate = sys.argv[1:]
    graph = restored(json.loads(pathlib.Path(candidate).read_text()), json.loads(pathlib.Path(whole).read_text()))
    if not graph:
        return 0
    with tempfile.TemporaryDirectory() as work:
        text = fails(fusec, emulate.Tools(folder), graph, int(seed), pathlib.Path(work))
    return 1 if text and kind_of(text) == kind else 0


if __name__ == "__main__":
    sys.exit(main())
