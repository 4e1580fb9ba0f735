// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/data/element.hpp"
#include "engine/messages/connections.hpp"
#include "mpi/status.hpp"

namespace stretto {

/// A message of one rank to or from another one.
struct Posting {
  void* buffer = nullptr;
  std::size_t count = 0;
  std::size_t expected = 0;  // what both sides expect: a rank that has failed sends nothing in its place
  int peer = 0;
  int tag = 0;
  bool sends = false;
};

/// A message that has completed.
struct CompletedMessage {
  std::size_t slot = 0;
  int error = MPI_SUCCESS;
  const MPI_Status* status = nullptr;  // of a message of the library
  const Message* own = nullptr;        // of one that went over connections

  /// Returns how many elements have come, if that is known.
  [[nodiscard]] std::optional<int> arrived(const Element& element) const;
};

/// The messages of an execution that MPI or connections between nodes carry, one in each slot. If all calls
/// are the same, the library's requests of long messages are kept, and started again.
class MessageRequests {
 public:
  /// A persistent call of more messages than this posts them anew each time: a request of the library takes
  /// some 500 bytes.
  static constexpr std::size_t most_kept = 8192;
  static constexpr std::size_t not_kept = static_cast<std::size_t>(-1);

  /// The ranks of `comm` have the same numbers in MPI_COMM_WORLD.
  explicit MessageRequests(MPI_Comm comm) : comm_(comm) {}
  MessageRequests(const MessageRequests&) = delete;
  MessageRequests& operator=(const MessageRequests&) = delete;
  ~MessageRequests();

  /// To be called before a call's first message. Between nodes, connections carry messages of
  /// `connections_from` bytes or more (CallResources::connections_from).
  void begin(std::size_t slots, std::size_t connections_from);
  /// From now on, requests of this many messages are kept.
  void keep(std::size_t messages) { kept_.resize(messages, mpi.request_null); }

  /// Posts a message in a slot. If that fails, writes the error, and posts a message without elements in its
  /// place: the peer still needs one. Returns whether one was posted. `number` is that of the kept request.
  bool post(const Posting& posting, const Element& element, std::size_t slot, std::size_t number, int& error);

  /// Takes back all messages that have not completed, where that is possible: in a job without an MPI
  /// library, and those of connections. Their memory is free then.
  void take_back();
  /// Returns a number that changes whenever bytes have moved, as far as that is known.
  [[nodiscard]] std::uint64_t steps() const;

  /// The number of messages that were posted and have not completed.
  [[nodiscard]] std::size_t count() const { return count_; }
  /// The number of those that the MPI library carries.
  [[nodiscard]] std::size_t count_of_library() const { return count_ - own_count_; }
  [[nodiscard]] bool is_pending(std::size_t slot) const {
    return requests_[slot] != mpi.request_null || is_own(slot);
  }

  /// Calls completed(message) for each message that has completed in the first `slots` slots. completed() may
  /// post others. Returns how many there were. Writes the error if the test itself fails.
  template <typename Completed>
  int test(std::size_t slots, const Completed& completed, int& error) {
    int done = own_count_ > 0 ? test_own(slots, completed) : 0;
    if (count_of_library() == 0) return done;
    const int of_library = find_completed(slots, error);
    for (std::size_t i = 0; i < static_cast<std::size_t>(of_library); ++i) {
      const auto slot = static_cast<std::size_t>(completed_[i]);
      completed(CompletedMessage{.slot = slot, .error = take(slot, statuses_[i]), .status = statuses_[i]});
    }
    return done + of_library;
  }

 private:
  template <typename Completed>
  int test_own(std::size_t slots, const Completed& completed) {
    connections_->endpoint().progress();
    int done = 0;
    for (std::size_t slot = 0; slot < slots && own_count_ > 0; ++slot) {
      if (!is_own(slot) || !own_[slot].has_ended()) continue;
      ++done;
      completed(CompletedMessage{.slot = slot, .error = take_own(slot), .own = &own_[slot]});
    }
    return done;
  }

  [[nodiscard]] bool is_own(std::size_t slot) const { return slot < is_own_.size() && is_own_[slot] != 0; }
  void post_own(const Posting& posting, const Element& element, std::size_t slot);
  int take_own(std::size_t slot);
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
  Connections* connections_ = nullptr;  // nullptr: the library carries all messages
  std::size_t connections_from_ = 0;
  std::size_t own_count_ = 0;         // the number of those that connections carry
  std::unique_ptr<Message[]> own_;    // of each slot, if there are connections
  std::vector<std::uint8_t> is_own_;  // of each slot: whether the one there is pending
};

}  // namespace stretto
