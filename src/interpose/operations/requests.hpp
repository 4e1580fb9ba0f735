// SPDX-License-Identifier: Apache-2.0
// The requests that the program gets for its non-blocking and persistent collectives. Each is a request of
// the MPI library, so that it can be compared, converted and stored like any other: a persistent one to
// MPI_PROC_NULL that is never started. Whatever completes, starts or frees requests is interposed
// (request_entries.cpp, request_list_entries.cpp), and knows them by their handles.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/mpi.hpp"
#include "interpose/operations/operation.hpp"

namespace stretto {

/// What stands behind one of Stretto's requests.
struct Pending {
  MPI_Request request{};
  std::shared_ptr<Operation> operation;  // nullptr: the request waits to serve again
  bool is_persistent = false;
  bool is_active = true;  // a persistent one is not before it is started, and after it has been completed

  /// A program that waits for it need not.
  [[nodiscard]] bool is_done() const { return !is_active || operation->ended(); }
};

/// Gives the program a request for an operation. A persistent one is inactive at first.
MPI_Request make_request(std::shared_ptr<Operation> operation, bool is_persistent);

/// Whether there are any. A few nanoseconds.
bool has_requests();

/// What stands behind a request, if it is Stretto's. The program lets one thread at a time do something with
/// a request, so the result is that thread's.
Pending* find_pending(MPI_Request request);

/// The request is gone, and its handle will serve again. An operation that is under way goes on.
void forget_request(Pending& pending);

/// A persistent collective of the library's own. MPICH 4.0.2 completes these by MPI_Wait and MPI_Waitall only
/// (its MPI_Test functions hang or fail), so there the library must wait for them, while the helper makes
/// progress.
void note_persistent_of_library(MPI_Request request);
bool must_library_wait_for(MPI_Request request);
void forget_persistent_of_library(MPI_Request request);

/// At the end of the session.
void free_requests();

}  // namespace stretto
