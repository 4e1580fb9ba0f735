// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "interpose/operations/requests.hpp"

namespace stretto {

/// Nothing of Stretto's is under way or could be completed. A few nanoseconds.
bool is_idle();

/// The status of what has no message. In functions for a single request, MPI_ERROR stays as it is.
void set_empty(MPI_Status* status);

/// Ends what is done for the program: its request is null, or a persistent one inactive. Returns the
/// operation's error code, reported.
int complete(MPI_Request* request, Pending& pending, MPI_Status* status);

/// Starts a persistent collective.
int start(Pending& pending);

/// The program's array of requests, of which some are Stretto's, some the library's, and some null. What the
/// library gets has no null ones between: MPICH 4.0.2's MPI_Testall does not survive them among a hundred.
class RequestList {
 public:
  RequestList(int count, MPI_Request* requests);

  struct Ours {
    std::size_t index;
    Pending* pending;
  };
  std::vector<Ours> ours;
  std::vector<MPI_Request> theirs;
  std::vector<std::size_t> indices_of_theirs;

  [[nodiscard]] int size_of_theirs() const { return static_cast<int>(theirs.size()); }
  /// All of Stretto's are done.
  [[nodiscard]] bool ours_are_done() const;
  /// Any of Stretto's is active.
  [[nodiscard]] bool any_of_ours_is_active() const;
  /// The handles that the library has changed.
  void write_back();

 private:
  MPI_Request* requests_;
};

}  // namespace stretto
