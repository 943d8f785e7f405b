// Reads options, calls the driver, maps the outcome to an exit code.
#include "cli/cli.h"

int main(int argc, char** argv) { return fusec::run_command_line(argc, argv); }
