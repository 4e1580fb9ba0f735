// SPDX-License-Identifier: Apache-2.0
// Whatever completes, starts or frees a single request. A thread that waits for one makes progress with every
// outstanding operation; while there are none, and no requests of Stretto's, all goes straight to the
// library.
#include "interpose/completion.hpp"
#include "interpose/entry.hpp"
#include "interpose/progress.hpp"

namespace stretto {

STRETTO_TAKE_OVER(Wait, (void* request, void* status), {
  if (is_idle() || next.was_looked_at()) return next(request, status);
  auto* handle = static_cast<MPI_Request*>(request);
  auto* its_status = static_cast<MPI_Status*>(status);
  if (Pending* pending = find_pending(*handle)) {
    wait_until([&] { return pending->is_done(); }, [&] { return make_progress_for(*pending->operation); });
    return complete(handle, *pending, its_status);
  }
  if (!has_outstanding() || must_library_wait_for(*handle)) {
    const WaitingElsewhere elsewhere;
    return next(request, status);
  }
  int result = MPI_SUCCESS;
  wait_until([&] {
    int done = 0;
    result = mpi.Test(handle, &done, its_status);
    return result != MPI_SUCCESS || done != 0;
  });
  return result;
})

STRETTO_TAKE_OVER(Test, (void* request, int* flag, void* status), {
  if (is_idle() || next.was_looked_at()) return next(request, flag, status);
  auto* handle = static_cast<MPI_Request*>(request);
  Pending* pending = find_pending(*handle);
  if (pending == nullptr) {
    make_progress();
    return next(request, flag, status);
  }
  if (!pending->is_done()) make_progress_for(*pending->operation);
  *flag = pending->is_done() ? 1 : 0;
  return *flag != 0 ? complete(handle, *pending, static_cast<MPI_Status*>(status)) : MPI_SUCCESS;
})

STRETTO_TAKE_OVER(Request_get_status, (RawHandle request, int* flag, void* status), {
  if (is_idle() || next.was_looked_at()) return next(request, flag, status);
  make_progress();
  Pending* pending = find_pending(from_raw<MPI_Request>(request));
  if (pending == nullptr) return next(request, flag, status);
  *flag = pending->is_done() ? 1 : 0;
  if (*flag != 0) set_empty(static_cast<MPI_Status*>(status));
  return MPI_SUCCESS;
})

STRETTO_TAKE_OVER(Request_free, (void* request), {
  if (next.was_looked_at()) return next(request);
  auto* handle = static_cast<MPI_Request*>(request);
  forget_persistent_of_library(*handle);
  Pending* pending = find_pending(*handle);
  if (pending == nullptr) return next(request);
  forget_request(*pending);
  *handle = mpi.request_null;
  return MPI_SUCCESS;
})

STRETTO_TAKE_OVER(Start, (void* request), {
  if (!has_requests() || next.was_looked_at()) return next(request);
  Pending* pending = find_pending(*static_cast<MPI_Request*>(request));
  return pending == nullptr ? next(request) : start(*pending);
})

STRETTO_TAKE_OVER(Startall, (int count, void* requests), {
  if (!has_requests() || next.was_looked_at()) return next(count, requests);
  RequestList list(count, static_cast<MPI_Request*>(requests));
  if (list.ours.empty()) return next(count, requests);
  int result = MPI_SUCCESS;
  for (const auto& ours : list.ours) {
    if (const int error = start(*ours.pending); error != MPI_SUCCESS) result = error;
  }
  if (!list.theirs.empty()) {
    const int error = mpi.Startall(list.size_of_theirs(), list.theirs.data());
    if (error != MPI_SUCCESS) result = error;
    list.bring_back();
  }
  return result;
})

}  // namespace stretto
