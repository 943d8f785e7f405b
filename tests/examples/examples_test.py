#!/usr/bin/env python3
"""Every example compiles, twice to the same bytes, runs on the CPU, and its report adds up. Usage: examples_test.py FUSEC EXAMPLES"""
import json
import pathlib
import subprocess
import sys
import tempfile

fusec, examples = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*args):
    done = subprocess.run([fusec, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"fusec {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def contents(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def check_report(report, graph):
    segments = report["segments"]
    assert report["version"] == 1 and report["graph"] == graph["name"], "report: version or graph"
    ops = [op for segment in segments for op in segment["ops"]]
    assert ops and len(ops) == len(set(ops)), "report: an op stands in two segments"
    written = {op["out"] if isinstance(op["out"], str) else op["out"][0] for op in graph["ops"]}
    unknown = [op for op in ops if op not in written and op not in report["origin"]]
    assert not unknown, f"report: ops of no origin: {unknown}"
    outputs = {output if isinstance(output, str) else output["value"] for output in graph["outputs"]}
    stored = {value for segment in segments for value in segment["outputs"]}
    assert outputs <= stored, f"report: outputs that no segment writes: {outputs - stored}"
    totals = report["totals"]
    assert totals["segments"] == len(segments), "report: totals.segments"
    assert totals["bytes"] == sum(s["bytes_read"] + s["bytes_written"] for s in segments), "report: totals.bytes"
    assert totals["bytes"] >= totals["lower_bound_bytes"] > 0, "report: fewer bytes than the least"
    assert all(group["whole"] for group in report["cast_groups"]), "report: a cast group was cut"


def check_example(path, work):
    graph = json.loads(path.read_text())
    name = graph["name"]
    assert graph.get("doc"), "no doc"
    assert path.name == name + ".fusion.json", "the file is not called after the graph"
    run("check", "--strict", path)
    for folder in ("first", "second"):
        run("compile", path, "-o", work / folder, "--emit", "cu")
    first = contents(work / "first")
    assert first == contents(work / "second"), "two compilations differ"
    for suffix in (".cu", ".h", ".manifest.json", ".report.json", ".report.md"):
        assert first.get(name + suffix), f"no {name + suffix}"
    report = json.loads(first[name + ".report.json"])
    check_report(report, graph)
    for segment in report["segments"]:
        assert segment["kernel"].encode() in first[name + ".cu"], f"no kernel {segment['kernel']}"
    for out, seed in (("a", 7), ("b", 7), ("c", 8)):
        run("run", path, "--device", "cpu", "--seed", seed, "--outputs", work / f"{out}.safetensors")
    data = {out: (work / f"{out}.safetensors").read_bytes() for out in "abc"}
    assert data["a"] == data["b"], "one seed, two results"
    assert data["a"] != data["c"], "the seed changes nothing"


failed = 0
paths = sorted(examples.glob("*.fusion.json"))
for path in paths:
    with tempfile.TemporaryDirectory() as work:
        try:
            check_example(path, pathlib.Path(work))
            print(f"ok      {path.name}")
        except AssertionError as error:
            failed += 1
            print(f"FAILED  {path.name}: {error}")
sys.exit(1 if failed or not paths else 0)
