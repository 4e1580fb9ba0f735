// SPDX-License-Identifier: Apache-2.0
// Messages between ranks of MPI_COMM_WORLD before it is known whether Stretto is in all of them.
//
// A rank without Stretto may have posted any receive, including MPI_ANY_SOURCE and MPI_ANY_TAG, and may be in
// any collective. So a message to it must match no receive and no collective of a program. The message then
// stays unread until the end. And a rank that waits for a message must be able to give up.
// - Open MPI's wildcards do not match negative tags. Its own collectives use the tags below -9. It sends
//   messages with negative tags only while it does not check arguments.
// - MPICH (4 and newer) has the partitioned messages of MPI 4. They match each other only, and have no
//   wildcards.
// - MPICH 3 has nothing like that: the messages are ordinary ones, and all ranks must have Stretto.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <vector>

#include "mpi/mpi.hpp"

namespace stretto {

/// Sends and receives early messages. There may be one object at a time, used by one thread. Messages to and
/// from a rank that does not answer stay in MPI, so their memory is never freed.
class EarlyMessages {
 public:
  EarlyMessages();
  EarlyMessages(const EarlyMessages&) = delete;
  EarlyMessages& operator=(const EarlyMessages&) = delete;
  ~EarlyMessages();

  /// Whether a rank without Stretto cannot receive the messages.
  [[nodiscard]] bool are_private() const { return way_ != Method::usual; }

  /// Starts to send a copy. Messages from one rank to another arrive in order.
  void send(int to, const void* data, std::size_t bytes);
  /// Receives the next message from this rank, of exactly `bytes` bytes, if it has arrived. Returns whether
  /// it has.
  bool try_receive(int from, void* into, std::size_t bytes);
  /// Returns whether all sent messages have been received, or need not be waited for.
  bool all_sent();

 private:
  enum class Method { negative_tags, partitioned, usual };
  struct Message {
    std::vector<std::byte> data;
    MPI_Request request{};
  };

  static Method find_method();
  void begin_to_send(Message& message, int to) const;
  [[nodiscard]] bool begin_to_receive(Message& message, int from) const;
  bool has_ended(Message& message) const;
  [[nodiscard]] int tag() const;

  bool* checks_arguments_ = nullptr;  // Open MPI's
  bool checked_before_ = false;
  Method way_ = Method::usual;
  std::list<Message>& sent_;
  std::map<int, Message>& awaited_;
};

}  // namespace stretto
