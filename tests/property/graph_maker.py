"""Random graphs of the ops that have a GPU kernel: all dtypes, ranks 0 to 8, broadcasting, sizes around powers of two and of vectors, zero
sizes, strided inputs, aliases, shared values, casts everywhere.

Values are exact unless said otherwise: each is a function of exactly rounded steps, so that every correct execution has the same bits. Results
whose bits depend on the order of a sum, or on a math function, are only outputs; `tolerance` tells how far they may be off.
"""
import math
import random

FLOATS = ["f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"]
INTS = ["u8", "i8", "i16", "i32", "i64"]
BYTES = dict(bool=1, u8=1, i8=1, i16=2, i32=4, i64=8, f8e4m3=1, f8e5m2=1, f16=2, bf16=2, f32=4, f64=8)
RANGE = dict(u8=(0, 255), i8=(-128, 127), i16=(-32768, 32767), i32=(-2**31, 2**31 - 1), i64=(-2**63, 2**63 - 1))
EXTENTS = [1, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 130]
UNARY_NUMBER = ["copy", "abs", "neg", "sign", "relu", "ceil", "floor", "trunc", "round"]
UNARY_FLOAT = ["sqrt", "frac"]
BINARY_NUMBER = ["add", "sub", "mul", "maximum", "minimum"]
BINARY_FLOAT = ["div", "copysign", "fmax", "fmin"]
BINARY_INT = ["floor_div", "trunc_div", "ceil_div", "remainder", "fmod", "pow", "bitwise_and", "bitwise_or", "bitwise_xor", "shl", "shr"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
BOOL_BINARY = ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "add", "mul", "eq", "lt"]
LIMIT = 60000  # elements of any value


