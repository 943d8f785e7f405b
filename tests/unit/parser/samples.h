// Graphs that use every part of the format; tests of the parser read, write and damage them.
#pragma once

#include <vector>

namespace fusec::samples {

inline constexpr const char* kElementwise = R"({
  "version": 1, "name": "mix", "doc": "casts, literals, scalars",
  "dims": {"N": 48, "M": 2},
  "inputs": [
    {"name": "x", "dtype": "bfloat16", "shape": ["N", "2*M"]},
    {"name": "w.0:a", "dtype": "bf16", "shape": ["M*M"], "init": {"uniform": [-1, 1]}},
    {"name": "lr", "dtype": "f32", "shape": [], "scalar": true, "value": 0.125},
    {"name": "k", "dtype": "i32", "shape": [48, 4], "strides": [4, 1], "init": {"randint": [-3, 9]}},
    {"name": "acc", "dtype": "f32", "shape": [48, 4], "strides": [1, 64], "init": "zeros"}
  ],
  "ops": [
    {"op": "add", "in": ["xf", "-inf"], "out": "s"},
    {"op": "cast", "in": ["x"], "dtype": "float", "out": "xf"},
    {"op": "cast", "in": ["w.0:a"], "dtype": "f32", "out": "wf"},
    {"op": "fma", "in": ["s", "wf", "lr"], "out": "f", "note": "one rounding"},
    {"op": "lt", "in": ["f", 0.5], "out": "m"},
    {"op": "where", "in": ["m", "f", "nan"], "out": "c"},
    {"op": "gelu", "in": ["c"], "approximate": "tanh", "out": "g"},
    {"op": "clamp", "in": ["k", -2, 7], "out": "kc"},
    {"op": "shl", "in": ["kc", 3], "out": "ks"},
    {"op": "bitcast", "in": ["g"], "dtype": "i32", "out": "b"},
    {"op": "add", "in": ["acc", "g"], "out": "acc2"}
  ],
  "outputs": ["g", {"value": "acc2", "alias": "acc"}, "b", "ks", "g", {"value": "g", "strides": [1, 48]}, "x"]
})";

inline constexpr const char* kShapes = R"({
  "version": 1, "meta": {"from": [1, null, {"a": 123456789012345678901234567890}]},
  "dims": {"B": {"size": 4, "dynamic": true, "max": 64}, "S": {"size": 32, "dynamic": true, "multiple_of": 16}, "D": 8},
  "inputs": [{"name": "x", "dtype": "f16", "shape": ["B*S", "D"]}],
  "ops": [
    {"op": "reshape", "in": ["x"], "shape": ["B", "S", 2, -1], "out": "r"},
    {"op": "permute", "in": ["r"], "perm": [0, -2, 1, 3], "out": "p"},
    {"op": "slice", "in": ["p"], "starts": [0, 0, 0, 1], "stops": ["B", 2, "S", 4], "steps": [1, 1, 1, 2], "out": "sl"},
    {"op": "slice", "in": ["p"], "starts": [0, 0, 1, 0], "stops": ["B", 2, "S", 4], "steps": [1, 1, 3, 1], "out": "s3"},
    {"op": "reshape", "in": ["s3"], "shape": ["B", 8, -1], "out": "r3"},
    {"op": "flip", "in": ["sl"], "dims": [-1], "out": "fl"},
    {"op": "pad", "in": ["fl"], "low": [0, 0, 0, -1], "high": [0, 1, 0, 2], "value": "-inf", "out": "pd"},
    {"op": "cat", "in": ["sl", "fl", "sl"], "dim": -1, "out": "ct"},
    {"op": "stack", "in": ["sl", "fl"], "dim": 0, "out": "st"},
    {"op": "unsqueeze", "in": ["st"], "dims": [0, -1], "out": "us"},
    {"op": "squeeze", "in": ["us"], "dims": [0], "out": "sq"},
    {"op": "full", "shape": ["S", 1], "dtype": "f16", "value": 3, "out": "fu"},
    {"op": "expand", "in": ["fu"], "shape": [2, "S", 5], "out": "ex"},
    {"op": "iota", "shape": [3, 5], "dtype": "i64", "dim": 1, "start": 7, "step": -2, "out": "io"},
    {"op": "uniform", "shape": ["B", 9], "dtype": "f64", "seed": 18446744073709551615, "stream": 2, "out": "un"},
    {"op": "normal", "in": [], "shape": [4], "dtype": "bf16", "seed": 1, "out": "no"}
  ],
  "outputs": ["r3", "pd", "ct", "sq", "ex", "io", "un", "no"]
})";

inline constexpr const char* kReductions = R"({
  "version": 1, "name": "reduce",
  "inputs": [
    {"name": "x", "dtype": "f32", "shape": [6, 10]},
    {"name": "i", "dtype": "i64", "shape": [6, 3], "init": {"permutation": 10}},
    {"name": "j", "dtype": "i32", "shape": [5]},
    {"name": "src", "dtype": "f32", "shape": [6, 4]},
    {"name": "w", "dtype": "f16", "shape": [10], "init": "ones"},
    {"name": "t", "dtype": "i64", "shape": [6], "init": "arange"},
    {"name": "h", "dtype": "bf16", "shape": [6, 10], "init": "normal"}
  ],
  "ops": [
    {"op": "sum", "in": ["x"], "out": "s0"},
    {"op": "mean", "in": ["x"], "dims": [-1], "keepdim": true, "dtype": "f64", "out": "s1"},
    {"op": "var_mean", "in": ["x"], "dims": [0], "correction": 0, "out": ["v", null]},
    {"op": "argmax", "in": ["x"], "dim": 1, "out": "am"},
    {"op": "logsumexp", "in": ["x"], "dims": [1], "out": "ls"},
    {"op": "cumsum", "in": ["x"], "dim": 0, "exclusive": true, "out": "cs"},
    {"op": "sort", "in": ["x"], "descending": true, "out": [null, "si"]},
    {"op": "topk", "in": ["x"], "k": 4, "largest": false, "out": ["tv", "ti"]},
    {"op": "gather", "in": ["x", "i"], "dim": 1, "out": "ga"},
    {"op": "index_select", "in": ["x", "j"], "out": "is"},
    {"op": "scatter", "in": ["x", "i", "src"], "dim": 1, "accumulate": "add", "out": "sc"},
    {"op": "scatter", "in": ["x", "i", 1.5], "dim": -1, "out": "sd"},
    {"op": "layer_norm", "in": ["h", null, "w"], "out": "ln"},
    {"op": "rms_norm", "in": ["h", "w"], "dims": [-1], "eps": 1e-6, "out": "rn"},
    {"op": "softmax", "in": ["h"], "dim": 0, "out": "sm"},
    {"op": "dropout", "in": ["h"], "p": 0.25, "seed": 5, "out": "dr"},
    {"op": "cross_entropy", "in": ["x", "t"], "out": "ce"}
  ],
  "outputs": ["s0", "s1", "v", "am", "ls", "cs", "si", "tv", "ti", "ga", "is", "sc", "sd", "ln", "rn", "sm", "dr", "ce"]
})";

inline const std::vector<const char*> kAll = {kElementwise, kShapes, kReductions};

}  // namespace fusec::samples
