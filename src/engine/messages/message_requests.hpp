// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "engine/data/element.hpp"
#include "mpi/status.hpp"

namespace stretto {

/// A message of one rank to or from another one.
struct Posting {
  void* buffer = nullptr;
  std::size_t count = 0;
  int peer = 0;
  int tag = 0;
  bool sends = false;
};

/// The messages of an execution that MPI carries: a request in each slot. Where all calls are the same, the
/// requests of long messages are kept, and started again.
class MessageRequests {
 public:
  /// A persistent call of more messages than this posts them anew each time: a request of the library takes
  /// some 500 bytes.
  static constexpr std::size_t most_kept = 8192;
  static constexpr std::size_t not_kept = static_cast<std::size_t>(-1);

  explicit MessageRequests(MPI_Comm comm) : comm_(comm) {}
  MessageRequests(const MessageRequests&) = delete;
  MessageRequests& operator=(const MessageRequests&) = delete;
  ~MessageRequests();

  /// To be called before a call's first message.
  void begin(std::size_t slots);
  /// From now on, requests of this many messages are kept.
  void keep(std::size_t messages) { kept_.resize(messages, mpi.request_null); }

  /// Posts a message in a slot. If that fails, writes the error, and posts one without elements in its place:
  /// the peer still needs a message. Returns whether one was posted. `number`: of the kept request.
  bool post(const Posting& posting, const Element& element, std::size_t slot, std::size_t number, int& error);

  /// Of those that were posted and have not completed.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool is_pending(std::size_t slot) const { return requests_[slot] != mpi.request_null; }

  /// Calls completed(slot, error, status) for each message that has completed in the first `slots` slots,
  /// which may post others. Returns how many there were. Writes the error if nothing can be said about any.
  template <typename Completed>
  int test(std::size_t slots, const Completed& completed, int& error) {
    const int done = find_completed(slots, error);
    for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
      const auto slot = static_cast<std::size_t>(completed_[i]);
      completed(slot, take(slot, statuses_[i]), statuses_[i]);
    }
    return done;
  }

 private:
  [[nodiscard]] int post_once(const Posting& posting, const Element& element, MPI_Request* request) const;
  [[nodiscard]] int post_kept(const Posting& posting, const Element& element, MPI_Request* kept,
                              MPI_Request* request) const;
  int find_completed(std::size_t slots, int& error);
  int take(std::size_t slot, const MPI_Status* status);

  MPI_Comm comm_;
  std::size_t count_ = 0;
  bool tells_errors_ = false;          // whether the statuses have errors
  std::vector<MPI_Request> requests_;  // of each slot
  std::vector<MPI_Request*> kept_of_;  // of each slot; nullptr: its request is not a kept one
  std::vector<int> completed_;
  OwnStatuses statuses_;  // parallel to completed_
  std::vector<MPI_Request> kept_;
};

}  // namespace stretto
