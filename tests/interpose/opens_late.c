/* SPDX-License-Identifier: Apache-2.0 */
/* A program without MPI that opens one late and privately, as an interpreter does: a shared object (argument 1)
 * whose function `main_of_module` calls MPI. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* module = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  int (*run)(int, char**) = NULL;
  if (module != NULL) *(void**)&run = dlsym(module, "main_of_module");
  if (run == NULL) {
    fprintf(stderr, "%s\n", argc < 2 ? "no module" : dlerror());
    return 1;
  }
  return run(argc - 1, argv + 1);
}
