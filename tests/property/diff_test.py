#!/usr/bin/env python3
"""Laws of `fusec diff` on random graphs.

    diff_test.py FUSEC [--seed N] [--count N] [--verbose]

A copy with new names and another order of its ops (of its inputs and outputs, too, every other time) is the same: exit 0, and nothing is
listed. A copy with one random edit differs, and the edit is listed and little else: one op where one op says something else; the op and
its users where one comes or goes.
"""
import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from graph_maker import BINARY_NUMBER, FLOATS, FUNCTIONS, INTS, Maker

EDITS_A_GRAPH = 4


def outs(op): return [o for o in (op["out"] if isinstance(op["out"], list) else [op["out"]]) if o]


def values(graph): return [i["name"] for i in graph["inputs"]] + [o for op in graph["ops"] for o in outs(op)]


def output_name(o): return o if isinstance(o, str) else o["value"]


def renamed(graph, r, lists):
    """The same graph under other names, sometimes the old ones dealt out anew; the ops shuffled, with `lists` inputs and outputs too."""
    g = copy.deepcopy(graph)
    old = values(g)
    new = [f"{r.choice('abcd')}{i}" for i in range(len(old))] if lists or r.random() < 0.7 else list(old)
    r.shuffle(new)
    names = dict(zip(old, new))
    name = lambda x: names.get(x, x) if isinstance(x, str) else x
    for i in g["inputs"]: i["name"] = name(i["name"])
    for op in g["ops"]:
        if "in" in op: op["in"] = [name(x) for x in op["in"]]
        op["out"] = [name(o) for o in op["out"]] if isinstance(op["out"], list) else name(op["out"])
    g["outputs"] = [name(o) if isinstance(o, str) else {k: name(v) if k in ("value", "alias") else v for k, v in o.items()} for o in g["outputs"]]
    r.shuffle(g["ops"])
    if lists:
        r.shuffle(g["inputs"])
        r.shuffle(g["outputs"])
    return g


def computed(graph):
    """For each value a text of how it is computed: equal where two values are the same."""
    made = {i["name"]: i["name"] for i in graph["inputs"]}
    for op in graph["ops"]:
        says = {k: v for k, v in op.items() if k not in ("in", "out", "note")}
        text = hash(json.dumps([says, [made.get(x, x) if isinstance(x, str) else repr(x) for x in op.get("in", [])]], sort_keys=True))
        for n, o in enumerate(op["out"] if isinstance(op["out"], list) else [op["out"]]):
            if o: made[o] = f"{text} {n}"
    return made


def users(graph, value): return sum(value in [x for x in op.get("in", []) if isinstance(x, str)] for op in graph["ops"]) + sum(output_name(o) == value for o in graph["outputs"])


