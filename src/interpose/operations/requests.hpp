// SPDX-License-Identifier: Apache-2.0
// The requests that the program gets for its non-blocking and persistent collectives. Each is a request of
// the MPI library, so that it can be compared, converted and stored like any other: a persistent one to
// MPI_PROC_NULL that is never started. All functions that complete, start or free requests are interposed
// (entries/request_entries.cpp, entries/request_list_entries.cpp) and recognize them by their handles.
#pragma once

#include <cstddef>
#include <memory>

#include "interpose/operations/requested_call.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// The data behind one of Stretto's requests.
struct Pending {
  MPI_Request request{};
  std::shared_ptr<RequestedCall> call;  // nullptr: the request is free to be used again
  bool is_persistent = false;
  bool is_active = true;  // a persistent one is active from its start until it is completed

  /// Whether a program that waits for it can go on.
  [[nodiscard]] bool is_done() const { return !is_active || call->ended(); }
};

/// Returns a request for a call. A persistent request is inactive at first.
MPI_Request make_request(std::shared_ptr<RequestedCall> call, bool is_persistent);

/// Whether there are any requests. Takes a few nanoseconds.
bool has_requests();

/// Returns the data behind a request, or nullptr if the request is not Stretto's. The program uses a request
/// in one thread at a time, so the result belongs to that thread.
Pending* find_pending(MPI_Request request);

/// Releases a request. Its handle will be used again. A call in flight goes on.
void forget_request(Pending& pending);

/// These functions keep track of persistent collectives of the MPI library. MPICH 4.0.2 completes them in
/// MPI_Wait and MPI_Waitall only (its MPI_Test functions hang or fail). So MPICH itself must wait for them,
/// while the helper thread makes progress.
void note_persistent_of_library(MPI_Request request);
bool must_library_wait_for(MPI_Request request);
void forget_persistent_of_library(MPI_Request request);

/// To be called at the end of the session.
void free_requests();

}  // namespace stretto
