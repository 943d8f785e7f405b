#!/usr/bin/env python3
"""The cases of cases.py: on the CPU reference, and, where there is clang, through the emulator for a large and a small GPU.
Usage: numeric_test.py FUSEC TOOLS [NAME…]"""
import json
import pathlib
import sys
import tempfile

import cases
import data
import emulate


def prepare(fusec, case, work):
    """Graph and tensor files; raises Failure where the reference gives something else."""
    path = work / f"{case['name']}.fusion.json"
    path.write_text(json.dumps(cases.graph_of(case)))
    cases.write(work / f"{case['name']}.in.safetensors", case, "inputs")
    got = work / f"{case['name']}.cpu.safetensors"
    args = ["run", path, "--device", "cpu", "--inputs", work / f"{case['name']}.in.safetensors", "--outputs", got, *case.get("args", [])]
    if "index_error" in case:
        done, (op, _, index, _) = emulate.run(fusec, *args), case["index_error"]
        if done.returncode != 4 or op not in done.stderr or str(index) not in done.stderr:
            raise emulate.Failure(f"exit {done.returncode}: {done.stderr}")
        return
    emulate.must(fusec, *args)
    wanted = work / f"{case['name']}.wanted.safetensors"
    cases.write(wanted, case, "outputs")
    if found := data.difference(got, wanted, cases.tolerances(case)):
        raise emulate.Failure(found)


def emulated(fusec, tools, case, arch, library, program, work):
    allowed, wanted = cases.tolerances(case), work / f"{case['name']}.wanted.safetensors"
    if "index_error" in case:
        outputs = [(t["name"], t["dtype"], t["shape"], b"") for t in program.outputs]
        data.write_safetensors(wanted, outputs)
    emulate.execute(tools, program, library, work, work / f"{case['name']}.in.safetensors", wanted, emulate.MORE_RUNS, lambda t: allowed.get(t["name"], (0, 0)), index_error=case.get("index_error", [None])[1:])


def main():
    fusec, folder, *names = sys.argv[1:]
    chosen = [c for c in cases.load() if not names or c["name"] in names]
    failed = {}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)

        def attempt(case, what, step):
            if case["name"] not in failed:
                try:
                    return step()
                except (emulate.Failure, ValueError) as failure:
                    failed[case["name"]] = f"{what}: {failure}"

        for case in chosen:
            attempt(case, "reference", lambda: prepare(fusec, case, work))
        tools = emulate.Tools(folder) if emulate.find_clang() else None
        for arch in ("sm_72", "sm_90") if tools else ():
            programs = {}
            for case in chosen:
                out = work / arch
                if attempt(case, arch, lambda: emulate.must(fusec, "compile", work / f"{case['name']}.fusion.json", "-o", out, "--emit", "cu", "--arch", arch, *case.get("args", []))) is not None:
                    programs[case["name"]] = emulate.Program(out, case["name"])
            library = work / f"{arch}.so"
            tools.compile([p.source for p in programs.values()], library)
            for case in chosen:
                if case["name"] in programs:
                    attempt(case, arch, lambda: emulated(fusec, tools, case, arch, library, programs[case["name"]], work))
    for name, text in failed.items():
        print(f"FAILED  {name}: {text}")
    print(f"{len(chosen) - len(failed)} of {len(chosen)} cases right" + ("" if tools else "; emulator skipped: no clang++"))
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
