"""Graphs with the numbers that they have to give, in the .json files beside this one. A case:

    {"name", "why", "inputs": {NAME: [dtype, shape, numbers, {more}?]}, "ops": […], "dims"?: {…}, "args"?: [options of fusec],
     "outputs": {NAME: [dtype, shape, numbers, tolerance?, {more}?]} or "index_error": [op, position, index, size]}

Numbers are exact, in row-major order, "nan", "inf" and "-inf" among them; a NaN equals a NaN, 0.0 and -0.0 differ. A tolerance is relative.
"""
import json
import math
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "emulate")]
import data


def load(folder=HERE):
    return [case for path in sorted(pathlib.Path(folder).glob("*.json")) for case in json.loads(path.read_text())]


def graph_of(case):
    def entry(name, row, key, end):
        return {key: name, **({"dtype": row[0], "shape": row[1]} if key == "name" else {}), **(row[-1] if isinstance(row[-1], dict) else {})}

    inputs = [entry(name, row, "name", 3) for name, row in case["inputs"].items()]
    outputs = [entry(name, row, "value", 4) for name, row in case.get("outputs", {}).items()] or [{"value": case["index_error"][0]}]
    dims = {"dims": case["dims"]} if "dims" in case else {}
    return {"version": 1, "name": case["name"], **dims, "inputs": inputs, "ops": case["ops"], "outputs": outputs}


def pattern(number, dtype, exact):
    if dtype not in data.FLOATS:
        return int(number)
    exponent_bits, mantissa_bits = data.FLOATS[dtype]
    if number in ("inf", "-inf"):
        return ((2**exponent_bits - 1) << mantissa_bits) | ((number == "-inf") << (exponent_bits + mantissa_bits))
    if number == "nan":
        return (1 << (exponent_bits + mantissa_bits)) - 1
    bits = data.float_bits(float(number), dtype)
    if exact and data.as_float(bits, dtype) != float(number):
        raise ValueError(f"{number} is no {dtype}")
    return bits


def shape_of(case, sizes):
    """Names and products of names as numbers."""
    dims = {name: d["size"] if isinstance(d, dict) else d for name, d in case.get("dims", {}).items()}
    return [n if isinstance(n, int) else math.prod(dims[f] if f in dims else int(f) for f in n.split("*")) for n in sizes]


def write(path, case, key):
    """The inputs or the outputs as a file."""
    tensors = []
    for name, (dtype, shape, numbers, *rest) in case[key].items():
        exact = not (key == "outputs" and rest and rest[0])
        shape = shape_of(case, shape)
        if math.prod(shape) != len(numbers):
            raise ValueError(f"{case['name']}: {name} has {len(numbers)} numbers for {shape}")
        tensors.append((name, dtype, shape, struct.pack(f"<{len(numbers)}{data.CODES[dtype]}", *(pattern(n, dtype, exact) for n in numbers))))
    data.write_safetensors(path, tensors)


def tolerances(case):
    """Output → (relative, absolute)."""
    return {name: (row[3], 0 if row[3] == 0 else 1e-30) for name, row in case.get("outputs", {}).items() if len(row) > 3 and not isinstance(row[3], dict)}
