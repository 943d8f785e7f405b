// Whole files: reading (with "-" for stdin) and writing so that a killed or failed fusec leaves the old files or the new ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fusec {

// Failure(kBadInput) with the path and the system's reason. Refuses files over `max_bytes`.
std::string read_file(const std::string& path, size_t max_bytes = size_t{1} << 30);

// Each file goes to a temporary name in `folder` (made when missing); when all are written, all are renamed.
// Failure(kBadInput) with the path and the reason; nothing new is left behind.
void write_files(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& name_and_content);
void write_file(const std::string& path, const std::string& content);

}  // namespace fusec
