#!/usr/bin/env python3
"""Golden tests: what stages make of a graph. Usage: golden_test.py FUSEC FOLDER [--bless]

A file holds a sentence, the graph as JSON, and for each stage of interest a line `--- STAGE [OPTIONS]` with the text that
`fusec compile --arch sm_90 --stop-after STAGE OPTIONS` prints. Every stage before lowering has to be shown by some file.
--bless rewrites the texts; look at the difference before it is committed.
"""
import concurrent.futures, pathlib, re, subprocess, sys


def run(fusec, graph, stage, options):
    command = [fusec, "compile", "-", "--quiet", "--arch", "sm_90", "--stop-after", stage, *options]
    done = subprocess.run(command, input=graph, capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}\n{done.stderr}"


def parse(text):
    """The head (sentence and graph), the graph, and [(stage and options, expected text)]."""
    parts = re.split(r"^--- (.+)\n", text, flags=re.M)
    head = parts[0]
    return head, head[head.index("{"):], list(zip(parts[1::2], parts[2::2]))


def actual(fusec, path):
    head, graph, sections = parse(path.read_text())
    text, stages = head, set()
    for title, _ in sections:
        stage, *options = title.split()
        stages.add(stage)
        text += f"--- {title}\n{run(fusec, graph, stage, options)}"
    return text, stages


def main():
    fusec, folder, bless = sys.argv[1], pathlib.Path(sys.argv[2]), "--bless" in sys.argv
    paths = sorted(folder.glob("*.txt"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda p: actual(fusec, p), paths))
    failed = 0
    for path, (text, _) in zip(paths, results):
        if text == path.read_text():
            continue
        if bless:
            path.write_text(text)
            print("rewritten:", path.name)
            continue
        failed += 1
        subprocess.run(["diff", "-u", "--label", path.name, "--label", "now", path, "-"], input=text, text=True)
    # The message about a stage that there is not lists all of them.
    listed = subprocess.run([fusec, "compile", paths[0], "--stop-after", "?"], capture_output=True, text=True).stderr
    stages = set(re.search(r"the stages: ([^)]*)\)", listed).group(1).split()) - {"lower"}
    for stage in sorted(stages - set().union(*(shown for _, shown in results))):
        print(f"no file shows the stage {stage}")
        failed += 1
    print(f"{len(paths)} files, {failed} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
