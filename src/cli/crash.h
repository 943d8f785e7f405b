// A signal that ends the process (a bad address, a division by zero) is a bug of ours like any other: it says so, and exits 70.
#pragma once

namespace fusec {

// Not in a build with sanitizers, which report more.
void report_crashes(int argc, char** argv);

}  // namespace fusec
