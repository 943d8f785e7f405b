// Rows of odd length: which of their accesses get vectors.
#include "lower/skew.h"

#include <string>

#include "unit/lower/lowered.h"

using namespace fusec;

namespace {

// (x - max over the last dim) * w, in bf16: `shape` of x, `weights` and a view of them; and how the output is declared.
std::string rows(const std::string& shape, const std::string& weights, const std::string& view, const std::string& output = R"("y")") {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": )" + shape +
         R"(}, {"name": "w", "dtype": "bf16", "shape": )" + weights + R"(}], "ops": [)" + view +
         R"({"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "max", "in": ["u"], "dims": [1], "keepdim": true, "out": "m"},
    {"op": "sub", "in": ["u", "m"], "out": "d"}, {"op": "cast", "in": [")" +
         (view.empty() ? "w" : "wv") + R"("], "dtype": "f32", "out": "v"}, {"op": "mul", "in": ["d", "v"], "out": "p"},
    {"op": "cast", "in": ["p"], "dtype": "bf16", "out": "y"}], "outputs": [)" +
         output + "]}";
}

bool is_skewed(const Program& p) { return has(p, "const unsigned shift"); }

}  // namespace

TEST_CASE("rows of odd length move in vectors that keep to memory's alignment; what they share is shifted into place") {
  const Program p = lowered(rows("[4096, 1003]", "[1003]", ""));
  CHECK(has(p, "= fs_load_kept<8, 8>(x_in"));
  CHECK(has(p, "fs_load_shifted<8>(w_in, at, shift, 1003, head, tail)"));
  CHECK(has(p, "if (lanes == 255) fs_store<8>(y_out"));
  CHECK(has(p, "else fs_store_lanes(y_out"));
}

TEST_CASE("the last vector of a tensor is read whole only where the tensor holds all of it") {
  CHECK(has(lowered(rows("[4095, 1003]", "[1003]", "")), "lanes == 255 ? fs_load<8, 8>(x_in"));
  CHECK_FALSE(has(lowered(rows("[4096, 1003]", "[1003]", "")), "fs_load_lanes<8>(x_in"));
  CHECK(has(lowered(rows(R"([4096, 1003], "strides": [1011, 1])", "[1003]", "")), "lanes == 255 ? fs_load<8, 8>(x_in"));
}

TEST_CASE("rows that vectors divide, and short ones, need none of it") {
  CHECK_FALSE(is_skewed(lowered(rows("[4096, 1008]", "[1008]", ""))));
  CHECK_FALSE(is_skewed(lowered(rows("[4096, 1004]", "[1004]", ""))));
  CHECK_FALSE(is_skewed(lowered(rows("[4096, 37]", "[37]", ""))));
}

TEST_CASE("rows whose length is known at run time only keep their elements") {
  std::string text = rows("[4096, \"N\"]", "[\"N\"]", "");
  text.insert(1, R"("dims": {"N": {"size": 1003, "dynamic": true}}, )");
  CHECK_FALSE(is_skewed(lowered(text)));
}

TEST_CASE("a number of rows that is known at run time only does not matter") {
  std::string text = rows("[\"N\", 1003]", "[1003]", "");
  text.insert(1, R"("dims": {"N": {"size": 4096, "dynamic": true}}, )");
  CHECK(has(lowered(text), "lanes == 255 ? fs_load<8, 8>(x_in"));
}

TEST_CASE("an update in place reads nothing outside its row") {
  const Program p = lowered(rows("[4096, 1003]", "[1003]", "", R"({"value": "y", "alias": "x"})"));
  CHECK(has(p, "lanes == 255 ? fs_load<8, 8>(x_in"));
}

TEST_CASE("weights that are written in place are not shifted: another thread would read what one has written") {
  const std::string outputs = R"({"value": "y"}, {"value": "w2", "alias": "w"})";
  std::string text = rows("[4096, 1003]", "[1003]", "", outputs);
  text.insert(text.find(R"({"op": "cast", "in": ["x"])"), R"({"op": "neg", "in": ["w"], "out": "w2"}, )");
  CHECK_FALSE(has(lowered(text), "fs_load_shifted<8>(w_in"));
}

TEST_CASE("weights that start between pieces, or run backwards, leave the row as it was") {
  CHECK_FALSE(
      is_skewed(lowered(rows("[4096, 1003]", "[1005]", R"({"op": "slice", "in": ["w"], "starts": [1], "stops": [1004], "out": "wv"}, )"))));
  CHECK(
      is_skewed(lowered(rows("[4096, 1003]", "[1009]", R"({"op": "slice", "in": ["w"], "starts": [4], "stops": [1007], "out": "wv"}, )"))));
  CHECK_FALSE(is_skewed(lowered(rows("[4096, 1003]", "[1003]", R"({"op": "flip", "in": ["w"], "dims": [0], "out": "wv"}, )"))));
}

TEST_CASE("rows of a wider tensor start where the tensor says") {
  const Program p = lowered(R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [4096, 1008]}], "ops": [
    {"op": "slice", "in": ["x"], "starts": [0, 3], "stops": [4096, 1006], "out": "v"}, {"op": "max", "in": ["v"], "dims": [1], "out": "y"}], "outputs": ["y"]})");
  CHECK(has(p, "const unsigned shift = 3;"));
}

namespace {

// Sums of rows and of columns, and what the former give the rows.
std::string both_ways(const std::string& rows, const std::string& columns) {
  const std::string open = rows == "\"N\"" ? R"("dims": {"N": {"size": 2000, "dynamic": true}}, )" : "";
  return R"({"version": 1, "name": "g", )" + open + R"("inputs": [{"name": "x", "dtype": "bf16", "shape": [)" + rows + ", " + columns +
         R"(]}], "ops": [{"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "sum", "in": ["u"], "dims": [1], "keepdim": true, "out": "s"},
    {"op": "mul", "in": ["u", "s"], "out": "p"}, {"op": "cast", "in": ["p"], "dtype": "bf16", "out": "y"}, {"op": "sum", "in": ["u"], "dims": [0], "out": "c"}],
    "outputs": ["y", "c"]})";
}

// Column sums alone hold no row back.
std::string columns_and_rows(const std::string& rows, const std::string& columns) {
  return R"({"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "bf16", "shape": [)" + rows + ", " + columns +
         R"(]}], "ops": [{"op": "cast", "in": ["x"], "dtype": "f32", "out": "u"}, {"op": "mul", "in": ["u", 3], "out": "p"},
    {"op": "cast", "in": ["p"], "dtype": "bf16", "out": "y"}, {"op": "sum", "in": ["u"], "dims": [0], "out": "c"}], "outputs": ["y", "c"]})";
}

}  // namespace

TEST_CASE("sums of odd rows and of their columns: a block's rows start alike, and what it leaves starts as they do") {
  const Program p = lowered(both_ways("2000", "5003"));
  CHECK(has(p, "const unsigned shift = [&]() -> unsigned {"));
  CHECK(has(p, "begin_row += 264)"));  // a number that vectors of 8 divide
  CHECK(has(p, "(j0 * 3) % 8"));
  CHECK_FALSE(is_skewed(lowered(both_ways("2000", "5008"))));
}

TEST_CASE("columns of rows whose number is open, and of rows that blocks share, are not skewed") {
  CHECK_FALSE(is_skewed(lowered(both_ways("\"N\"", "5003"))));
  CHECK(is_skewed(lowered(columns_and_rows("3000", "4001"))));
  CHECK_FALSE(is_skewed(lowered(columns_and_rows("300", "260001"))));
}
