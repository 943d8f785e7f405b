// A set of files that belong together, put into a folder so that a killed or failed fusec leaves the old set or the new one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fusec {

using NamedFiles = std::vector<std::pair<std::string, std::string>>;  // name, content

// Everything is written to a temporary folder first. A `folder` that is not there yet becomes that folder in one rename (its parents
// are made). In one that is there the files are renamed one by one, since no file system replaces several at once: the last of them is
// the set's seal (a manifest), which goes away before the first rename and comes back after the others. So a set with a seal is whole,
// whenever fusec dies, and so is what several processes write at a time. Temporary folders of dead processes are removed.
// Failure(kBadInput) with the path and the system's reason; nothing new is left behind, unless it strikes between two renames.
void publish_files(const std::string& folder, const NamedFiles& files);

}  // namespace fusec