class Maker:
    """`supported`: the names of the ops that have a GPU kernel."""

    def __init__(self, seed, supported=frozenset()):
        self.r = random.Random(seed)
        self.supported = supported
        self.values, self.ops, self.inputs, self.n = [], [], [], 0  # values: (name, dtype, shape)
        self.tolerance = {}  # of inexact results: name → (relative, absolute)

    def name(self): self.n += 1; return f"v{self.n}"

    def shape(self):
        while True:
            s = [self.r.choice(EXTENTS) for _ in range(self.r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8]))]
            if self.r.random() < 0.02 and s: s[self.r.randrange(len(s))] = 0
            if math.prod(s) <= LIMIT: return s

    def add_input(self, shape=None):
        s = self.shape() if shape is None else shape; t = self.r.choice(["bool"] + INTS + FLOATS * 3)
        i = {"name": f"x{len(self.inputs)}", "dtype": t, "shape": s}
        if s and self.r.random() < 0.3: i["strides"] = self.strides(s)
        if t in INTS: lo, hi = RANGE[t]; i["init"] = {"randint": [max(lo, -2**40), min(hi, 2**40)]} if self.r.random() < 0.5 else {"randint": [max(lo, -4), 5]}
        if t in FLOATS and self.r.random() < 0.3: i["init"] = {"uniform": [-300.0, 300.0]}
        self.inputs.append(i); self.values.append((i["name"], t, s))

    def strides(self, s):
        order = list(range(len(s))); self.r.shuffle(order); out, step = [0] * len(s), self.r.choice([1, 1, 2])
        for d in order:
            out[d] = 0 if self.r.random() < 0.15 else step
            step *= s[d] + self.r.choice([0, 0, 0, 1, 8]) if s[d] else 1
        return out

    def literal(self, t):
        if t == "bool": return self.r.random() < 0.5
        if t in INTS: lo, hi = RANGE[t]; return self.r.choice([0, 1, 2, 3, 7, max(lo, -1), max(lo, -5), lo, hi])
        return self.r.choice([0, 1, -1, 0.5, 2, -0.0, 0.1, 3.25, -7, 1e-3, "inf", "-inf", "nan", 448, 1e5])

    def emit(self, op, ins, t, s, **attrs):
        if len(s) > 8 or math.prod(s) > LIMIT: return False
        out = self.name(); self.ops.append({"op": op, **({"in": ins} if ins else {}), **attrs, "out": out}); self.values.append((out, t, s)); return True

    def pick(self, pred=lambda v: True):
        c = [v for v in self.values if pred(v)]
        if not c: return None
        return self.r.choice(c[-12:]) if self.r.random() < 0.6 else self.r.choice(c)

    def partner(self, t, s):
        """A value or literal of dtype t that broadcasts with s, and the result's shape."""
        if self.r.random() < 0.25: return self.literal(t), s

        def joined(o):
            n = max(len(s), len(o)); a, b = [1] * (n - len(s)) + s, [1] * (n - len(o)) + o
            return None if any(x != y and x != 1 and y != 1 for x, y in zip(a, b)) else [y if x == 1 else x for x, y in zip(a, b)]
        c = [v for v in self.values if v[1] == t and joined(v[2]) is not None and math.prod(joined(v[2])) <= LIMIT]
        if not c: return self.literal(t), s
        v = self.r.choice(c); return v[0], joined(v[2])

    def number(self, value):
        """The value with 1 in place of NaN: sign and payload of a NaN are nobody's promise, so nothing may look at them."""
        x, t, s = value
        if t not in FLOATS: return value
        self.emit("isnan", [x], "bool", s); test = self.values[-1][0]
        self.emit("where", [test, 1, x], t, s)
        return self.values[-1]

    def elementwise(self):
        x, t, s = self.pick(); r = self.r.random()
        if r < 0.3:
            d = self.r.choice(["bool"] + INTS + FLOATS * 3); return self.emit("cast", [x], d, s, dtype=d)
        if r < 0.34:
            d = self.r.choice([u for u in BYTES if BYTES[u] == BYTES[t] and (u == "bool") == (t == "bool")])
            return self.emit("bitcast", [self.number((x, t, s))[0]], d, s, dtype=d)
        if r < 0.5:
            if t == "bool": return self.emit(self.r.choice(["logical_not", "bitwise_not", "copy"]), [x], t, s)
            return self.emit(self.r.choice(UNARY_NUMBER + (UNARY_FLOAT if t in FLOATS else ["bitwise_not"])), [x], t, s)
        y, out = self.partner(t, s); pair = [x, y] if self.r.random() < 0.7 else [y, x]
        if r < 0.6: return self.emit(self.r.choice(COMPARE), pair, "bool", out)
        if r < 0.7 and t != "bool":
            m = self.pick(lambda v: v[1] == "bool" and v[2] in (out, [], [1]))
            if m: return self.emit("where", [m[0], *pair], t, out)
        if r < 0.76 and t in FLOATS:
            z, more = self.partner(t, out); return self.emit(self.r.choice(["fma", "lerp", "clamp"]), [x, y, z], t, more)
        ops = BOOL_BINARY if t == "bool" else BINARY_NUMBER + (BINARY_FLOAT if t in FLOATS else BINARY_INT); op = self.r.choice(ops)
        if op == "copysign":
            if isinstance(pair[1], str) and pair[1] in [v[0] for v in self.values]: pair[1] = self.number(next(v for v in self.values if v[0] == pair[1]))[0]
            if pair[1] == "nan": pair[1] = -2
        return self.emit(op, pair, "bool" if op in COMPARE else t, out)

    def view(self):
        x, t, s = self.pick(); k = self.r.choice("reshape permute squeeze unsqueeze expand slice flip pad cat cat stack".split()); n = len(s); r = self.r
        if k == "reshape":
            total, new = math.prod(s), []
            if total == 0: return False
            while total > 1 and len(new) < 6:
                d = r.choice([f for f in range(1, total + 1) if total % f == 0][:40]); new.append(d); total //= d
            return self.emit(k, [x], t, new + ([total] if total > 1 or not new else []), shape=new + ([total] if total > 1 or not new else []))
        if k == "permute": p = list(range(n)); r.shuffle(p); return self.emit(k, [x], t, [s[i] for i in p], perm=p)
        if k == "squeeze":
            d = [i for i in range(n) if s[i] == 1 and r.random() < 0.7]; return bool(d) and self.emit(k, [x], t, [v for i, v in enumerate(s) if i not in d], dims=d)
        if k == "unsqueeze": d = r.randrange(n + 1); return self.emit(k, [x], t, s[:d] + [1] + s[d:], dims=[d])
        if k == "expand":
            new = [r.choice([1, 2, 3, 8]) for _ in range(r.choice([0, 0, 1]))] + [r.choice([v, v, 4, 7, 32]) if v == 1 else v for v in s]; return self.emit(k, [x], t, new, shape=new)
        if n == 0: return False
        if k == "slice":
            a = [r.choice([0, 0, r.randint(0, v)]) for v in s]; b = [r.choice([v, r.randint(lo, v)]) for lo, v in zip(a, s)]; st = [r.choice([1, 1, 1, 2, 3]) for _ in s]
            return self.emit(k, [x], t, [max(0, -(-(q - p) // w)) for p, q, w in zip(a, b, st)], starts=a, stops=b, steps=st)
        if k == "flip": return self.emit(k, [x], t, s, dims=sorted(r.sample(range(n), r.randint(1, n))))
        if k == "pad":
            lo = [r.choice([0, 0, 1, 3, 8, -1]) for _ in s]; hi = [r.choice([0, 0, 1, 5, 8, -2]) for _ in s]; new = [v + p + q for v, p, q in zip(s, lo, hi)]
            return all(v >= 0 for v in new) and self.emit(k, [x], t, new, low=lo, high=hi, value=self.literal(t))
        d = r.randrange(n)
        if k == "cat":
            like = [v for v in self.values if v[1] == t and len(v[2]) == n and v[2][:d] == s[:d] and v[2][d + 1:] == s[d + 1:]]
            parts = [(x, t, s)] + [r.choice(like) for _ in range(r.randint(0, 3))]; r.shuffle(parts)
            return self.emit(k, [p[0] for p in parts], t, s[:d] + [sum(p[2][d] for p in parts)] + s[d + 1:], dim=d - r.choice([0, n]))
        like = [v for v in self.values if v[1] == t and v[2] == s]; parts = [r.choice(like)[0] for _ in range(r.randint(1, 3))]
        return self.emit("stack", parts, t, s[:d] + [len(parts)] + s[d:], dim=d)

    def creation(self):
        s = self.r.choice([v[2] for v in self.values]) if self.values and self.r.random() < 0.7 else self.shape(); k = self.r.choice(["full", "iota", "iota", "uniform"])
        if k == "full": t = self.r.choice(["bool"] + INTS + FLOATS); return self.emit(k, [], t, s, shape=s, dtype=t, value=self.literal(t))
        if k == "uniform": t = self.r.choice(FLOATS); return self.emit(k, [], t, s, shape=s, dtype=t, seed=self.r.choice([0, 7, 2**63 + 5]), stream=self.r.choice([0, 3]))
        if not s: return False
        t = self.r.choice(INTS + FLOATS); whole = t in INTS or self.r.random() < 0.5
        return self.emit(k, [], t, s, shape=s, dtype=t, dim=self.r.randrange(len(s)), start=self.r.choice([0, 1, -3] if whole else [0.1, -2.5]) if t != "u8" else 1, step=self.r.choice([1, 2, 7] if whole else [0.3, 1.5]))

    def graph(self, name):
        shared = self.shape()
        for _ in range(self.r.randint(1, 5)): self.add_input(shared if self.r.random() < 0.5 else None)
        for _ in range(self.r.choice([3, 6, 10, 20, 40])):
            k = self.r.random(); (self.elementwise if k < 0.6 else self.view if k < 0.93 else self.creation)()
        used = {a for o in self.ops for a in o.get("in", []) if isinstance(a, str)}
        leaves = [v for v in self.values if v[0] not in used and not v[0].startswith("x")] or [self.values[-1]]
        outs = [v for v in leaves if self.r.random() < 0.8] or leaves[:1]
        outs += [v for v in self.values if self.r.random() < 0.05][:3]
        outputs, free = [], {i["name"]: i for i in self.inputs}
        for v in outs:
            o = {"value": v[0]}
            match = [i for i in free.values() if i["dtype"] == v[1] and i["shape"] == v[2] and "strides" not in i]
            if match and self.r.random() < 0.5: i = self.r.choice(match); o["alias"] = i["name"]; del free[i["name"]]
            outputs.append(o)
        self.r.shuffle(self.ops)
        return {"version": 1, "name": name, "inputs": self.inputs, "ops": self.ops, "outputs": outputs}
