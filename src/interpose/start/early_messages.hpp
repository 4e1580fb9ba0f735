// SPDX-License-Identifier: Apache-2.0
// Messages between ranks of MPI_COMM_WORLD of which it is not known yet whether Stretto is in them.
//
// A rank without Stretto may have posted any receive, MPI_ANY_SOURCE and MPI_ANY_TAG included, and may be in
// any collective. So what is sent to it must be something that no receive and no collective of a program
// takes; it then lies there, unread, until the end. And whoever waits for a message must be able to give up.
// - Open MPI's wildcards do not match negative tags, which its own collectives use; those from -2 to -9 it
//   does not. It sends them where it is not asked to check arguments.
// - MPICH (4 and newer) has the partitioned messages of MPI 4: they match each other alone, and have no
//   wildcards.
// - Elsewhere (MPICH 3) there is no such way: they are usual messages, and all ranks must be there.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <vector>

#include "engine/mpi.hpp"

namespace stretto {

/// One object at a time, and one thread. What was sent to or awaited from a rank that does not answer stays
/// behind in MPI; so it is kept for ever.
class EarlyMessages {
 public:
  EarlyMessages();
  EarlyMessages(const EarlyMessages&) = delete;
  EarlyMessages& operator=(const EarlyMessages&) = delete;
  ~EarlyMessages();

  /// Whether a rank without Stretto takes no notice of them.
  [[nodiscard]] bool are_private() const { return way_ != Way::usual; }

  /// Begins to send a copy. Messages from one rank to another arrive in order.
  void send(int to, const void* data, std::size_t bytes);
  /// Whether the next message from this rank is here, which has exactly so many bytes.
  bool try_receive(int from, void* into, std::size_t bytes);
  /// Whether all that was sent has been received, or need not be waited for.
  bool all_sent();

 private:
  enum class Way { negative_tags, partitioned, usual };
  struct Message {
    std::vector<std::byte> data;
    MPI_Request request{};
  };

  static Way find_way();
  void begin_to_send(Message& message, int to) const;
  [[nodiscard]] bool begin_to_receive(Message& message, int from) const;
  bool has_ended(Message& message) const;
  [[nodiscard]] int tag() const;

  bool* checks_arguments_ = nullptr;  // Open MPI's
  bool checked_before_ = false;
  Way way_ = Way::usual;
  std::list<Message>& sent_;
  std::map<int, Message>& awaited_;
};

}  // namespace stretto
