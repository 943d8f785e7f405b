#!/usr/bin/env python3
"""Every example, and every graph that once failed, through the emulator. Usage: examples_test.py FUSEC SOURCE_DIR TOOLS"""
import json
import pathlib
import sys

import emulate


def archs_of(path):
    """The GPUs for which a graph shows what it is for."""
    return json.loads(path.read_text()).get("meta", {}).get("archs", ["sm_72", "sm_90"])


def main():
    fusec, source, tools = sys.argv[1:4]
    source = pathlib.Path(source)
    examples, regress = sorted(source.glob("examples/*.fusion.json")), sorted(source.glob("tests/regress/*.fusion.json"))
    sys.argv = ["emulate.py", fusec, "--tools", tools, *map(str, examples)]
    code = emulate.main()
    for arch in ("sm_72", "sm_87", "sm_90"):
        if graphs := [path for path in regress if arch in archs_of(path)]:
            sys.argv = ["emulate.py", fusec, "--tools", tools, "--exact", "--special", "--skip-missing", "--arch", arch, *map(str, graphs)]
            code = max(code, emulate.main())
    return code


if __name__ == "__main__":
    sys.exit(main())
