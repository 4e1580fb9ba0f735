// SPDX-License-Identifier: Apache-2.0
// A rank's messages to the others, without MPI: over TCP. A connection is made when a rank first sends
// something to another one, and carries what that rank sends (sockets/frame.hpp). So a pair has at most two,
// and ranks that never talk have none. Where one connection does not fill the link, a pair has several in
// each direction, which share long messages.
//
// A job fails as a whole. A rank that ends without a farewell, a lost link, or a call that is overdue leave
// messages that can neither end nor be taken back. The rank that notices tells all ranks to which it has
// connections, and these tell others. Ranks keep connections to their neighbours in a tree
// (mpi/own_network.hpp), so whichever rank is lost, all others hear of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sockets/admission.hpp"
#include "sockets/inbox.hpp"
#include "sockets/message.hpp"
#include "sockets/poller.hpp"

namespace stretto {

class Incoming;
class Outgoing;

class Endpoint {
 public:
  using Clock = std::chrono::steady_clock;

  /// `listener` listens at `listens_at`. Throws std::system_error.
  Endpoint(int rank, int ranks, const SipKey& secret, Socket listener, const Address& listens_at);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const Address& listens_at() const { return listens_at_; }

  /// How many connections carry long messages to a rank from now on, of all endpoints of this process: from 1
  /// to most_streams. Each rank may use as many as it likes.
  static void use_streams(int streams);
  [[nodiscard]] static int streams();

  /// Tells where a rank listens. What was sent to it waits until then. A rank that connects tells it, too.
  void set_address(int rank, const Address& address);

  // All of these may be called by any thread.

  /// Begins to send, or to receive, a message, which must be as new.
  void start(Message& message);
  /// Takes a receive back. Returns false if it has ended or is about to.
  bool cancel(Message& receive);
  /// Returns the envelope of the message that such a receive would get now.
  std::optional<Envelope> probe(int source, std::uint64_t context, std::int32_t tag);
  /// Advances all messages as far as possible without waiting. Returns whether anything moved.
  bool progress();
  /// Sleeps until progress() may move something, or another thread calls wake(), but no longer.
  void await(double seconds) const { poller_.await(seconds); }
  void wake() const { poller_.wake(); }

  /// Makes all messages fail, here and on the other ranks, with one line that says why. The memory of
  /// messages is free then. Does nothing if they have failed before.
  void fail(const std::string& reason);
  /// Does so too, unless another rank says within half a second why: a rank that has ended may have heard of
  /// one that was lost before it.
  void fail_late(const std::string& reason);
  /// Returns why nothing works any more, or nullptr. The text stays. All messages have failed then, and
  /// nothing uses their memory.
  [[nodiscard]] const char* failure() const { return failure_.load(std::memory_order_acquire); }
  /// Returns the same while messages fail, too.
  [[nodiscard]] const char* reason() const { return reason_.load(std::memory_order_acquire); }

  /// Takes leave of the other ranks, once all that was sent has left, or nothing of it has for so long.
  void leave(double seconds);
  /// Makes all messages fail, without a word to the other ranks. To be called after leave().
  void close();

 private:
  friend class Connection;
  friend class Incoming;
  friend class Outgoing;

  struct Peer {
    Address address;
    std::unique_ptr<Outgoing> out;
    std::unique_ptr<Incoming> in;
    bool has_left = false;
  };
  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  // With the lock held:
  Outgoing& outgoing(int rank);
  void start_send(Message& message);
  void start_receive(Message& message);
  void deliver(Inbox::Early early, Message& receive);
  void admit(Visitor& visitor);
  void look_at_clock();
  void look_soon();
  void lose(int rank, const std::string& how);
  /// Fails since a rank that has left is waited for.
  void fail_without(int rank);
  void take_farewell(int rank);
  /// Fails if a receive from any rank is posted and nobody is left who may send.
  void look_at_receives_from_any();
  void fail_locked(const std::string& reason);
  void end_all_messages(const std::string& reason);

  class Live;  // all that there are
  /// In a child of fork(), in which nothing of this may be used: closes its copies of the connections, so
  /// that the end of the parent is seen.
  void abandon_in_child();

  class Door;  // the listener, and those who wait in it

  std::mutex mutex_;
  int rank_;
  int ranks_;
  SipKey secret_;
  Address listens_at_;
  Poller poller_;
  Inbox inbox_;
  std::vector<Peer> peers_;
  std::unique_ptr<Door> door_;
  std::vector<int> connected_;  // ranks with an `out`
  std::vector<int> admitted_;   // ranks with an `in`
  int others_;                  // ranks that have not left, but this one
  Clock::time_point next_look_{};
  std::atomic<const char*> reason_{nullptr};
  std::atomic<const char*> failure_{nullptr};
  /// Of whoever reads. What is here is copied once more, so it is short: of a long message the beginning.
  std::vector<std::byte> buffer_;
};

}  // namespace stretto
