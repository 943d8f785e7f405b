#!/usr/bin/env python3
"""Checks that src/ includes only what the layer table of HACKING.md allows. Usage: check_layers.py SOURCE_DIR

A row of the table is | `who` | `what` `what` … |: files of src/ whose path starts with `who` may include headers whose path starts
with one of `what`. Rows that cover the same file add up. A file may always include its own folder. A row that allows what nobody
includes any more fails too, so that the table stays the truth.
"""
import pathlib
import re
import sys


def read_table(page):
    section = page[page.index("## Layers") :]
    section = section[: section.find("\n## ", 1)] if "\n## " in section[1:] else section
    rows = {}
    for who, what in re.findall(r"^\| `([^`]+)` \|([^|]*)\|", section, re.M):
        rows[who] = re.findall(r"`([^`]+)`", what)
    return rows


def starts_with(path, prefix):
    """Whole names only: `emit` covers emit/cuda.h, `emit/report` covers emit/report.h and emit/report_facts.cpp."""
    return path == prefix or path.startswith(prefix + "/") or (("/" in prefix or "." in prefix) and path.startswith(prefix))


def main():
    source = pathlib.Path(sys.argv[1])
    table = read_table((source / "HACKING.md").read_text())
    bad, used = [], set()
    for file in sorted((source / "src").rglob("*")):
        if file.suffix not in (".h", ".cpp", ".def"):
            continue
        path = file.relative_to(source / "src").as_posix()
        rows = [who for who in table if starts_with(path, who)]
        if not rows:
            bad.append(f"src/{path}: no row of HACKING.md's layer table covers it")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include "([^"]+)"', line)
            if not found:
                continue
            header = found.group(1)
            if not (source / "src" / header).exists():
                bad.append(f"src/{path}:{number}: '{header}' is not written from src/")
                continue
            allowed = [(who, what) for who in rows for what in table[who] if starts_with(header, what)]
            used.update(allowed)
            if not allowed and path.split("/")[0] != header.split("/")[0]:
                bad.append(f"src/{path}:{number}: '{rows[-1]}' may not include {header}")
    for who, whats in table.items():
        bad += [f"HACKING.md: `{who}` does not include `{what}` any more" for what in whats if (who, what) not in used]
    print("\n".join(bad) if bad else f"{len(table)} rows hold")
    return 1 if bad else 0


sys.exit(main())
