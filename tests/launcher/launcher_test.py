#!/usr/bin/env python3
"""The emitted .cu files compile with plain nvcc, and their host launchers are called from C; on a GPU the results are compared with the CPU's.

Usage: launcher_test.py FUSEC EXAMPLES [CUDA_ROOT]. Exits 77 (skipped) without nvcc.
"""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
C_FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# safetensors name, struct letter (or None: read by hand), relative tolerance
DTYPES = {"bf16": ("BF16", None, 1 / 64), "f16": ("F16", "e", 1 / 256), "f32": ("F32", "f", 1e-5), "i64": ("I64", "q", 0)}


def find_nvcc(cuda_root):
    roots = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), cuda_root, "/usr/local/cuda"]
    places = [os.path.join(root, "bin", "nvcc") for root in roots if root]
    return shutil.which("nvcc") or next((place for place in places if os.access(place, os.X_OK)), None)


def run(*args):
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def has_gpu():
    try:
        return "GPU" in subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    except OSError:
        return False


def encode(dtype, values):
    if dtype == "bf16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{DTYPES[dtype][1]}", *values)


def decode(dtype, data):
    if dtype == "bf16":
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
        dtype = "f32"
    letter = DTYPES[dtype][1]
    return struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)


def make_input(value, dims):
    count = 1
    for size in value["shape"]:
        dim = dims.get(size, size)
        count *= dim["size"] if isinstance(dim, dict) else dim
    numbers = range(count) if value["dtype"] == "i64" else [random.uniform(-2, 2) for _ in range(count)]
    if value.get("init") == "zeros":
        numbers = [0.0] * count
    return encode(value["dtype"], list(numbers))


def write_safetensors(path, tensors, dims):
    header, data = {}, b""
    for value, raw in tensors:
        shape = [dims.get(size, size) for size in value["shape"]]
        shape = [size["size"] if isinstance(size, dict) else size for size in shape]
        header[value["name"]] = {"dtype": DTYPES[value["dtype"]][0], "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    names = {stored: name for name, (stored, _, _) in DTYPES.items()}
    return {name: (names[t["dtype"]], data[8 + size + t["data_offsets"][0] : 8 + size + t["data_offsets"][1]]) for name, t in header.items()}


def check_results(fusec, path, graph, program, work):
    """Runs the C program on the GPU and compares with the CPU reference."""
    dims = graph["dims"]
    random.seed(path.name)
    tensors = [(value, make_input(value, dims)) for value in graph["inputs"] if not value.get("scalar")]
    names = [output if isinstance(output, str) else output["value"] for output in graph["outputs"]]
    for value, raw in tensors:
        (work / f"in.{value['name']}").write_bytes(raw)
    run(program, *[work / f"in.{value['name']}" for value, _ in tensors], *[work / f"out.{name}" for name in names])
    write_safetensors(work / "in.safetensors", tensors, dims)
    run(fusec, "run", path, "--device", "cpu", "--inputs", work / "in.safetensors", "--outputs", work / "cpu.safetensors")
    for name, (dtype, wanted) in read_safetensors(work / "cpu.safetensors").items():
        got, wanted = decode(dtype, (work / f"out.{name}").read_bytes()), decode(dtype, wanted)
        assert len(got) == len(wanted), f"{name}: {len(got)} elements instead of {len(wanted)}"
        tolerance = DTYPES[dtype][2]
        bad = [i for i in range(len(got)) if not abs(got[i] - wanted[i]) <= tolerance * max(1, abs(wanted[i]))]
        assert not bad, f"{name}: {len(bad)} of {len(got)} differ, the first at {bad[0]}: {got[bad[0]]} instead of {wanted[bad[0]]}"


def check_graph(fusec, nvcc, path, work, gpu):
    graph = json.loads(path.read_text())
    name = graph["name"]
    run(fusec, "compile", path, "-o", work, "--emit", "cu")
    kernels, caller, program = work / "kernels.o", work / "caller.o", work / "program"
    run(nvcc, "-c", "-arch=sm_80", work / f"{name}.cu", "-o", kernels)
    include = pathlib.Path(nvcc).resolve().parent.parent / "include"
    defines = [f'-DHEADER="{name}.h"', f"-DGRAPH={name}", f"-DCOUNTS={name.upper()}"]
    run("cc", "-std=c11", *C_FLAGS, *defines, "-isystem", include, "-I", work, "-c", HERE / "call_launcher.c", "-o", caller)
    # The header is C++ as well.
    (work / "header.cpp").write_text(f'#include "{name}.h"\n')
    run("c++", "-std=c++11", *C_FLAGS, "-isystem", include, "-I", work, "-fsyntax-only", work / "header.cpp")
    run(nvcc, "-arch=sm_80", caller, kernels, "-o", program)
    if gpu:
        check_results(fusec, path, graph, program, work)
    return "compiled, called" if gpu else "compiled, linked"


def main():
    fusec, examples = sys.argv[1], pathlib.Path(sys.argv[2])
    nvcc = find_nvcc(sys.argv[3] if len(sys.argv) > 3 else None)
    if not nvcc:
        print("skipped: no nvcc in PATH, CUDA_PATH, CUDA_HOME or /usr/local/cuda")
        return SKIPPED
    gpu = has_gpu()
    failed = 0
    print("a GPU is here: launchers are run" if gpu else "no GPU here: launchers are compiled and linked, not run")
    compiled_only = sorted(HERE.glob("*.fusion.json"))
    for path in sorted(examples.glob("*.fusion.json")) + compiled_only:
        with tempfile.TemporaryDirectory() as work:
            try:
                print(f"ok      {path.name}: {check_graph(fusec, nvcc, path, pathlib.Path(work), gpu and path not in compiled_only)}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"FAILED  {path.name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