def edit(graph, r):
    """(edited graph, what was done, the most differences it may show), or None where the draw does not fit."""
    g = copy.deepcopy(graph)
    made = computed(g)
    at = r.randrange(len(g["ops"]))
    op = g["ops"][at]
    kind = r.choice(["literal", "flag", "dtype", "kind", "rewire", "swap", "insert", "delete", "output", "input", "append"])
    where = f"{kind} at {outs(op)[0]} ({op['op']})"
    ins = op.get("in", [])
    if kind == "literal":
        places = [i for i, x in enumerate(ins) if isinstance(x, (int, float)) and not isinstance(x, bool)]
        if not places: return None
        i = r.choice(places)
        ins[i] = r.choice([x for x in (0, 1, 2, 3) if x != ins[i]])
    elif kind == "flag":
        flags = [k for k, v in op.items() if isinstance(v, bool)]
        if not flags: return None
        k = r.choice(flags)
        op[k] = not op[k]
    elif kind == "dtype":
        if op["op"] not in ("cast", "iota", "full"): return None
        op["dtype"] = r.choice([t for t in FLOATS + INTS if t != op["dtype"]])
    elif kind == "kind":
        for family in (BINARY_NUMBER, FUNCTIONS, ["neg", "abs", "sign", "relu", "copy"], ["sum", "prod", "max", "min"]):
            if op["op"] in family:
                op["op"] = r.choice([k for k in family if k != op["op"]])
                break
        else: return None
    elif kind == "rewire":
        places = [i for i, x in enumerate(ins) if isinstance(x, str) and x in made]
        if not places: return None
        i = r.choice(places)
        before = [x["name"] for x in g["inputs"]] + [o for other in g["ops"][:at] for o in outs(other)]
        new = r.choice(before)
        if made[new] == made[ins[i]]: return None
        ins[i] = new
    elif kind == "swap":
        if len(ins) < 2 or not all(isinstance(x, str) for x in ins[:2]) or made.get(ins[0]) == made.get(ins[1]): return None
        ins[0], ins[1] = ins[1], ins[0]
    elif kind == "insert":
        places = [i for i, x in enumerate(ins) if isinstance(x, str) and x in made]
        if not places: return None
        i = r.choice(places)
        g["ops"].insert(at, {"op": r.choice(["neg", "copy", "abs"]), "in": [ins[i]], "out": "inserted"})
        ins[i] = "inserted"
    elif kind == "delete":
        if len(outs(op)) != 1 or not ins or not isinstance(ins[0], str) or ins[0] not in made or op["op"] == "copy": return None
        gone, kept = outs(op)[0], ins[0]
        limit = 1 + users(g, gone)
        g["ops"].pop(at)
        for other in g["ops"]: other["in"] = [kept if x == gone else x for x in other["in"]] if "in" in other else None
        g["ops"] = [{k: v for k, v in other.items() if v is not None or k == "out"} for other in g["ops"]]
        if gone in [output_name(o) for o in g["outputs"] if not isinstance(o, str)]: return None
        g["outputs"] = [kept if o == gone else o for o in g["outputs"]]
        return g, where, limit
    elif kind == "output":
        i = r.randrange(len(g["outputs"]))
        if not isinstance(g["outputs"][i], str): return None
        new = r.choice(list(made))
        if made[new] == made[g["outputs"][i]]: return None
        g["outputs"][i] = new
        where = f"output {i} is {new}"
    elif kind == "input":
        i = r.choice(g["inputs"])
        if i["dtype"] not in FLOATS: return None
        i["dtype"] = r.choice([t for t in FLOATS if t != i["dtype"]])
        where = f"input {i['name']} is {i['dtype']}"
    elif kind == "append":
        g["ops"].append({"op": "neg", "in": [r.choice(list(made))], "out": "appended"})
        g["outputs"].append("appended")
        return g, where, 2
    return g, where, 2 if kind == "insert" else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("fusec")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    ops = frozenset(row["op"] for row in json.loads(subprocess.run([o.fusec, "ops", "--json"], capture_output=True, text=True).stdout) if row.get("gpu", True))
    work = pathlib.Path(tempfile.mkdtemp(prefix="fusec_diff_"))
    failed, same, edits = 0, 0, {}

    def fail(seed, what, shown=""):
        nonlocal failed
        failed += 1
        print(f"FAILED: seed {seed}: {what}\n{shown[:3000]}")

    def diff(a, b):
        for name, graph in (("a", a), ("b", b)): (work / f"{name}.fusion.json").write_text(json.dumps(graph))
        return subprocess.run([o.fusec, "diff", work / "a.fusion.json", work / "b.fusion.json", "--json", "--only", "graph"], capture_output=True, text=True)

    for seed in range(o.seed, o.seed + o.count):
        r = random.Random(seed)
        (work / "a.fusion.json").write_text(json.dumps(Maker(seed, ops).graph(f"random_{seed}")))
        graph = json.loads(subprocess.run([o.fusec, "show", "--json", work / "a.fusion.json"], capture_output=True, text=True).stdout)
        for lists in (False, True):
            done = diff(graph, renamed(graph, r, lists))
            if done.returncode: fail(seed, f"a copy renamed, shuffled{' in its lists' if lists else ''}: exit {done.returncode}", done.stdout + done.stderr)
            else: same += 1
        made = 0
        for _ in range(200):
            drawn = edit(graph, r)
            if drawn is None: continue
            edited, where, limit = drawn
            path = work / "edited.fusion.json"
            path.write_text(json.dumps(edited))
            if subprocess.run([o.fusec, "check", path], capture_output=True).returncode: continue
            shuffled = r.random() < 0.5
            done = diff(graph, renamed(edited, r, False) if shuffled else edited)
            where += ", renamed and shuffled" if shuffled else ""
            if shuffled and done.returncode == 0 and diff(graph, edited).returncode == 1:
                continue  # with other names for two inputs of one type it is the same graph
            if done.returncode != 1:
                fail(seed, f"{where}: exit {done.returncode}", done.stdout + done.stderr)
            else:
                g = json.loads(done.stdout)["graph"]
                listed = sum(len(g[k]) for k in ("changed", "added", "removed")) + sum(len(g[k][l]) for k in ("inputs", "outputs") for l in ("changed", "added", "removed"))
                kind = where.split()[0] + (" renamed" if shuffled else "")
                edits.setdefault(kind, []).append(listed - limit)
                if o.verbose and listed > limit: print(f"seed {seed}: {where}: {listed} differences where {limit} would do\n" + subprocess.run([o.fusec, "diff", work / "a.fusion.json", work / "b.fusion.json", "--only", "graph"], capture_output=True, text=True).stdout)
                if listed > limit + 3: fail(seed, f"{where}: {listed} differences where {limit} would do", done.stdout)
            made += 1
            if made == EDITS_A_GRAPH: break
    total = sum(len(e) for e in edits.values())
    exact = sum(x <= 0 for e in edits.values() for x in e)
    if o.verbose:
        for kind, e in sorted(edits.items()): print(f"{kind}: {len(e)}, {sum(x <= 0 for x in e)} exact, most {max(e)} beyond")
    print(f"{same} copies are the same, {total} edits are found, {exact} of them and nothing else")
    if total < o.count: fail(o.seed, f"only {total} edits were made")
    if exact < 0.9 * total: fail(o.seed, "too many differences beside the edits")
    return 1 if failed else 0


sys.exit(main())
