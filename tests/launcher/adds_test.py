#!/usr/bin/env python3
"""An add that the hardware has is that one instruction: the PTX of a scatter with `add` holds no compare-and-swap, for any dtype, GPU and schedule.

Usage: adds_test.py FUSEC. Exits 77 (skipped) without NVRTC.
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
# A build with the leak sanitizer looks for leaks at the end, and may fall over what NVRTC leaves there.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
DTYPES = ["i8", "u8", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"]
# (A cache of what comes first claims its places by compare-and-swap: that is no add.)
SCHEDULES = ["direct", "warp", "shared", "replicas", "lists"]
OFTEN = ["i32", "i64", "bf16", "f32"]  # in rows and with all schedules
ARCHS = ["sm_80", "sm_90"]
ROWS, COLUMNS, UPDATES = 64, 32, 100000


def graph(dtype, rows):
    shape = [ROWS, COLUMNS] if rows else [ROWS]
    return {
        "version": 1,
        "name": f"add_{dtype}_{'rows' if rows else 'elements'}",
        "inputs": [
            {"name": "i", "dtype": "i64", "shape": [UPDATES], "init": {"randint": [0, ROWS]}},
            {"name": "v", "dtype": dtype, "shape": [UPDATES, *shape[1:]]},
        ],
        "ops": [
            {"op": "full", "shape": shape, "dtype": dtype, "value": 0, "out": "z"},
            {"op": "index_put" if rows else "scatter", "in": ["z", "i", "v"], "dim": 0, "accumulate": "add", "out": "y"},
        ],
        "outputs": ["y"],
    }


def main():
    fusec = sys.argv[1]
    if not json.loads(subprocess.run([fusec, "env", "--json"], capture_output=True, text=True).stdout).get("nvrtc"):
        print("skipped: no NVRTC here")
        return SKIPPED
    failures = seen = 0
    with tempfile.TemporaryDirectory() as folder:
        for dtype, rows, schedule, arch in itertools.product(DTYPES, (False, True), SCHEDULES, ARCHS):
            if dtype not in OFTEN and (rows or schedule != "direct"):
                continue
            path, out = pathlib.Path(folder) / "g.fusion.json", pathlib.Path(folder) / "out"
            g = graph(dtype, rows)
            path.write_text(json.dumps(g))
            flags = ["--emit", "ptx", "--arch", arch, "--scatter", schedule, "--unchecked-indices", "--no-cache"]
            done = subprocess.run([fusec, "-q", "compile", path, "-o", out, *flags], capture_output=True, text=True, env=ENVIRONMENT)
            files = sorted(out.glob("*.ptx"))
            if done.returncode or not files:
                print(f"FAILED  {g['name']}, {schedule}, {arch}: exit {done.returncode}: {done.stderr[:300]}")
                failures += 1
                continue
            for file in files:
                ptx = file.read_text()
                seen += bool(re.search(r"\b(?:atom|red)\.", ptx))
                if swap := re.search(r"\batom\.[\w.]*cas[\w.]*", ptx):
                    print(f"FAILED  {file.name}, {schedule}, {arch}: {swap.group(0)}")
                    failures += 1
            for file in out.iterdir():
                file.unlink()
    print(f"{seen} texts with atomics, {failures} failures")
    return 1 if failures or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
