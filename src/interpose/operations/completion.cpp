// SPDX-License-Identifier: Apache-2.0
#include "interpose/operations/completion.hpp"

#include <algorithm>

#include "interpose/handles/held_handles.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {
namespace {

MPI_Status find_empty_status() {
  MPI_Status status{};
  MPI_Request none = mpi.request_null;
  int done = 0;
  mpi.Test(&none, &done, &status);
  return status;
}

}  // namespace

bool is_idle() {
  return !has_requests() && !has_outstanding();
}

void set_empty(MPI_Status* status) {
  static const MPI_Status empty = find_empty_status();
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = empty;
  status->MPI_ERROR = error;
}

int complete(MPI_Request* request, Pending& pending, MPI_Status* status) {
  set_empty(status);
  if (!pending.is_active) return MPI_SUCCESS;
  pending.call->set_status(status);
  const int error = pending.call->report_error();
  if (pending.is_persistent) {
    pending.is_active = false;
  } else {
    forget_request(pending);
    *request = mpi.request_null;
    free_left_handles();
  }
  return error;
}

int start(Pending& pending) {
  if (!pending.is_persistent || pending.is_active) {
    mpi.Comm_call_errhandler(mpi.comm_world, MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
  }
  pending.is_active = true;
  pending.call->start();
  if (!pending.call->ended()) add_outstanding(pending.call);
  return MPI_SUCCESS;
}

RequestList::RequestList(int count, MPI_Request* requests) : requests_(requests) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(count, 0)); ++i) {
    if (requests[i] == mpi.request_null) continue;
    if (Pending* pending = find_pending(requests[i])) {
      ours.push_back({i, pending});
    } else {
      theirs.push_back(requests[i]);
      indices_of_theirs.push_back(i);
    }
  }
}

bool RequestList::ours_are_done() const {
  return std::all_of(ours.begin(), ours.end(), [](const Ours& one) { return one.pending->is_done(); });
}

bool RequestList::any_of_ours_is_active() const {
  return std::any_of(ours.begin(), ours.end(), [](const Ours& one) { return one.pending->is_active; });
}

void RequestList::write_back() {
  for (std::size_t i = 0; i < theirs.size(); ++i) requests_[indices_of_theirs[i]] = theirs[i];
}

}  // namespace stretto
