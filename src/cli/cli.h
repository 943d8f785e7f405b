// The command table: every command of fusec, its options and its file.
#pragma once

namespace fusec {

// Parses the command line, runs the command and returns its exit code. Never throws.
int run_command_line(int argc, char** argv);

}  // namespace fusec
