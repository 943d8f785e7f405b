#pragma once

namespace fusec {
inline constexpr const char* kVersion = "0.1.0";
}
