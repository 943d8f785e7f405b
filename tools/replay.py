#!/usr/bin/env python3
"""What a change does to the emitted CUDA: compiles graphs with two fusec binaries and prints the differences.

Usage: tools/replay.py OLD NEW GRAPH_OR_FOLDER... [--lines N] [-- OPTIONS OF COMPILE...]
OLD and NEW are binaries, say of two worktrees. A folder stands for every .json file below it. Exit 0: nothing differs, 1: something does.
"""
import argparse, concurrent.futures, difflib, os, pathlib, subprocess, sys, tempfile


def compile_graph(fusec, graph, options):
    """File name → text of what is emitted, or the first line of the refusal."""
    with tempfile.TemporaryDirectory() as out:
        command = [fusec, "compile", str(graph), "-o", out, "--emit", "cu", "--arch", "sm_90", "--report", "none", "--quiet", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=out)
        except subprocess.TimeoutExpired:
            return {"": "no result after 300 s"}
        if done.returncode != 0:
            return {"": f"exit {done.returncode}: {(done.stderr.splitlines() or [''])[0]}"}
        return {p.name: p.read_text() for p in sorted(pathlib.Path(out).iterdir()) if p.suffix in (".cu", ".h")}


def main():
    arguments = sys.argv[1:]
    options = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old"), parser.add_argument("new"), parser.add_argument("graphs", nargs="+")
    parser.add_argument("--lines", type=int, default=40, help="of a difference that are shown (default 40)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    a = parser.parse_args(arguments)
    old, new = os.path.abspath(a.old), os.path.abspath(a.new)
    graphs = []
    for given in map(pathlib.Path, a.graphs):
        graphs += sorted(p.resolve() for p in given.rglob("*.json")) if given.is_dir() else [given.resolve()]

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        before = pool.map(lambda g: compile_graph(old, g, options), graphs)
        after = pool.map(lambda g: compile_graph(new, g, options), graphs)
        results = list(zip(graphs, before, after))
    changed = refused = 0
    for graph, was, now in results:
        refused += "" in was and "" in now
        if was == now:
            continue
        changed += 1
        print(f"=== {graph}")
        for name in sorted(was.keys() | now.keys()):
            diff = list(difflib.unified_diff(was.get(name, "").splitlines(), now.get(name, "").splitlines(), f"old {name}", f"new {name}", lineterm="", n=2))
            print("\n".join(diff[: a.lines]))
            if len(diff) > a.lines:
                print(f"... {len(diff) - a.lines} more lines")
    print(f"{len(graphs)} graphs: {changed} differ, {len(graphs) - changed} are the same ({refused} refused by both)")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
