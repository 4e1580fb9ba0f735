// SPDX-License-Identifier: Apache-2.0
// Sends a rank's messages to the other ranks over TCP, without MPI. A connection is made when a rank first
// sends something to another one, and carries that rank's messages (sockets/frame.hpp). So a pair has at most
// two connections, and ranks that never send anything have none. Where one connection does not fill the link,
// a pair has several in each direction, which share long messages.
//
// A job fails as a whole. After a rank has ended without a farewell, a link is lost, or a call is overdue,
// there are messages that can neither end nor be taken back. The rank that notices tells all ranks to which
// it has connections, and these tell others. Ranks keep connections to their neighbours in a tree
// (mpi/own_network.hpp), so all others hear of it, whichever rank is lost.
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

  /// Sets how many connections carry long messages to a rank from now on, for all endpoints of this process:
  /// from 1 to most_streams. Ranks need not use the same number.
  static void use_streams(int streams);
  [[nodiscard]] static int streams();

  /// Sets the address at which a rank listens. Messages to that rank wait until then. A rank that connects
  /// also sends its address.
  void set_address(int rank, const Address& address);

  // Any thread may call all of these.

  /// Begins to send or to receive a message, which must be as new.
  void start(Message& message);
  /// Takes a receive back. Returns false if it has ended or is about to.
  bool cancel(Message& receive);
  /// Returns the envelope of the message that a receive with these arguments would get now.
  std::optional<Envelope> probe(int source, std::uint64_t context, std::int32_t tag);
  /// Advances all messages as far as possible without waiting. Returns whether anything moved.
  bool progress();
  /// Sleeps until progress() may move something or another thread calls wake(), but no longer than `seconds`.
  void await(double seconds) const { poller_.await(seconds); }
  void wake() const { poller_.wake(); }

  /// Makes all messages fail, here and on the other ranks, with one line that says why. The memory of
  /// messages is free then. Does nothing if they have failed before.
  void fail(const std::string& reason);
  /// Does the same, unless another rank says within half a second why messages fail: a rank that has ended
  /// may have heard of another one that was lost before.
  void fail_late(const std::string& reason);
  /// Returns why nothing works any more, or nullptr. The text stays valid. If it is set, all messages have
  /// failed, and nothing uses their memory.
  [[nodiscard]] const char* failure() const { return failure_.load(std::memory_order_acquire); }
  /// Returns the same, but already while messages are being failed.
  [[nodiscard]] const char* reason() const { return reason_.load(std::memory_order_acquire); }

  /// Says farewell to the other ranks. Waits until all messages have left, or until none of them has moved
  /// for `seconds`.
  void leave(double seconds);
  /// Makes all messages fail without telling the other ranks. To be called after leave().
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

  // Called with the lock held:
  Outgoing& outgoing(int rank);
  void start_send(Message& message);
  void start_receive(Message& message);
  void deliver(Inbox::Early early, Message& receive);
  void admit(Visitor& visitor);
  void look_at_clock();
  void look_soon();
  void lose(int rank, const std::string& how);
  /// Fails because this rank waits for one that has left.
  void fail_without(int rank);
  void take_farewell(int rank);
  /// Fails if a receive from any rank is posted and no rank is left that may send.
  void look_at_receives_from_any();
  void fail_locked(const std::string& reason);
  void end_all_messages(const std::string& reason);

  class Live;  // all endpoints
  /// Closes the copies of the connections in a child of fork(), so that the parent's end is seen. The child
  /// may not use the endpoint.
  void abandon_in_child();

  class Door;  // the listener and its visitors

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
  int others_;                  // ranks that have not left, except this one
  Clock::time_point next_look_{};
  std::atomic<const char*> reason_{nullptr};
  std::atomic<const char*> failure_{nullptr};
  /// Used by whichever connection reads. Its bytes are copied once more, so it is short: only the beginning
  /// of a long message gets here.
  std::vector<std::byte> buffer_;
};

}  // namespace stretto
