// Runs compiled graphs on the emulator and compares with the reference. Usage: runner JOB… Several are announced, each before its problems,
// and the first with a problem is the last that runs. A job is a text, one item a line:
//
//   library PATH              what was compiled from the emitted text
//   name NAME                 NAME_launch is called
//   collisions                of plain scatter stores are no races
//   repeatable FILE           each run gives the bits of the first, whose outputs FILE keeps: those of another program may stand there
//   sizes N…                  run-time sizes, in the launcher's order
//   run SEED POISON HOW       once more: order of threads, byte in fresh memory, HOW: arena or separate workspace buffers
//   input NAME BYTES ALIAS? … see read_tensor
//   output …
//   workspace ALIGN BYTES     one buffer of the workspace, in the manifest's order
//   pointer LAUNCH ARGUMENT WORKSPACE
//   index_error POSITION INDEX SIZE   what the launch has to leave in its error flag; nothing by default
//   save PATH                 the outputs of the first run, as they would stand in a file, go there
//   tolerance RELATIVE ABSOLUTE   of the outputs that follow; 0 0: bit for bit
//
// Exit code 0 when all is well, 1 with the problems on stderr.
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "memory.h"
#include "number.h"
#include "schedule.h"

namespace {

using namespace emu;

struct Tensor {
  std::string name, dtype, file;
  size_t offset = 0;  // in the file: the logical tensor, row-major
  bool by_value = false;
  int alias = -1;  // of an output: the input it is written over
  std::vector<size_t> shape, strides;
  double relative = 0, absolute = 0;
};

struct Run {
  uint64_t seed = 0;
  unsigned poison = 0;
  bool separate = false;
};

struct Job {
  std::string library, name, save;
  bool collisions = false;
  std::vector<long long> sizes;
  std::vector<Run> runs;
  std::vector<Tensor> inputs, outputs;
  std::vector<size_t> workspace;
  std::string repeatable;
  std::vector<long long> index_error;
  std::map<std::pair<uint64_t, int>, size_t> pointers;  // launch and argument → workspace buffer
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "emulate: %s\n", why.c_str());
  std::exit(2);
}

// NAME DTYPE FILE OFFSET BY_VALUE ALIAS RANK shape… strides…
Tensor read_tensor(std::istringstream& line) {
  Tensor t;
  size_t rank = 0;
  line >> t.name >> t.dtype >> t.file >> t.offset >> t.by_value >> t.alias >> rank;
  t.shape.resize(rank), t.strides.resize(rank);
  for (size_t& n : t.shape) line >> n;
  for (size_t& n : t.strides) line >> n;
  return t;
}

Job read_job(const char* path) {
  std::ifstream file(path);
  if (!file) refuse(std::string("cannot read ") + path);
  Job job;
  double relative = 0, absolute = 0;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string key, how;
    line >> key;
    if (key == "library") line >> job.library;
    else if (key == "name") line >> job.name;
    else if (key == "save") line >> job.save;
    else if (key == "collisions") job.collisions = true;
    else if (key == "repeatable") line >> job.repeatable;
    else if (key == "index_error")
      for (long long n; line >> n;) job.index_error.push_back(n);
    else if (key == "sizes")
      for (long long n; line >> n;) job.sizes.push_back(n);
    else if (key == "run") {
      Run run;
      line >> run.seed >> run.poison >> how;
      run.separate = how == "separate";
      job.runs.push_back(run);
    } else if (key == "input") job.inputs.push_back(read_tensor(line));
    else if (key == "tolerance") line >> relative >> absolute;
    else if (key == "output") {
      job.outputs.push_back(read_tensor(line));
      job.outputs.back().relative = relative, job.outputs.back().absolute = absolute;
    } else if (key == "workspace") {
      size_t bytes = 0;
      line >> bytes;
      job.workspace.push_back(bytes);
    } else if (key == "pointer") {
      uint64_t launch = 0;
      int argument = 0;
      size_t buffer = 0;
      line >> launch >> argument >> buffer;
      job.pointers[{launch, argument}] = buffer;
    } else if (!key.empty()) refuse("the job has a line '" + key + "'");
    if (line.fail() && !line.eof()) refuse("the job has a bad line: " + text);
  }
  return job;
}

size_t elements(const Tensor& t) {
  size_t n = 1;
  for (size_t d : t.shape) n *= d;
  return n;
}

size_t span_bytes(const Tensor& t) {
  size_t span = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] == 0) return 0;
    span += (t.shape[d] - 1) * t.strides[d];
  }
  return span * number_format(t.dtype).bytes;
}

// Element k of the logical tensor lies at this byte of the buffer.
std::vector<size_t> places(const Tensor& t) {
  std::vector<size_t> out(elements(t)), index(t.shape.size());
  const size_t bytes = number_format(t.dtype).bytes;
  size_t at = 0;
  for (size_t& place : out) {
    place = at * bytes;
    for (size_t d = t.shape.size(); d-- > 0;) {
      at += t.strides[d];
      if (++index[d] < t.shape[d]) break;
      at -= t.strides[d] * t.shape[d];
      index[d] = 0;
    }
  }
  return out;
}

