/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into tests on MPICH: a rank that waits gives its core away, as mpi_yield_when_idle has it in Open
 * MPI. MPICH over UCX spins in this function, and has no setting for that. On as many ranks as cores, or
 * more, a test would otherwise take three to six times as long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

typedef unsigned Progress(void* worker);

/* A library that was loaded for one object only does not stand next to this one. */
static Progress* find_progress(void) {
  void* found = dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (found == NULL) found = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
  Progress* progress;
  *(void**)&progress = found;
  return progress;
}

unsigned ucp_worker_progress(void* worker) {
  static Progress* progress;
  if (progress == NULL) progress = find_progress();
  const unsigned events = progress(worker);
  if (events == 0) sched_yield();
  return events;
}
