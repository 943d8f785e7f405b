#!/usr/bin/env python3
"""Runs the steps of the workflow in docs/diff.md on two versions of an example graph.

    workflow_test.py FUSEC SOURCE_DIR

A repository gets a base branch; a change that loses a cast has to fail the last step, with a comment that says why; the repaired graph,
renamed, has to pass. `gh` is a script that keeps the comment.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

fusec, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()


def steps():
    """(name, commands) of the workflow's steps that run something."""
    page = (source / "docs/diff.md").read_text()
    yaml = re.search(r"^```yaml\n(.*?)^```$", page, re.M | re.S).group(1)
    found = re.findall(r"^      - name: (.*)\n        run: \|\n((?:          .*\n)+)", yaml, re.M)
    assert len(found) == yaml.count(" run: |") == 4, "the workflow has other steps than this test reads"
    return [(name, re.sub(r"^ {10}", "", commands, flags=re.M)) for name, commands in found]


def main():
    if not shutil.which("git"):
        print("skipped: no git")
        return 77
    work = pathlib.Path(tempfile.mkdtemp(prefix="fusec_workflow_"))
    tools, repository = work / "tools", work / "repository"
    tools.mkdir()
    repository.mkdir()
    (tools / "fusec").symlink_to(fusec)
    (tools / "gh").write_text(f'#!/bin/sh\n[ "$1 $2 $3 $4" = "pr comment 7 --body-file" ] && cp "$5" "{work}/posted.md"\n')
    (tools / "gh").chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "BASE": "base", "PULL_REQUEST": "7", "GIT_CONFIG_GLOBAL": "/dev/null",
           **{f"GIT_{who}_{what}": "test" if what == "NAME" else "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}

    def git(*args): subprocess.run(["git", *args], cwd=repository, env=env, check=True, capture_output=True)

    graph = (source / "examples/ci/rotary_scores.fusion.json").read_text()
    path = repository / "models" / "rotary scores.fusion.json"  # with a space, as paths may have
    path.parent.mkdir()
    path.write_text(graph)
    (repository / ".gitignore").write_text("fusion/\n*.txt\n*.md\n")
    git("init", "-q", "-b", "base")
    git("add", ".")
    git("commit", "-q", "-m", "base")

    wide = graph.replace('"dtype": "bf16", "out": "rotated"', '"dtype": "f32", "out": "rotated"')
    renamed = graph.replace("rotated", "turned").replace('"q"', '"query"')
    assert wide != graph and renamed != graph
    bad = []
    for name, text, wanted, said in (("wide", wide, 1, "fails `wide-edges`"), ("repaired", renamed, 0, "**graph**: the same"), ("broken", graph.replace("matmul", "matmlu"), 2, None)):
        git("checkout", "-q", "-B", name, "base")
        path.write_text(text)
        git("commit", "-q", "-a", "-m", name)
        for left in ("comment.md", "changed.txt", "worst.txt"): (repository / left).unlink(missing_ok=True)
        (work / "posted.md").unlink(missing_ok=True)
        for step, commands in steps():
            done = subprocess.run(["bash", "-e", "-c", commands], cwd=repository, env=env, capture_output=True, text=True)  # as GitHub runs them
            if done.returncode: break
        posted = (work / "posted.md").read_text() if (work / "posted.md").exists() else ""
        if done.returncode != wanted and not (wanted == 2 and done.returncode == 123):  # 123: xargs' word for a command that failed
            bad.append(f"{name}: exit {done.returncode} at '{step}', wanted {wanted}\n{done.stdout}{done.stderr}")
        if wanted < 2 and step != "Fail when it became worse": bad.append(f"{name}: it ended at '{step}'")
        if said and said not in posted: bad.append(f"{name}: the comment lacks '{said}':\n{posted}")
    print("\n".join(["FAILED: " + b for b in bad] or ["the workflow fails the wide graph, passes the renamed one, and stops at a broken one"]))
    return 1 if bad else 0


sys.exit(main())
