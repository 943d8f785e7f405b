#!/usr/bin/env python3
"""The random graphs find a fault in every subtraction, and make the graph that shows it small. Usage: search_test.py FUSEC TOOLS"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Stands in for fusec: emitted subtractions add.
WRONG = """#!/usr/bin/env python3
import pathlib, re, subprocess, sys
code = subprocess.run([{fusec!r}, *sys.argv[1:]]).returncode
if "compile" in sys.argv[1:3] and "-o" in sys.argv:
    for file in pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).glob("*.cu"):
        file.write_text(re.sub(r" - ([^;]*;  // \\w+ = sub)", r" + \\1", file.read_text()))
sys.exit(code)
"""


def main():
    fusec, tools = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        wrong = pathlib.Path(folder) / "fusec"
        wrong.write_text(WRONG.format(fusec=fusec))
        os.chmod(wrong, 0o755)
        keep = pathlib.Path(folder) / "failed"
        done = subprocess.run(
            [sys.executable, HERE / "random_graphs.py", wrong, "--device", "emulate", "--seed", "1", "--count", "60", "--stop-at", "1", "--batch", "1", "--elementwise", "--jobs", "2", "--tools", tools, "--keep", keep],
            stdout=subprocess.PIPE, text=True,
        )
        print(done.stdout)
        found = [json.loads(path.read_text()) for path in keep.glob("*.json")] if keep.exists() else []
        if done.returncode != 1 or not found:
            print("FAILED: the fault was not found")
            return 1
        large = [g for g in found if len(g["ops"]) > 4 or not any(op["op"] == "sub" for op in g["ops"])]
        for graph in large:
            print(f"FAILED: not made small: {graph['name']} with {len(graph['ops'])} ops")
        return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
