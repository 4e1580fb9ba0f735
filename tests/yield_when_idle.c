/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into tests on MPICH: a rank that waits gives its core away, as mpi_yield_when_idle has it in Open MPI.
 * MPICH over UCX spins in this function, and has no setting for that. On as many ranks as cores, or more, a test
 * would otherwise take three to six times as long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*progress)(void*);
  if (!progress) *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned events = progress(worker);
  if (events == 0) sched_yield();
  return events;
}
