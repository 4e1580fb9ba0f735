// SPDX-License-Identifier: Apache-2.0
// Functions that complete, start or free a single request. A thread that waits for one makes progress with
// every outstanding operation. If there are none, and no requests of Stretto, all calls go straight to the
// library.
#include "interpose/operations/completion.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {
namespace {

/// Whether nothing of Stretto is involved, or `request` is a null pointer, which the library reports.
bool is_for_library(const void* request) {
  return is_idle() || request == nullptr;
}

}  // namespace

STRETTO_TAKE_OVER(Wait, (void* request, void* status), (request, status), {
  if (is_for_library(request)) return next(request, status);
  const auto handle = Place<MPI_Request>::of_program(request);
  auto* its_status = static_cast<MPI_Status*>(status);
  if (Pending* pending = find_pending(handle)) {
    const AwaitedRequest awaited(*pending);
    wait_until([&] { return pending->is_done(); }, [&] { return make_progress_for(*pending->call); });
    return complete(handle, *pending, its_status);
  }
  if (!has_outstanding() || must_library_wait_for(handle)) {
    const BlockedScope blocked;
    return next(request, status);
  }
  int result = MPI_SUCCESS;
  wait_until([&] {
    int done = 0;
    result = handle.through_word([&](MPI_Request* word) { return mpi.Test(word, &done, its_status); });
    return result != MPI_SUCCESS || done != 0;
  });
  return result;
})

STRETTO_TAKE_OVER(Test, (void* request, int* flag, void* status), (request, flag, status), {
  if (is_for_library(request)) return next(request, flag, status);
  const auto handle = Place<MPI_Request>::of_program(request);
  Pending* pending = find_pending(handle);
  if (pending == nullptr) {
    make_progress();
    return next(request, flag, status);
  }
  if (!pending->is_done()) make_progress_for(*pending->call);
  *flag = pending->is_done() ? 1 : 0;
  return *flag != 0 ? complete(handle, *pending, static_cast<MPI_Status*>(status)) : MPI_SUCCESS;
})

STRETTO_TAKE_OVER(Request_get_status, (RawHandle request, int* flag, void* status), (request, flag, status), {
  if (is_idle()) return next(request, flag, status);
  make_progress();
  Pending* pending = find_pending(from_raw<MPI_Request>(request));
  if (pending == nullptr) return next(request, flag, status);
  *flag = pending->is_done() ? 1 : 0;
  if (*flag != 0) set_empty(static_cast<MPI_Status*>(status));
  return MPI_SUCCESS;
})

STRETTO_TAKE_OVER(Request_free, (void* request), (request), {
  if (request == nullptr) return next(request);
  const auto handle = Place<MPI_Request>::of_program(request);
  forget_persistent_of_library(handle);
  Pending* pending = find_pending(handle);
  if (pending == nullptr) return next(request);
  forget_request(*pending);
  handle.store(mpi.request_null);
  return MPI_SUCCESS;
})

STRETTO_TAKE_OVER(Start, (void* request), (request), {
  if (!has_requests() || request == nullptr) return next(request);
  Pending* pending = find_pending(Place<MPI_Request>::of_program(request));
  return pending == nullptr ? next(request) : start(*pending);
})

STRETTO_TAKE_OVER(Startall, (int count, void* requests), (count, requests), {
  const bool is_error = count > 0 && requests == nullptr;
  if (!has_requests() || is_error) return next(count, requests);
  RequestList list(count, Place<MPI_Request>::of_program(requests));
  if (list.ours.empty()) return next(count, requests);
  int result = MPI_SUCCESS;
  for (const auto& ours : list.ours) {
    if (const int error = start(*ours.pending); error != MPI_SUCCESS) result = error;
  }
  if (!list.theirs.empty()) {
    const int error = mpi.Startall(list.size_of_theirs(), list.theirs.data());
    if (error != MPI_SUCCESS) result = error;
    list.write_back();
  }
  return result;
})

}  // namespace stretto
