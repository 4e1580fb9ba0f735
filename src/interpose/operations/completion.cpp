// SPDX-License-Identifier: Apache-2.0
#include "interpose/operations/completion.hpp"

#include <algorithm>

#include "interpose/handles/held_handles.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {
namespace {

OwnStatus find_empty_status() {
  OwnStatus status;
  MPI_Request none = mpi.request_null;
  int done = 0;
  mpi.Test(&none, &done, status);
  return status;
}

}  // namespace

bool is_idle() {
  return !has_requests() && !has_outstanding();
}

void set_empty(MPI_Status* status) {
  static const OwnStatus empty = find_empty_status();
  if (status == mpi.status_ignore) return;
  const int error = error_of(status);
  copy_status(status, empty);
  set_error(status, error);
}

int complete(Place<MPI_Request> request, Pending& pending, MPI_Status* status) {
  set_empty(status);
  if (!pending.is_active) return MPI_SUCCESS;
  pending.call->set_status(status);
  const int error = pending.call->report_error();
  if (pending.is_persistent) {
    pending.is_active = false;
  } else {
    forget_request(pending);
    request.store(mpi.request_null);
    free_left_handles();
  }
  return error;
}

int start(Pending& pending) {
  if (!pending.is_persistent || pending.is_active) {
    mpi.Comm_call_errhandler(mpi.comm_world, mpi.err_request);
    return mpi.err_request;
  }
  pending.is_active = true;
  std::optional<LiveCall> live;
  if (const auto collective = pending.call->collective()) live.emplace(*collective, Form::blocking);
  note_live_bytes(pending.call->bytes());
  pending.call->start();
  if (!pending.call->ended()) add_outstanding(pending.call);
  return MPI_SUCCESS;
}

RequestList::RequestList(int count, Place<MPI_Request> requests) : requests_(requests) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(count, 0)); ++i) {
    const MPI_Request request = requests[i];
    if (request == mpi.request_null) continue;
    if (Pending* pending = find_pending(request)) {
      ours.push_back({i, pending});
    } else {
      theirs.push_back(request);
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

const Pending* RequestList::find_awaited() const {
  const auto found =
      std::find_if(ours.begin(), ours.end(), [](const Ours& one) { return !one.pending->is_done(); });
  return found == ours.end() ? nullptr : found->pending;
}

void RequestList::write_back() {
  for (std::size_t i = 0; i < theirs.size(); ++i) requests_[indices_of_theirs[i]].store(theirs[i]);
}

}  // namespace stretto
