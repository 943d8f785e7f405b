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
REDUCTIONS = ["sum", "sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin", "var", "var_mean", "logsumexp"]
NORMS = ["softmax", "log_softmax", "layer_norm", "rms_norm"]
FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "rsqrt", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
             "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "sigmoid", "silu", "gelu"]
GATHERS = ["gather", "take_along_axis", "index_select", "embedding"]
SCATTERS = ["scatter", "index_put"]
SCANS = ["cumsum", "cumprod", "cummax", "cummin"]
SORTS = ["sort", "argsort", "topk"]
ULP = dict(f8e4m3=2**-3, f8e5m2=2**-2, f16=2**-10, bf16=2**-7, f32=2**-23, f64=2**-52)  # of 1
LEAST = dict(f8e4m3=2**-9, f8e5m2=2**-16, f16=2**-24, bf16=2.0**-133, f32=2.0**-149, f64=0.0)  # denormal
LIMIT = 60000  # elements of any value, as a rule
LONG = 4096  # positions of a line beyond which blocks share it
ROWS = 150000  # elements of rows that blocks share
ROW_LENGTHS = [1000, 1023, 1025, 2048, 2056, 3001, 4096, 5003, 8192, 12402, 16384, 18433, 33001, 70001, 100003]


class Maker:
    """`supported`: the names of the ops that have a GPU kernel."""

    def __init__(self, seed, supported=frozenset(), long=False, rows=False):
        self.r = random.Random(seed)
        self.supported = supported
        self.values, self.ops, self.inputs, self.n = [], [], [], 0  # values: (name, dtype, shape)
        self.deterministic = random.Random(f"deterministic {seed}").random() < 0.2  # with --deterministic: the last of several plain stores wins
        self.long = random.Random(seed).choice([1, 1, 2]) if long or random.Random(f"long {seed}").random() < 0.03 else 0  # lines too long for one block
        self.rows = rows or random.Random(f"rows {seed}").random() < 0.03
        self.limit = ROWS if self.rows else LIMIT  # elements of any value
        self.last = []  # inexact results, like values
        self.tolerance = {}  # of inexact results: name → (relative, absolute)

    def name(self): self.n += 1; return f"v{self.n}"

    def shape(self):
        while True:
            s = [self.r.choice(EXTENTS) for _ in range(self.r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8]))]
            if self.r.random() < 0.02 and s: s[self.r.randrange(len(s))] = 0
            if math.prod(s) <= self.limit: return s

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
        span = 1 + sum((n - 1) * k for n, k in zip(s, out) if n)
        return out if span <= 20 * LIMIT else [k and math.prod(s[d + 1:]) for d, k in enumerate(out)]

    def literal(self, t):
        if t == "bool": return self.r.random() < 0.5
        if t in INTS: lo, hi = RANGE[t]; return self.r.choice([0, 1, 2, 3, 7, max(lo, -1), max(lo, -5), lo, hi])
        return self.r.choice([0, 1, -1, 0.5, 2, -0.0, 0.1, 3.25, -7, 1e-3, "inf", "-inf", "nan", 448, 1e5])

    def emit(self, op, ins, t, s, **attrs):
        if len(s) > 8 or math.prod(s) > self.limit: return False
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
        c = [v for v in self.values if v[1] == t and joined(v[2]) is not None and math.prod(joined(v[2])) <= self.limit]
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
            m = self.pick(lambda v: v[1] == "bool" and v[2] in (out, [], out and [1]))
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

    # --- ops that combine elements

    def steady(self, value, least, most):
        """The value without NaN, within bounds."""
        x, t, s = self.number(value)
        if t not in FLOATS: return value
        self.emit("clamp", [x, least, most], t, s)
        return self.values[-1]

    def summable(self, value):
        """Small whole numbers in place of a float's: every order of their sum is exact."""
        x, t, s = self.steady(value, -4, 4)
        if t in FLOATS: self.emit("round", [x], t, s); x = self.values[-1][0]
        return x, t, s

    def signs(self, value):
        """1 and -1 in place of a float's numbers: every order of their product is exact."""
        x, t, s = value
        if t not in FLOATS: return value
        self.emit("lt", [x, 0], "bool", s); test = self.values[-1][0]
        self.emit("where", [test, self.literal_of(t, -1), self.number(value)[0]], t, s); self.emit("sign", [self.values[-1][0]], t, s)
        return self.values[-1]

    def literal_of(self, t, v): return v if t != "bool" else bool(v)

    def offered(self, names): return [n for n in names if n in self.supported]

    def final(self, op, ins, t, s, relative=0.0, absolute=0.0, **attrs):
        """An inexact result: an output that nothing else reads, with a tolerance beside the roundings of its dtype."""
        if not self.emit(op, ins, t, s, **attrs): return False
        self.last.append(self.values.pop())
        if self.r.random() < 0.3:
            d = self.r.choice(FLOATS); x = self.last.pop()
            self.emit("cast", [x[0]], d, s, dtype=d); self.last.append(self.values.pop())
            relative += ULP[t] + ULP[d]; absolute += LEAST[t] + LEAST[d]
        name, t, s = self.last[-1]
        self.tolerance[name] = (relative + 2 * ULP[t], absolute + LEAST[t])
        return True

    def some_dims(self, s):
        n = len(s); r = self.r.random()
        if r < 0.2 or n == 0: return None
        if r < 0.25: return []
        if r < 0.5: return [n - 1]
        return sorted(self.r.sample(range(n), self.r.randint(1, n)))

    def reduction(self):
        op = self.r.choice(self.offered(REDUCTIONS)); v = self.pick(lambda v: (v[1] == "bool") == (op in ("all", "any")) or op in ("sum", "prod", "mean"))
        if not v: return False
        x, t, s = v; n = len(s); keep = self.r.random() < 0.3; attrs = {"keepdim": True} if keep else {}
        if op in ("argmax", "argmin"):
            if n == 0 or t == "bool": return False
            d = self.r.randrange(n)
            if s[d] == 0: return False
            return self.emit(op, [x], "i64", s[:d] + ([1] if keep else []) + s[d + 1:], dim=d - self.r.choice([0, n]), **attrs)
        dims = self.some_dims(s); chosen = list(range(n)) if dims is None else dims
        if dims is not None: attrs["dims"] = [d - self.r.choice([0, n]) for d in dims]
        out = [1 if d in chosen else v for d, v in enumerate(s) if keep or d not in chosen]
        if op in ("max", "min"):
            if 0 in [s[d] for d in chosen]: return False
            return self.emit(op, [x], t, out, **attrs)
        if op in ("all", "any"): return self.emit(op, [x], t, out, **attrs)
        if op in ("var", "var_mean", "logsumexp"):
            if t not in FLOATS: return False
            x = self.steady(v, -8, 8)[0]
            if op == "var" and self.r.random() < 0.5: 
                c = self.r.choice([0, 1, 2])
                if not 2 <= math.prod(s[d] for d in chosen) <= c: attrs["correction"] = c  # else something by zero, or nothing by zero: rounding decides
            if op != "var_mean": return self.final(op, [x], t, out, 1e-4, 1e-4, **attrs)
            if math.prod(out) > self.limit: return False
            names = [self.name(), self.name()]; self.ops.append({"op": op, "in": [x], **attrs, "out": names})
            for one in names: self.last.append((one, t, out)); self.tolerance[one] = (1e-4 + 2 * ULP[t], 1e-4 + LEAST[t])
            return True
        wide = t
        if t == "bool" or (t not in FLOATS and op == "mean") or self.r.random() < 0.2:
            wide = self.r.choice(["f32", "f64"] if t in FLOATS or op == "mean" else ["i32", "i64"]); attrs["dtype"] = wide
        if op == "mean":
            if t in INTS: return False
            return self.final(op, [self.summable(v)[0]], wide, out, 1e-6, 0, **attrs)
        if op == "sum" and t in FLOATS and self.r.random() < 0.3:
            return self.final(op, [self.steady(v, -8, 8)[0]], wide, out, 1e-6, 1e-6 * (1 + math.prod(s)), **attrs)
        return self.emit(op, [(self.summable if op == "sum" else self.signs)(v)[0]], wide, out, **attrs)

    def norm(self, v=None):
        op = self.r.choice(self.offered(NORMS)); v = v or self.pick(lambda v: v[1] in FLOATS and v[2])
        if not v: return False
        x, t, s = self.steady(v, -8, 8); d = self.r.randrange(len(s)) if self.r.random() < 0.3 else len(s) - 1
        if op in ("softmax", "log_softmax"): return self.final(op, [x], t, s, 1e-4, 1e-4, dim=d)
        return self.final(op, [x], t, s, 1e-3, 1e-3, dims=[len(s) - 1], eps=0.25)

    def math_function(self):
        v = self.pick(lambda v: v[1] in FLOATS); op = self.r.choice(self.offered(FUNCTIONS))
        return bool(v) and self.final(op, [v[0]], v[1], v[2], 3e-6, 1e-6)

    def index_input(self, shape, size, permutation=False):
        i = {"name": f"x{len(self.inputs)}", "dtype": self.r.choice(["i32", "i64"]), "shape": shape, "init": {"permutation": size} if permutation else {"randint": [0, size]}}
        self.inputs.append(i); self.values.append((i["name"], i["dtype"], shape)); return i["name"]

    def gather(self):
        op = self.r.choice(self.offered(GATHERS)); v = self.pick(lambda v: v[2] and 0 not in v[2] and (op != "embedding" or len(v[2]) == 2))
        if not v: return False
        x, t, s = v; d = 0 if op == "embedding" else self.r.randrange(len(s)); n = self.r.choice([1, 2, 3, 8, 33, 64, 130])
        if op == "embedding": shape = self.r.choice([[], [n], [3, n]]); out = shape + [s[1]]
        elif op == "index_select": shape = [n]; out = s[:d] + [n] + s[d + 1:]
        elif op == "gather": shape = out = [n if k == d else self.r.choice([z, z, self.r.randint(1, z)]) for k, z in enumerate(s)]
        else: shape = [n if k == d else self.r.choice([z, z, 1]) for k, z in enumerate(s)]; out = [n if k == d else z for k, z in enumerate(s)]
        if math.prod(out) > self.limit: return False
        index = self.index_input(shape, s[d]); ins = [index, x] if op == "embedding" else [x, index]
        return self.emit(op, ins, t, out, **({} if op == "embedding" else {"dim": d}))

    def scatter(self):
        op = self.r.choice(self.offered(SCATTERS)); v = self.pick(lambda v: v[2] and 0 not in v[2])
        if not v: return False
        x, t, s = v; d = self.r.randrange(len(s)); how = self.r.choice([None, "add", "add", "mul", "max", "min"])
        fit = {"add": self.summable, "mul": self.signs}.get(how, lambda one: one)
        src = self.pick(lambda w: w[1] == t and len(w[2]) == len(s) and 0 not in w[2] and (op == "scatter" or w[2][:d] + w[2][d + 1:] == s[:d] + s[d + 1:]))
        attrs = {"accumulate": how} if how else {}
        literal = src is None or (how is None and not self.deterministic) or self.r.random() < 0.1  # of several plain stores any may win: all store one value
        if op == "index_put": n = self.r.choice([1, 5, 64, 130]) if literal else src[2][d]; shape = [n]
        else: shape = [(self.r.choice([1, 7, 64]) if k == d else self.r.randint(1, z)) if literal else self.r.choice([m, self.r.randint(1, m)]) for k, (z, m) in enumerate(zip(s, s if literal else [w if k == d else min(w, q) for k, (w, q) in enumerate(zip(src[2], s))]))]
        if math.prod(shape) * (1 if op == "scatter" else math.prod(s[:d] + s[d + 1:])) > self.limit: return False
        value = {"add": 1, "mul": -1 if t not in ("bool", "u8") else 1}.get(how, 3 if t != "bool" else 1) if literal else fit(src)[0]
        base = fit(v)[0]; index = self.index_input(shape, s[d])
        return self.emit(op, [base, index, self.literal_of(t, value) if literal else value], t, s, dim=d, **attrs)

    def scan(self, v=None):
        op = self.r.choice(self.offered(SCANS)); v = v or self.pick(lambda v: v[1] != "bool" and v[2])
        if not v: return False
        x = {"cumsum": self.summable, "cumprod": self.signs}.get(op, lambda one: one)(v)[0]; t, s = v[1], v[2]
        attrs = {k: True for k in ("exclusive", "reverse") if self.r.random() < 0.3}
        return self.emit(op, [x], t, s, dim=self.long_dim(s, self.r.randrange(len(s))), **attrs)

    @staticmethod
    def long_dim(s, otherwise): return s.index(max(s)) if max(s) > LONG else otherwise

    def sort(self, v=None):
        op = self.r.choice(self.offered(SORTS)); v = v or self.pick(lambda v: v[1] != "bool" and v[2])
        if not v: return False
        x, t, s = v; d = self.long_dim(s, self.r.randrange(len(s)) if self.r.random() < 0.5 else len(s) - 1); out = s
        attrs = {"dim": d}
        if op == "topk":
            if s[d] == 0: return False
            k = self.r.randint(1, s[d]); attrs["k"] = k; attrs["largest"] = self.r.random() < 0.5; out = s[:d] + [k] + s[d + 1:]
        else: attrs["descending"] = self.r.random() < 0.5
        if op == "argsort": return self.emit(op, [x], "i64", s, **attrs)
        names = [self.name(), self.name()]; self.ops.append({"op": op, "in": [x], **attrs, "out": names})
        self.values += [(names[0], t, out), (names[1], "i64", out)]
        return True

    def long_line(self):
        """A sort or a scan of rows that several blocks share, in many tiles or in few; of keys that differ in all digits, or in few."""
        n = self.r.choice([4097, 5000, 8192, self.r.randint(LONG + 1, 20000)]); rows = self.r.choice([[], [], [1], [2], [3]])
        self.add_input(self.r.choice([rows + [n], [n] + rows]))
        v = self.values[-1]
        if self.r.random() < 0.3: t = self.r.choice(INTS + FLOATS); self.emit("cast", [v[0]], t, v[2], dtype=t); v = self.values[-1]
        if not self.offered(SORTS) or self.r.random() < 0.35: return v[1] != "bool" and bool(self.offered(SCANS)) and self.scan(v)
        self.sort(v)
        order, _, s = self.values[-1]
        if self.r.random() < 0.5: self.emit("add", [order, 1], "i64", s)
        if s != v[2] or self.r.random() < 0.3: return True
        d = self.long_dim(s, 0); base = self.pick(lambda w: w[1] == v[1] and w[2] == s)[0]
        self.emit("scatter", [base, order, v[0]], v[1], s, dim=d)  # of a permutation: nothing is left of the base
        return self.emit("neg", [self.values[-1][0]], v[1], s) if v[1] not in ("bool", "u8") and self.r.random() < 0.5 else True

    def long_rows(self):
        """Few long rows, which blocks share, take in turns or hold in shared memory: reductions that meet their rows again, a norm, columns."""
        n = self.r.choice(ROW_LENGTHS); s = self.r.choice([[n], *([rows, n] for rows in (1, 2, 3, 5, 17, 33, 140) if rows * n <= ROWS)])
        narrow = self.r.choice(FLOATS); wide = "f64" if narrow == "f64" else "f32"; d = len(s) - 1

        def row_input():
            self.add_input(s); x = self.values[-1][0]
            if self.values[-1][1] != narrow: self.emit("cast", [x], narrow, s, dtype=narrow); x = self.values[-1][0]
            if narrow != wide: self.emit("cast", [x], wide, s, dtype=wide)
            return self.summable(self.values[-1])[0]
        y = row_input()
        for _ in range(self.r.choice([1, 1, 2, 3])):
            if self.r.random() < 0.3: self.emit(self.r.choice(["mul", "maximum"]), [y, row_input()], wide, s); y = self.summable(self.values[-1])[0]
            op = self.r.choice(["sum", "sum", "max", "min", "argmax"])
            if op == "argmax": self.emit(op, [y], "i64", s[:d] + [1], dim=d, keepdim=True); self.emit("cast", [self.values[-1][0]], wide, s[:d] + [1], dtype=wide)
            else: self.emit(op, [y], wide, s[:d] + [1], dims=[d], keepdim=True)
            if self.r.random() < 0.2: break
            self.emit(self.r.choice(["sub", "maximum", "minimum", "add"]), [y, self.values[-1][0]], wide, s); y = self.values[-1][0]
            if self.r.random() < 0.6: self.emit("cast", [y], narrow, s, dtype=narrow)
            y = self.summable((y, wide, s))[0]
        if d and self.r.random() < 0.4: self.emit("sum", [y], wide, [n], dims=[0])
        if self.r.random() < 0.4: self.norm((y, wide, s))

    def kinds(self):
        """What may be made next, with weights."""
        rows = [(self.elementwise, 60, None), (self.view, 33, None), (self.creation, 7, None), (self.reduction, 14, REDUCTIONS), (self.norm, 3, NORMS), (self.math_function, 3, FUNCTIONS),
                (self.gather, 8, GATHERS), (self.scatter, 8, SCATTERS), (self.scan, 6, SCANS), (self.sort, 4, SORTS)]
        return [(f, w) for f, w, names in rows if names is None or self.offered(names)]

    def graph(self, name):
        shared, kinds = self.shape(), self.kinds()
        for _ in range(self.r.randint(1, 5)): self.add_input(shared if self.r.random() < 0.5 else None)
        for _ in range(self.r.choice([3, 6, 10, 20, 40]) if not self.rows else 3):
            self.r.choices(*zip(*kinds))[0]()
        for _ in range(self.long): self.long_line()
        if self.rows: self.long_rows()
        used = {a for o in self.ops for a in o.get("in", []) if isinstance(a, str)}
        leaves = [v for v in self.values if v[0] not in used and not v[0].startswith("x")] or [self.values[-1]]
        outs = [v for v in leaves if self.r.random() < 0.8] or leaves[:1]
        outs += [v for v in self.values if self.r.random() < 0.05][:3]
        outs += [v for v in self.last if self.r.random() < 0.9]
        outputs, free = [], {i["name"]: i for i in self.inputs}
        for v in outs:
            o = {"value": v[0]}
            match = [i for i in free.values() if i["dtype"] == v[1] and i["shape"] == v[2] and "strides" not in i]
            if match and self.r.random() < 0.5: i = self.r.choice(match); o["alias"] = i["name"]; del free[i["name"]]
            outputs.append(o)
        self.r.shuffle(self.ops)
        meta = {"tolerance": self.tolerance} if self.tolerance else {}
        if self.deterministic: meta["flags"] = ["--deterministic"]
        meta = {"meta": meta} if meta else {}
        return {"version": 1, "name": name, **meta, "inputs": self.inputs, "ops": self.ops, "outputs": outputs}
