#!/usr/bin/env python3
"""Keeps README.md and docs/diff.md true: runs the commands of their ```console blocks and compares what they print with what the page shows.

Usage: readme_test.py FUSEC SOURCE_DIR [--bless]. With --bless the pages are rewritten from the real output.
Commands run in an empty folder that holds `examples`; `fusec` is the one given. Further: the test command is the one that .ci/run
runs, every command of fusec and every example is mentioned, and no link of README.md, HACKING.md and docs/ leads nowhere.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

fusec, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
bless = "--bless" in sys.argv
readme = source / "README.md"
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.M | re.S)


def printed_by(command, folder):
    shell = f'fusec() {{ "{fusec}" "$@"; }}; {command}'
    done = subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: '{command}' exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def with_real_output(block, folder):
    """The block's commands ('$ ' and continuation lines that end in a backslash), each followed by what it really prints."""
    text, commands = "", re.findall(r"^\$ (?:.*\\\n)*.*$", block, re.M)
    for command in commands:
        text += command + "\n" + printed_by(command[2:].replace("\\\n", " "), folder)
    return text


def check_links():
    bad = []
    for page in [readme, source / "HACKING.md", *sorted((source / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                bad.append(f"{page.relative_to(source)}: the link to {target} leads nowhere")
    return bad


def check_mentions(text):
    bad = []
    listing = printed_by("fusec --help", source)
    for command in re.findall(r"^  (\w+)  ", listing[listing.index("Subcommands:") :], re.M):
        if f"| `{command}` |" not in text:
            bad.append(f"README.md: no row for the command '{command}'")
    for example in sorted((source / "examples").glob("*.fusion.json")):
        if f"(examples/{example.name})" not in text:
            bad.append(f"README.md: {example.name} is not mentioned")
    test_command = next((line for line in text.splitlines() if "ctest" in line), None)
    if not test_command or test_command not in (source / ".ci/run").read_text().splitlines():
        bad.append("README.md: its test command is not a line of .ci/run")
    return bad


def real_page(page):
    """None when the page shows something else than what is printed; else its text."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "examples").symlink_to(source / "examples")
        real = BLOCK.sub(lambda match: with_real_output(match.group(1), folder), text)
    if real == text:
        return real
    if bless:
        page.write_text(real)
        print(f"{page.name} rewritten")
        return real
    sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), real.splitlines(True), page.name, "what fusec prints"))
    print(f"FAILED: {page.name} is out of date; look at the difference, then run scripts/bless-readme")
    return None


def main():
    pages = [real_page(page) for page in (readme, source / "docs/diff.md")]
    if None in pages:
        return 1
    bad = check_mentions(pages[0]) + check_links()
    print("\n".join(["FAILED: " + line for line in bad] or ["README.md and docs/diff.md are true"]))
    return 1 if bad else 0


sys.exit(main())
