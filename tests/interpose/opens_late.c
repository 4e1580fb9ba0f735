/* SPDX-License-Identifier: Apache-2.0 */
/* A program without MPI that opens one late and privately, as an interpreter does: a shared object (the last
 * argument) whose function `main_of_module` calls MPI. With "--deepbind" before it, what it calls is looked
 * up in its own libraries first. With "--then FILE", another library is opened behind it, for the whole
 * process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int flags = RTLD_NOW | RTLD_LOCAL;
  const char* then = NULL;
  int at = 1;
  for (; at + 1 < argc && argv[at][0] == '-'; ++at) {
    if (strcmp(argv[at], "--deepbind") == 0) flags |= RTLD_DEEPBIND;
    if (strcmp(argv[at], "--then") == 0) then = argv[++at];
  }
  void* module = at < argc ? dlopen(argv[at], flags) : NULL;
  int (*run)(int, char**) = NULL;
  if (module != NULL) *(void**)&run = dlsym(module, "main_of_module");
  if (run == NULL || (then != NULL && dlopen(then, RTLD_NOW | RTLD_GLOBAL) == NULL)) {
    fprintf(stderr, "%s\n", at < argc ? dlerror() : "no module");
    return 1;
  }
  return run(argc - at, argv + at);
}
