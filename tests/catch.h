// Catch2, version 2 or 3.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
using Catch::Approx;  // as version 2 has it
#else
#include <catch2/catch.hpp>
#endif
