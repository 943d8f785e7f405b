#include "support/sha256.h"

#include "catch.h"

using namespace fusec;

TEST_CASE("sha256 gives the published digests") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 does not depend on how the bytes come") {
  const std::string text(777, 'x');
  Sha256 pieces;
  for (size_t at = 0, step = 1; at < text.size(); at += step, step = step % 97 + 1) pieces.add(std::string_view(text).substr(at, step));
  CHECK(pieces.hex() == sha256_hex(text));
}

TEST_CASE("fields are told apart") {
  Sha256 a, b;
  a.add_field("ab"), a.add_field("c");
  b.add_field("a"), b.add_field("bc");
  CHECK(a.hex() != b.hex());
}
