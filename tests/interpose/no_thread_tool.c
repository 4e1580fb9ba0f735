// SPDX-License-Identifier: Apache-2.0
// A tool that refuses threads to Stretto on the ranks of NO_THREAD (`1`, `0,2`), as a limit does (ulimit -u),
// which root does not have.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int is_refused(void) {
  const char* ranks = getenv("NO_THREAD");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  return ranks != NULL && rank != NULL && strchr(ranks, rank[0]) != NULL;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  typedef int Create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  Create* const create = (Create*)dlsym(RTLD_NEXT, "pthread_create");
  Dl_info object;
  const int is_strettos = dladdr((void*)body, &object) != 0 && strstr(object.dli_fname, "libstretto") != NULL;
  return is_strettos && is_refused() ? EAGAIN : create(thread, attributes, body, argument);
}
