// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "interpose/observe/live.hpp"
#include "interpose/operations/requests.hpp"
#include "mpi/places.hpp"
#include "mpi/status.hpp"

namespace stretto {

/// Whether nothing of Stretto is in flight or could be completed. Takes a few nanoseconds.
bool is_idle();

/// Sets the status of an operation without a message. In functions for a single request, MPI_ERROR keeps
/// its value.
void set_empty(MPI_Status* status);

/// Completes a request for the program: it becomes null, or inactive if it is persistent. Returns the
/// error code of the operation, already reported.
int complete(Place<MPI_Request> request, Pending& pending, MPI_Status* status);

/// While it lives, this thread waits for a call, if that is a collective and has not ended.
class AwaitedRequest {
 public:
  explicit AwaitedRequest(const Pending& pending) {
    if (pending.is_done()) return;
    if (const auto collective = pending.call->collective()) wait_.emplace(*collective, pending.call->bytes());
  }

 private:
  std::optional<LiveWait> wait_;
};

/// Starts a persistent collective.
int start(Pending& pending);

/// The program's array of requests. Some requests are Stretto's, some the MPI library's, some null. The MPI
/// library gets its requests without null requests between them, since MPI_Testall of MPICH 4.0.2 fails if
/// there are null requests among a hundred.
class RequestList {
 public:
  RequestList(int count, Place<MPI_Request> requests);

  struct Ours {
    std::size_t index;
    Pending* pending;
  };
  std::vector<Ours> ours;
  std::vector<MPI_Request> theirs;
  std::vector<std::size_t> indices_of_theirs;

  [[nodiscard]] int size_of_theirs() const { return static_cast<int>(theirs.size()); }
  /// Whether all of Stretto's requests are done.
  [[nodiscard]] bool ours_are_done() const;
  /// Whether any of Stretto's requests is active.
  [[nodiscard]] bool any_of_ours_is_active() const;
  /// Returns one of Stretto's requests that is not done, or nullptr.
  [[nodiscard]] const Pending* find_awaited() const;
  /// Copies the handles that the MPI library has changed back to the program's array.
  void write_back();

 private:
  Place<MPI_Request> requests_;
};

}  // namespace stretto
