#!/usr/bin/env python3
"""Faults of a segmentation, planted into the report of a right one: report_laws.py must name each. Usage: planted_report_test.py FUSEC"""
import copy
import json
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "emulate")]
import emulate
import report_laws

N = 100000
# A cast group u, n, s, y, whose wide values n and s may not be stored; z is another op, of a narrow value.
GRAPH = {
    "version": 1,
    "name": "planted",
    "inputs": [{"name": "x", "dtype": "bf16", "shape": [N]}],
    "ops": [
        {"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"},
        {"op": "neg", "in": ["u"], "out": "n"},
        {"op": "add", "in": ["n", 1.5], "out": "s"},
        {"op": "cast", "in": ["s"], "dtype": "bf16", "out": "y"},
        {"op": "neg", "in": ["y"], "out": "z"},
    ],
    "outputs": ["y", "z"],
}


def segment(number, ops, inputs, outputs, recomputed=()):
    return {"id": number, "ops": ops, "recomputed": list(recomputed), "inputs": inputs, "outputs": outputs}


def edge(value, dtype, start=0, to=(1,), why="cost: two kernels take less"):
    return {"value": value, "dtype": dtype, "bytes": N * (4 if dtype == "f32" else 2), "from": start, "to": list(to), "why": why}


def cut(segments, edges, groups=None, wide=0):
    """The report with other segments."""

    def plant(report):
        report["segments"], report["edges"] = segments, edges
        report["totals"].update(edge_bytes=sum(e["bytes"] for e in edges), wide_edges=wide)
        if groups is not None:
            report["cast_groups"] = groups

    return plant


WHOLE = {"id": 0, "ops": ["u", "n", "s", "y"], "segment": 0, "whole": True}
# `n` is stored wide, the two halves of the group stand in two segments.
HALVES = [segment(0, ["u", "n"], ["x"], ["n"]), segment(1, ["s", "y", "z"], ["n"], ["y", "z"])]
RIGHT = [segment(0, ["u", "n", "s", "y"], ["x"], ["y"]), segment(1, ["z"], ["y"], ["z"])]

# What is planted: a change of the report, words of the rule that has to speak.
FAULTS = {
    "a cut inside a cast group": (cut(HALVES, [edge("n", "f32")], [], 1), "a cut inside a cast group: the wide value n is stored for ['s']"),
    "a cut group that is called whole": (cut(HALVES, [edge("n", "f32")], [WHOLE], 1), "cast group 0 is called whole, but ['s', 'y'] stand elsewhere"),
    "a cut group without a reason": (cut(HALVES, [edge("n", "f32")], [{**WHOLE, "whole": False}], 1), "cast group 0 is cut and does not say why"),
    "a copy of a group's op that reads a wide value": (
        cut([segment(0, ["u", "n", "s", "y"], ["x"], ["n", "y"]), segment(1, ["z"], ["n"], ["z"], ["s", "y"])], [edge("n", "f32")], [WHOLE], 1),
        "a cut inside a cast group: the wide value n is stored for ['s']",
    ),
    "a wide edge that is not counted": (cut(HALVES, [edge("n", "f32")], [{**WHOLE, "whole": False, "why": "too many ops"}], 0), "totals.wide_edges leaves some out"),
    "an op in two segments": (cut([RIGHT[0], segment(1, ["y", "z"], ["y"], ["z"])], [edge("y", "bf16")]), "an op is in two segments"),
    "an op in no segment": (cut([segment(0, ["u", "s", "y"], ["x"], ["y"]), RIGHT[1]], [edge("y", "bf16")]), "['n'] in no segment"),
    "a segment that lacks an operand": (cut([segment(0, ["u", "n", "s", "y"], ["x"], ["y"]), segment(1, ["z"], [], ["z"])], []), "segment 1 lacks y for z"),
    "a value that crosses and is no edge": (cut(RIGHT, []), "y crosses segments but is no edge"),
    "an edge without a reason": (cut(RIGHT, [edge("y", "bf16", why="")]), "the edge y does not say why"),
    "an edge backwards": (cut(RIGHT, [edge("y", "bf16", to=[1, 0])]), "the edge y goes backwards"),
    "segments in the wrong order": (cut([segment(0, ["z"], ["y"], ["z"]), segment(1, ["u", "n", "s", "y"], ["x"], ["y"])], [edge("y", "bf16", 1, [0])]), "segment 0 reads y before it is written"),
    "an output that nothing writes": (cut([segment(0, ["u", "n", "s", "y", "z"], ["x"], ["z"])], []), "outputs that nothing writes: {'y'}"),
}
# What holds the rules although it is cut: the checks say nothing without reason.
SOUND = {
    "one segment": lambda report: None,
    "a cut at the narrow value": cut(RIGHT, [edge("y", "bf16")]),
    "a cut group that says why": (cut(HALVES, [edge("n", "f32")], [{**WHOLE, "whole": False, "why": "too many ops"}], 1)),
    "an op of the group made again": cut([RIGHT[0], segment(1, ["z"], ["x"], ["z"], ["u", "n", "s", "y"])], []),
}


def main():
    fusec, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "planted.fusion.json"
        path.write_text(json.dumps(GRAPH))
        emulate.must(fusec, "compile", path, "-o", folder, "--emit", "cu")
        right = json.loads((pathlib.Path(folder) / "planted.report.json").read_text())
        text = emulate.must(fusec, "compile", path, "--stop-after", "remove_dead_ops")
    for name, (plant, words) in {**FAULTS, **{name: (plant, "") for name, plant in SOUND.items()}}.items():
        report = copy.deepcopy(right)
        plant(report)
        try:
            report_laws.check(text, report)
            said = ""
        except emulate.Failure as failure:
            said = str(failure)
        good = words in said and bool(words) == bool(said)
        failed += not good
        print(f"{'ok    ' if good else 'FAILED'}  {name}" + ("" if good else f": {said or 'not found'}"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
