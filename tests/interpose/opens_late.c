/* SPDX-License-Identifier: Apache-2.0 */
/* A program without MPI that opens one late and privately, as an interpreter does: a shared object (the last
 * argument) whose function `main_of_module` calls MPI. With "--deepbind" before it, what it calls is looked up in
 * its own libraries first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int flags = RTLD_NOW | RTLD_LOCAL;
  if (argc > 2 && strcmp(argv[1], "--deepbind") == 0) {
    flags |= RTLD_DEEPBIND;
    --argc;
    ++argv;
  }
  void* module = argc < 2 ? NULL : dlopen(argv[1], flags);
  int (*run)(int, char**) = NULL;
  if (module != NULL) *(void**)&run = dlsym(module, "main_of_module");
  if (run == NULL) {
    fprintf(stderr, "%s\n", argc < 2 ? "no module" : dlerror());
    return 1;
  }
  return run(argc - 1, argv + 1);
}
