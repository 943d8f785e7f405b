/* Calls one graph's host launcher from C. Compiled with -DHEADER="NAME.h" -DGRAPH=NAME -DCOUNTS=NAME_IN_CAPITALS.
   Arguments: one file per input that is not passed by value (raw bytes), then one per output to write. */
#include <stdio.h>
#include <stdlib.h>

#include HEADER

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define MEMBER(suffix) JOIN(GRAPH, suffix)
enum { kInputs = JOIN(COUNTS, _INPUTS), kOutputs = JOIN(COUNTS, _OUTPUTS) };

static void check(int code, const char *what) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString((cudaError_t)code));
  exit(1);
}

static void transfer(const char *path, void *device, size_t bytes, int to_device) {
  char *host = malloc(bytes + 1);
  FILE *file = fopen(path, to_device ? "rb" : "wb");
  if (!host || !file) {
    perror(path);
    exit(1);
  }
  if (!to_device) check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copying an output");
  if ((to_device ? fread(host, 1, bytes, file) : fwrite(host, 1, bytes, file)) != bytes) {
    fprintf(stderr, "%s: not %zu bytes\n", path, bytes);
    exit(1);
  }
  if (to_device) check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copying an input");
  fclose(file);
  free(host);
}

int main(int argc, char **argv) {
  void *inputs[kInputs + 1] = {0}, *outputs[kOutputs] = {0}, *workspace = 0;
  const size_t workspace_bytes = MEMBER(_workspace_bytes)(0);
  int next = 1;
  for (int i = 0; i < kInputs; ++i) {
    if (MEMBER(_input_by_value)[i]) continue; /* 0: its default */
    if (next == argc) return fprintf(stderr, "no file for input %d\n", i), 2;
    check(cudaMalloc(&inputs[i], MEMBER(_input_bytes)[i]), "allocating an input");
    transfer(argv[next++], inputs[i], MEMBER(_input_bytes)[i], 1);
  }
  for (int i = 0; i < kOutputs; ++i) {
    if (MEMBER(_output_alias)[i] >= 0) outputs[i] = inputs[MEMBER(_output_alias)[i]];
    else check(cudaMalloc(&outputs[i], MEMBER(_output_bytes)[i]), "allocating an output");
  }
  if (workspace_bytes > 0) check(cudaMalloc(&workspace, workspace_bytes), "allocating the workspace");
  check(MEMBER(_launch)(inputs, outputs, workspace, workspace_bytes, 0), "launching");
  check(cudaDeviceSynchronize(), "running");
  for (int i = 0; i < kOutputs; ++i) {
    if (next == argc) return fprintf(stderr, "no file for output %d\n", i), 2;
    transfer(argv[next++], outputs[i], MEMBER(_output_bytes)[i], 0);
  }
  return 0;
}
