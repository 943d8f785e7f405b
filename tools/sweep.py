"""What the sweeps share: each graph is written and timed."""
import json
import pathlib
import subprocess
import tempfile


def add_options(parser):
    parser.add_argument("fusec")
    parser.add_argument("--write", help="only write the graphs")
    parser.add_argument("--only", default="", help="graphs whose name contains this")


def results(o, graphs, *flags):
    """(name, what `fusec run --bench --json` says) of each graph that is chosen and runs; of the others a line. Nothing with --write."""
    folder = pathlib.Path(o.write or tempfile.mkdtemp(prefix="fusec_sweep_"))
    folder.mkdir(parents=True, exist_ok=True)
    for g in graphs:
        if o.only not in g["name"]:
            continue
        path = folder / f"{g['name']}.fusion.json"
        path.write_text(json.dumps(g))
        if o.write:
            continue
        done = subprocess.run([o.fusec, "run", path, "--bench", "--json", *flags], capture_output=True, text=True)
        if done.returncode:
            print(f"{g['name']:28} exit {done.returncode}: {done.stderr[:200]}")
            continue
        yield g["name"], json.loads(done.stdout)
