// Fuzzing without libFuzzer: every file of the corpus, then changes of them without guidance.
// Usage: fuzz_replay CORPUS [CHANGES [SEED]]. Exit 1 names the input that broke a law, and writes it to fuzz-failure.json.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "fuzz/front_door.h"
#include "fuzz/json_mutator.h"
#include "support/files.h"

namespace {

bool good(const std::string& text, const std::string& name, bool& is_graph) {
  try {
    is_graph = fusec::try_front_door(text);
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    fusec::write_file("fuzz-failure.json", text);
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: fuzz_replay CORPUS [CHANGES [SEED]]\n"), 2;
  const uint64_t changes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0, seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::vector<std::string> paths, texts;
  bool is_graph = false;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    texts.push_back(fusec::read_file(path));
    if (!good(texts.back(), path, is_graph)) return 1;
  }
  if (texts.empty()) return std::fprintf(stderr, "%s holds no file\n", argv[1]), 1;
  fusec::JsonMutator mutator(seed);
  const size_t stored = texts.size();
  uint64_t graphs = 0;
  for (uint64_t i = 0; i < changes; ++i) {
    std::string text = texts[i % texts.size()];
    if (i % 7 == 0) text = mutator.join(text, texts[i / 7 % texts.size()]);
    text = mutator.mutate(text);
    if (!good(text, "change " + std::to_string(i) + " of seed " + std::to_string(seed), is_graph)) return 1;
    if (!is_graph) continue;
    // Graphs take part from now on, so that changes add up.
    ++graphs;
    if (texts.size() < 20 * stored) texts.push_back(std::move(text));
    else texts[stored + i % (texts.size() - stored)] = std::move(text);
  }
  std::printf("%zu files and %llu changes of them; %llu gave a graph\n", stored, static_cast<unsigned long long>(changes),
              static_cast<unsigned long long>(graphs));
  return 0;
}
