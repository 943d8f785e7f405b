"""Tensors for the tests: safetensors files, and inputs with special values among the random ones."""
import itertools
import json
import math
import struct

BYTES = dict(bool=1, u8=1, i8=1, i16=2, i32=4, i64=8, f8e4m3=1, f8e5m2=1, f16=2, bf16=2, f32=4, f64=8)
TAGS = dict(bool="BOOL", u8="U8", i8="I8", i16="I16", i32="I32", i64="I64", f8e4m3="F8_E4M3", f8e5m2="F8_E5M2", f16="F16", bf16="BF16", f32="F32", f64="F64")
CODES = dict(bool="B", u8="B", i8="b", i16="h", i32="i", i64="q", f8e4m3="B", f8e5m2="B", f16="H", bf16="H", f32="I", f64="Q")
# exponent bits, mantissa bits
FLOATS = dict(f8e4m3=(4, 3), f8e5m2=(5, 2), f16=(5, 10), bf16=(8, 7), f32=(8, 23), f64=(11, 52))
RANGE = dict(u8=(0, 255), i8=(-128, 127), i16=(-(2**15), 2**15 - 1), i32=(-(2**31), 2**31 - 1), i64=(-(2**63), 2**63 - 1))


def float_bits(value, dtype):
    """The pattern of `value` in dtype, rounded toward zero; finite values only."""
    exponent_bits, mantissa_bits = FLOATS[dtype]
    bias = 2 ** (exponent_bits - 1) - 1
    sign = (math.copysign(1, value) < 0) << (exponent_bits + mantissa_bits)
    if value == 0:
        return sign
    exponent = max(math.frexp(abs(value))[1] - 1, 1 - bias)
    mantissa = int(math.ldexp(abs(value), mantissa_bits - exponent))
    return sign | (((exponent + bias - 1) << mantissa_bits) + mantissa)


def special_bits(dtype):
    """Zeros, the least and the greatest denormal, the least normal, ones, the greatest, infinities, NaN; both signs."""
    exponent_bits, mantissa_bits = FLOATS[dtype]
    one = (2 ** (exponent_bits - 1) - 1) << mantissa_bits
    last = (2**exponent_bits - 1) << mantissa_bits
    found = [0, 1, (1 << mantissa_bits) - 1, 1 << mantissa_bits, one, one + 1, one - 1, last - 1, last, last + 1, last | (1 << mantissa_bits) - 1]
    sign = 1 << (exponent_bits + mantissa_bits)
    return found + [v | sign for v in found]


def plain_float(rng, dtype):
    return float_bits(max(-8.0, min(8.0, rng.gauss(0, 1))), dtype)


def numbers(rng, dtype, init, count, special):
    """`count` patterns of the dtype. With `special`, floats take every pattern now and then."""
    if isinstance(init, dict) and "randint" in init:
        low, high = init["randint"]
        values = [rng.randrange(low, high) for _ in range(count)]
        return [float_bits(v, dtype) for v in values] if dtype in FLOATS else values
    if isinstance(init, dict) and "permutation" in init:
        raise ValueError("permutations need the shape")
    if init in ("zeros", "ones"):
        value = init == "ones"
        return [float_bits(value, dtype) if dtype in FLOATS else int(value)] * count
    if init == "arange":
        return [float_bits(i, dtype) if dtype in FLOATS else i for i in range(count)]
    if dtype == "bool":
        return [rng.randrange(2) for _ in range(count)]
    if dtype not in FLOATS:
        low, high = RANGE[dtype]
        return [rng.choice([0, 1, low, high, -1 if low else 2]) if special and rng.random() < 0.1 else rng.randrange(max(low, -8), 8) for _ in range(count)]
    low, high = (0.0, 1.0) if init == "uniform" else init["uniform"] if isinstance(init, dict) else (None, None)
    mask = 2 ** (8 * BYTES[dtype]) - 1
    specials = special_bits(dtype)

    def one():
        r = rng.random()
        if special and r < 0.05:
            return rng.choice(specials)
        if special and r < 0.15:
            return rng.getrandbits(64) & mask
        return float_bits(rng.uniform(low, high), dtype) if low is not None else plain_float(rng, dtype)

    return [one() for _ in range(count)]


def span(shape, strides):
    return 0 if 0 in shape else 1 + sum((n - 1) * k for n, k in zip(shape, strides))


def row_major(shape):
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(shape[d + 1], 1)
    return strides