std::vector<char> logical_data(const Tensor& t) {
  std::vector<char> data(elements(t) * number_format(t.dtype).bytes);
  std::ifstream file(t.file, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(t.offset));
  file.read(data.data(), static_cast<std::streamsize>(data.size()));
  if (!file) refuse("cannot read " + t.name + " from " + t.file);
  return data;
}

using Launch = int (*)(void* const*, void* const*, void*, size_t, void*);
using LaunchSized = int (*)(const long long*, void* const*, void* const*, void*, size_t, void*);
using WorkspaceBytes = size_t (*)(const long long*);

const Job* running_job = nullptr;
Buffer* arena = nullptr;
std::vector<Buffer*> separate;

void* map_pointer(uint64_t launch, int argument, void* pointer) {
  const auto it = running_job->pointers.find({launch, argument});
  if (it == running_job->pointers.end() || separate.empty()) return pointer;
  return separate[it->second]->begin;
}

// Four integers: the op's number, then what `wanted` lists. All are 0 when no index was out of range.
void check_index_error(const char* record, const std::vector<long long>& wanted) {
  long long got[4];
  memcpy(got, record, sizeof got);
  std::vector<long long> rest(got + 1, got + 4);
  const bool as_wanted = wanted.empty() ? got[0] == 0 : got[0] != 0 && rest == wanted;
  if (!as_wanted)
    problem("the error flag holds op " + std::to_string(got[0]) + ", position " + std::to_string(got[1]) + ", index " +
            std::to_string(got[2]) + ", size " + std::to_string(got[3]));
}

void save_output(std::ofstream& file, const Tensor& t, const Buffer& buffer) {
  const size_t bytes = number_format(t.dtype).bytes;
  for (size_t place : places(t)) file.write(buffer.begin + place, static_cast<std::streamsize>(bytes));
}

void compare(const Tensor& t, const Buffer& buffer, const Run& run) {
  const std::vector<char> wanted = logical_data(t);
  const std::vector<size_t> where = places(t);
  const NumberFormat& format = number_format(t.dtype);
  size_t different = 0, first = 0, missing = 0, first_missing = 0;
  for (size_t i = 0; i < where.size(); ++i) {
    if (!buffer.sparse && !buffer.cells[where[i] / buffer.grain].written && missing++ == 0) first_missing = i;
    if (!same_number(format, buffer.begin + where[i], wanted.data() + i * format.bytes, t.relative, t.absolute) && different++ == 0)
      first = i;
  }
  const std::string how = " (order " + std::to_string(run.seed) + ", fresh bytes " + std::to_string(run.poison) + ")";
  if (missing > 0)
    problem("output " + t.name + ": nothing wrote " + std::to_string(missing) + " of " + std::to_string(where.size()) +
            " elements, the first is " + std::to_string(first_missing) + how);
  if (different > 0)
    problem("output " + t.name + ": " + std::to_string(different) + " of " + std::to_string(where.size()) +
            " elements differ, the first is " + std::to_string(first) + ": " + number_text(format, buffer.begin + where[first]) +
            ", reference " + number_text(format, wanted.data() + first * format.bytes) + how);
}

std::vector<char> logical_data(const Tensor& t, const Buffer& buffer) {
  const size_t bytes = number_format(t.dtype).bytes;
  std::vector<char> data;
  for (const size_t at : places(t)) data.insert(data.end(), buffer.begin + at, buffer.begin + at + bytes);
  return data;
}

void compare_with_first(const Job& job, const std::vector<Buffer*>& outputs, const Run& run) {
  std::vector<char> now;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<char> data = logical_data(job.outputs[i], *outputs[i]);
    now.insert(now.end(), data.begin(), data.end());
  }
  std::ifstream kept(job.repeatable, std::ios::binary);
  if (!kept) {
    std::ofstream(job.repeatable, std::ios::binary).write(now.data(), static_cast<std::streamsize>(now.size()));
    return;
  }
  const std::vector<char> first{std::istreambuf_iterator<char>(kept), {}};
  if (first.size() != now.size()) refuse(job.repeatable + " has other outputs");
  size_t at = 0;
  for (const Tensor& t : job.outputs) {
    const NumberFormat& format = number_format(t.dtype);
    const size_t bytes = format.bytes;
    for (size_t i = 0; i < elements(t); ++i, at += bytes) {
      if (memcmp(first.data() + at, now.data() + at, bytes) == 0) continue;
      problem("output " + t.name + ": element " + std::to_string(i) + " is " + number_text(format, now.data() + at) +
              ", in the first run " + number_text(format, first.data() + at) + " (order " + std::to_string(run.seed) + ")");
      at += (elements(t) - i) * bytes;
      break;
    }
  }
}

