"""Makes a failing graph smaller as long as it fails: outputs, then ops, then inputs' extents."""
import copy
import json

import emulate
import laws


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


def results(op):
    return op["out"] if isinstance(op["out"], list) else [op["out"]]


def without_unused(graph):
    """Only the ops and inputs that the outputs need."""
    needed = {o["value"] for o in graph["outputs"]}
    aliased = {o.get("alias") for o in graph["outputs"]}
    ops, grew = [], True
    while grew:
        grew = False
        for op in graph["ops"]:
            if op not in ops and any(r in needed for r in results(op)):
                ops.append(op)
                needed |= {a for a in op.get("in", []) if isinstance(a, str)}
                grew = True
    graph["ops"] = [op for op in graph["ops"] if op in ops]
    graph["inputs"] = [i for i in graph["inputs"] if i["name"] in needed or i["name"] in aliased]
    return graph


def kind_of(text):
    """What failed, without numbers: a smaller graph must fail in the same way."""
    words = ("data race", "AddressSanitizer", "runtime error", "nothing wrote", "differ", "deadlock", "variant", "compile", "exit 70")
    return tuple(w for w in words if w in text)


def smaller(fusec, tools, graph, seed, work, text, rounds=200):
    """The smallest graph found, and its failure."""
    wanted, left = kind_of(text), [rounds]

    def fails(candidate):
        if left[0] <= 0 or not candidate["outputs"]:
            return None
        left[0] -= 1
        path = work / "candidate.fusion.json"
        path.write_text(json.dumps(candidate))
        if emulate.run(fusec, "check", path).returncode != 0:
            return None
        try:
            for wish in [None] if "variant" not in wanted else laws.VARIANTS[:4]:
                laws.check(fusec, tools, candidate, seed, work, [], wish)
            return None
        except emulate.Failure as failure:
            return str(failure) if kind_of(str(failure)) == wanted else None

    best, best_text = graph, text

    def attempt(change):
        nonlocal best, best_text
        candidate = copy.deepcopy(best)
        if change(candidate) is False:
            return False
        found = fails(without_unused(candidate))
        if found:
            best, best_text = candidate, found
        return bool(found)

    def bisect(key):
        size = max(1, len(best[key]) // 2)
        while size >= 1:
            at = 0
            while at < len(best[key]) and len(best[key]) > 1:
                if not attempt(lambda g: g[key].__delitem__(slice(at, at + size))):
                    at += size
            size //= 2

    def cut_op(name):
        """An op's result becomes an input."""

        def change(g):
            op = next((o for o in g["ops"] if results(o) == [name]), None)
            if not op or name not in types:
                return False
            # What an inexact op reads was made fit for it.
            if any(name in o.get("in", []) and any(r in laws.tolerance_of(g) for r in results(o)) for o in g["ops"]):
                return False
            g["ops"].remove(op)
            g["inputs"].append({"name": name, "dtype": types[name][0], "shape": types[name][1]})

        return change

    bisect("outputs")
    types = laws.types_of(fusec, best, work)
    for name in [r for op in best["ops"] for r in results(op)]:
        attempt(cut_op(name))
    bisect("outputs")
    for o in range(len(best["outputs"])):
        attempt(lambda g: g["outputs"][o].pop("alias", None) is not None)
    for i in range(len(best["inputs"])):
        attempt(lambda g: i < len(g["inputs"]) and g["inputs"][i].pop("strides", None) is not None)
    best.pop("meta", None) if not any(r in laws.tolerance_of(best) for op in best["ops"] for r in results(op)) else None
    return best, best_text
