// SPDX-License-Identifier: Apache-2.0
// What carries an execution's messages: the MPI library, connections, or, in tests, the memory of one
// process. (Ranks of a node also have shared memory, where a message is read piece by piece:
// memory_transfer.hpp.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/data/element.hpp"

namespace stretto {

/// A message of one rank to or from another one.
struct Posting {
  void* buffer = nullptr;
  std::size_t count = 0;     // elements
  std::size_t expected = 0;  // what both sides expect: a rank that has failed sends nothing in its place
  int peer = 0;
  int tag = 0;
  bool sends = false;
  std::size_t number = 0;  // among all messages of a call, for keep()
};

/// A message that has completed.
struct Completed {
  std::size_t slot = 0;
  int error = MPI_SUCCESS;
  std::optional<std::size_t> arrived = {};  // bytes of a receive, if they are known
};

/// Carries messages, one in each slot. Messages of the same pair of ranks and tag arrive in order. Error
/// codes are MPI's.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// To be called before a call's first message. `element` must stay until the last one.
  virtual void begin(std::size_t slots, const Element& element) = 0;
  /// All calls are the same from now on, of so many messages. So what messages need may be kept.
  virtual void keep(std::size_t /*messages*/) {}

  /// Posts a message in a slot. If that fails, writes the error, and posts a message without elements in its
  /// place: the peer still needs one. Returns whether one was posted.
  virtual bool post(const Posting& posting, std::size_t slot, int& error) = 0;
  /// Appends the messages of the first `slots` slots that have completed. If there are none, advances all
  /// messages, and looks once more. Returns the error if the test itself fails.
  virtual int test(std::size_t slots, std::vector<Completed>& completed) = 0;
  /// Takes back all messages that have not completed, where that is possible. Their memory is free then.
  virtual void take_back() = 0;
  /// Whether take_back() is possible.
  [[nodiscard]] virtual bool takes_back() const = 0;

  /// The number of messages that were posted and have not completed.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] virtual bool is_pending(std::size_t slot) const = 0;
  /// Returns a number that changes whenever bytes have moved, as far as that is known.
  [[nodiscard]] virtual std::uint64_t steps() const { return 0; }

  /// Returns the error of an element that messages cannot have. It is asked when no message would tell.
  virtual int check(const Element& /*element*/) { return MPI_SUCCESS; }
  /// Advances what others in this process have in flight, for a thread that waits for something else.
  virtual void drive() = 0;
  /// To be called when the process of a rank has ended, or when it has only given up a call. Returns the
  /// error of calls that need it; MPI_SUCCESS if the caller has to name the rank.
  virtual int note_ended(int /*peer*/, bool /*gave_up_call*/) { return MPI_SUCCESS; }

 protected:
  std::size_t count_ = 0;
};

}  // namespace stretto
