"""Times softmax, RMS norm and layer norm, forward and backward, over rows and columns.

    python3 tools/norm_sweep.py FUSEC [--write DIR] [--rows 16,4096] [--columns 768,5003] [--only TEXT]     a line each: median µs and
                                                                                                        the limit that a copy sets
"""
import argparse
import sys

import sweep

ROWS = [16, 128, 1024, 4096, 16384]
COLUMNS = [768, 1600, 4096, 5003, 8192, 18432, 73728]
ELEMENTS = 1 << 31  # more than that is left out


class Builder:
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.inputs, self.ops, self.outputs = [], [], []

    def input(self, name, dtype, *shape, **more):
        self.inputs.append({"name": name, "dtype": dtype, "shape": list(shape), **more})
        return self.op("cast", name, dtype="f32") if dtype == "bf16" else name

    def matrix(self, name):
        return self.input(name, "bf16", self.rows, self.columns)

    def op(self, kind, *operands, **attributes):
        out = f"t{len(self.ops)}"
        self.ops.append({"op": kind, "in": list(operands), "out": out, **attributes})
        return out

    def rows_of(self, kind, x):
        return self.op(kind, x, dims=[1], keepdim=True)

    def store(self, x):
        self.outputs.append(self.op("cast", x, dtype="bf16"))


def softmax(b):
    x = b.matrix("x")
    e = b.op("exp", b.op("sub", x, b.rows_of("max", x)))
    b.store(b.op("div", e, b.rows_of("sum", e)))


def softmax_bwd(b):
    dy, y = b.matrix("dy"), b.matrix("y")
    b.store(b.op("mul", y, b.op("sub", dy, b.rows_of("sum", b.op("mul", dy, y)))))


def rms_norm(b):
    x, w = b.matrix("x"), b.input("w", "bf16", b.columns)
    r = b.op("rsqrt", b.op("add", b.rows_of("mean", b.op("mul", x, x)), 1e-5))
    b.store(b.op("mul", b.op("mul", x, r), w))
    b.outputs.append(r)


def rms_norm_bwd(b):
    dy, x, w = b.matrix("dy"), b.matrix("x"), b.input("w", "bf16", b.columns)
    r = b.input("r", "f32", b.rows, 1, init="uniform")
    scaled, by_w = b.op("mul", x, r), b.op("mul", dy, w)
    share = b.rows_of("mean", b.op("mul", by_w, scaled))
    b.store(b.op("mul", b.op("sub", by_w, b.op("mul", scaled, share)), r))
    b.store(b.op("sum", b.op("mul", dy, scaled), dims=[0]))


def layer_norm(b):
    x, w, bias = b.matrix("x"), b.input("w", "bf16", b.columns), b.input("b", "bf16", b.columns)
    b.ops.append({"op": "var_mean", "in": [x], "out": ["v", "m"], "dims": [1], "correction": 0, "keepdim": True})
    r = b.op("rsqrt", b.op("add", "v", 1e-5))
    b.store(b.op("add", b.op("mul", b.op("mul", b.op("sub", x, "m"), r), w), bias))
    b.outputs += ["m", r]


def layer_norm_bwd(b):
    dy, x, w = b.matrix("dy"), b.matrix("x"), b.input("w", "bf16", b.columns)
    m, r = b.input("m", "f32", b.rows, 1), b.input("r", "f32", b.rows, 1, init="uniform")
    scaled, by_w = b.op("mul", b.op("sub", x, m), r), b.op("mul", dy, w)
    mean, share = b.rows_of("mean", by_w), b.rows_of("mean", b.op("mul", by_w, scaled))
    b.store(b.op("mul", b.op("sub", b.op("sub", by_w, mean), b.op("mul", scaled, share)), r))
    b.store(b.op("sum", b.op("mul", dy, scaled), dims=[0]))
    b.store(b.op("sum", dy, dims=[0]))


def graphs(rows, columns):
    for write in (softmax, softmax_bwd, rms_norm, rms_norm_bwd, layer_norm, layer_norm_bwd):
        for c in columns:
            for r in rows:
                b = Builder(r, c)
                write(b)
                if r * c <= ELEMENTS // 2:
                    yield {"version": 1, "name": f"{write.__name__}_{r}x{c}", "inputs": b.inputs, "ops": b.ops, "outputs": b.outputs}


def main():
    p = argparse.ArgumentParser()
    sweep.add_options(p)
    p.add_argument("--rows", default=",".join(map(str, ROWS)))
    p.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    o = p.parse_args()
    for name, result in sweep.results(o, graphs([int(r) for r in o.rows.split(",")], [int(c) for c in o.columns.split(",")])):
        limit = result["bytes"] / result["limit_gbps"] / 1e3
        print(f"{name:28} {result['us']['median']:10.1f} us  limit {limit:10.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