void run_once(const Job& job, const Run& run, void* library) {
  const auto poison = static_cast<uint8_t>(run.poison);
  set_schedule(run.seed, poison);
  std::vector<Buffer*> inputs, outputs, all;
  std::vector<void*> input_pointers, output_pointers;
  std::vector<std::vector<char>> before;
  for (const Tensor& t : job.inputs) {
    const size_t bytes = number_format(t.dtype).bytes;
    inputs.push_back(new_buffer("input " + t.name, span_bytes(t), bytes, t.by_value ? bytes : 16, poison));
    Buffer& b = *inputs.back();
    all.push_back(&b);
    const std::vector<char> data = logical_data(t);
    const std::vector<size_t> where = places(t);
    for (size_t i = 0; i < where.size(); ++i) memcpy(b.begin + where[i], data.data() + i * bytes, bytes);
    note_host_write(b.begin, b.bytes);  // an output over it may leave elements as they are
    before.push_back(b.sparse ? std::vector<char>() : std::vector<char>(b.begin, b.begin + b.bytes));
    input_pointers.push_back(b.begin);
  }
  for (const Tensor& t : job.outputs) {
    if (t.alias >= 0) {
      outputs.push_back(inputs[static_cast<size_t>(t.alias)]);
    } else {
      outputs.push_back(new_buffer("output " + t.name, span_bytes(t), number_format(t.dtype).bytes, 16, poison));
      all.push_back(outputs.back());
    }
    output_pointers.push_back(outputs.back()->begin);
  }
  const long long* sizes = job.sizes.empty() ? nullptr : job.sizes.data();
  const auto workspace_bytes = reinterpret_cast<WorkspaceBytes>(dlsym(library, (job.name + "_workspace_bytes").c_str()));
  if (!workspace_bytes) refuse("the library has no " + job.name + "_workspace_bytes");
  const size_t bytes = workspace_bytes(sizes);
  arena = new_buffer("the workspace", bytes, 1, 256, poison);
  all.push_back(arena);
  separate.clear();
  if (run.separate)
    for (size_t i = 0; i < job.workspace.size(); ++i) {
      separate.push_back(new_buffer("workspace buffer " + std::to_string(i), job.workspace[i], 1, 256, poison));
      all.push_back(separate.back());
    }
  running_job = &job;
  set_pointer_map(map_pointer);
  int code = 0;
  if (sizes) {
    const auto launch = reinterpret_cast<LaunchSized>(dlsym(library, (job.name + "_launch_sized").c_str()));
    if (!launch) refuse("the library has no " + job.name + "_launch_sized");
    code = launch(sizes, input_pointers.data(), output_pointers.data(), arena->begin, bytes, nullptr);
  } else {
    const auto launch = reinterpret_cast<Launch>(dlsym(library, (job.name + "_launch").c_str()));
    if (!launch) refuse("the library has no " + job.name + "_launch");
    code = launch(input_pointers.data(), output_pointers.data(), arena->begin, bytes, nullptr);
  }
  if (code != 0) problem("the launcher returned " + std::to_string(code));
  const auto flag_offset = reinterpret_cast<WorkspaceBytes>(dlsym(library, (job.name + "_error_flag_offset").c_str()));
  if (flag_offset) check_index_error(arena->begin + flag_offset(sizes), job.index_error);
  else if (!job.index_error.empty()) problem("no index is checked");
  if (!job.index_error.empty()) {
    for (Buffer* b : all) free_buffer(b);
    return;  // the outputs are nobody's promise
  }
  for (size_t i = 0; i < job.outputs.size(); ++i) compare(job.outputs[i], *outputs[i], run);
  if (!job.repeatable.empty()) compare_with_first(job, outputs, run);
  if (!job.save.empty() && &run == &job.runs.front()) {
    std::ofstream file(job.save, std::ios::binary);
    for (size_t i = 0; i < job.outputs.size(); ++i) save_output(file, job.outputs[i], *outputs[i]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool aliased = false;
    for (const Tensor& t : job.outputs) aliased = aliased || t.alias == static_cast<int>(i);
    if (!aliased && !inputs[i]->sparse && memcmp(inputs[i]->begin, before[i].data(), before[i].size()) != 0)
      problem("input " + job.inputs[i].name + " was changed");
  }
  for (Buffer* b : all) free_buffer(b);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) refuse("usage: runner JOB…");
  std::set<std::string> tracked;
  for (int i = 1; i < count && problems() == 0; ++i) {
    const Job job = read_job(arguments[i]);
    if (count > 2) std::fprintf(stderr, "emulate: job %s\n", job.name.c_str());
    void* library = dlopen(job.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) refuse(dlerror());
    if (tracked.insert(job.library).second) track_globals(job.library);
    allow_collisions(job.collisions);
    for (const Run& run : job.runs) run_once(job, run, library);
  }
  return problems() > 0 ? 1 : 0;
}