def make_input(rng, tensor, init, special):
    """Bytes of the logical tensor, such that elements which share memory are equal. Values repeat in large tensors."""
    dtype, shape, strides = tensor["dtype"], tensor["shape"], tensor["strides"]
    count = math.prod(shape)
    if isinstance(init, dict) and "permutation" in init:
        rows = count // shape[-1] if count else 0
        values = [v for _ in range(rows) for v in rng.sample(range(init["permutation"]), shape[-1])]
    elif count == 0 or strides == row_major(shape):
        values = numbers(rng, dtype, init, min(count, 4099), special)
        if init != "arange":
            values = list(itertools.islice(itertools.cycle(values), count)) if count else []
        elif len(values) < count:
            values = numbers(rng, dtype, init, count, special)
    else:
        stored = numbers(rng, dtype, init, 4099, special)
        offsets = [0]
        for n, k in zip(shape, strides):
            offsets = [a + i * k for a in offsets for i in range(n)]
        values = [stored[o % 4099] for o in offsets]
    return struct.pack(f"<{count}{CODES[dtype]}", *values)


def write_safetensors(path, tensors):
    """tensors: (name, dtype, shape, bytes). Returns the offset of each in the file."""
    head, at = {}, 0
    for name, dtype, shape, raw in tensors:
        head[name] = {"dtype": TAGS[dtype], "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, raw in tensors:
            file.write(raw)
    return {name: 8 + len(text) + head[name]["data_offsets"][0] for name, _, _, _ in tensors}


def safetensors_offsets(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        head = json.loads(file.read(size))
    return {name: 8 + size + entry["data_offsets"][0] for name, entry in head.items() if name != "__metadata__"}


def read_tensors(path):
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    head = json.loads(raw[8 : 8 + size])
    names = {tag: dtype for dtype, tag in TAGS.items()}
    return {
        name: (names[t["dtype"]], t["shape"], raw[8 + size + t["data_offsets"][0] : 8 + size + t["data_offsets"][1]])
        for name, t in head.items()
        if name != "__metadata__"
    }


def as_float(bits, dtype):
    exponent_bits, mantissa_bits = FLOATS[dtype]
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent, mantissa = bits >> mantissa_bits & (2**exponent_bits - 1), bits & (2**mantissa_bits - 1)
    last = 2**exponent_bits - 1
    if dtype == "f8e4m3":
        if exponent == last and mantissa == 7:
            return float("nan")
    elif exponent == last:
        return float("nan") if mantissa else sign * float("inf")
    bias = 2 ** (exponent_bits - 1) - 1
    return sign * (mantissa + (2**mantissa_bits if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)


def limited(value, dtype):
    """An infinity is the number after the greatest: one close to that may have been rounded to it."""
    infinite = abs(value) == float("inf") and dtype != "f64"
    return (1 if value > 0 else -1) * 2.0 ** 2 ** (FLOATS[dtype][0] - 1) if infinite else value


def same(a, b, dtype, relative, absolute):
    if a == b:
        return True
    if dtype not in FLOATS:
        return False
    x, y = limited(as_float(a, dtype), dtype), limited(as_float(b, dtype), dtype)
    if x != x or y != y:
        return x != x and y != y
    if float("inf") in (abs(x), abs(y)):
        return x == y
    return bool(relative or absolute) and abs(x - y) <= relative * abs(y) + absolute


def difference(left, right, tolerance):
    """None, or the first difference of two files of outputs. `tolerance`: output name → (relative, absolute); bit for bit where it has none."""
    a, b = read_tensors(left), read_tensors(right)
    if a.keys() != b.keys():
        return f"outputs {sorted(a)} and {sorted(b)}"
    for name in a:
        (dtype, shape, x), (dtype2, shape2, y) = a[name], b[name]
        if (dtype, shape) != (dtype2, shape2):
            return f"{name}: {dtype}{shape} and {dtype2}{shape2}"
        if x == y:
            continue
        code = CODES[dtype].upper()
        u, v = (struct.unpack(f"<{len(z) // BYTES[dtype]}{code}", z) for z in (x, y))
        bad = [i for i, (p, q) in enumerate(zip(u, v)) if not same(p, q, dtype, *tolerance.get(name.split("#")[0], (0, 0)))]
        if bad:
            return f"{name} ({dtype}{shape}): {len(bad)} of {len(u)} differ, first at {bad[0]}: {u[bad[0]]:#x}, reference {v[bad[0]]:#x}"
    return None
