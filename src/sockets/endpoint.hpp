// SPDX-License-Identifier: Apache-2.0
// Sends a rank's messages to the other ranks over TCP, without MPI. A connection is made when a rank first
// sends something to another one, and carries that rank's messages (sockets/frame.hpp). So a pair has at most
// two connections, and ranks that never send anything have none. Where one connection does not fill the link,
// a pair has several in each direction, which share long messages.
//
// A failure has a scope: a rank takes part no longer, in one group or in anything. It concerns the messages
// that need this rank, and nothing else. What the rank has sent before still arrives. Whoever notices that a
// rank has ended tells all ranks to which it has connections, and these tell others. Ranks keep connections
// to their neighbours in a tree (parent_in_start), so news reaches all. When the parent of a rank has ended,
// the rank connects to the next ancestor, or to the lowest rank that is left. A rank that waits for another
// one without a connection makes one, and so notices its end itself.
//
// Nodes may be joined by several links, the rails (sockets/rails.hpp). Connections to a rank are spread over
// them, and go over another one when theirs carries nothing any more.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sockets/admission.hpp"
#include "sockets/census.hpp"
#include "sockets/inbox.hpp"
#include "sockets/limit_clock.hpp"
#include "sockets/message.hpp"
#include "sockets/poller.hpp"
#include "sockets/rails.hpp"

namespace stretto {

class Incoming;
class Outgoing;

/// Returns a copy of the text, cut to longest_reason, that is never freed: it may be asked for at any time.
const char* keep_reason(std::string_view text);

/// The group of a message. The two contexts that differ in the lowest bit only are of one group.
constexpr std::uint64_t group_of(std::uint64_t context) {
  return context & ~std::uint64_t{1};
}

/// A rank takes part no longer.
struct News {
  static constexpr std::uint64_t everything = 0;  // in place of a group

  int rank = 0;
  std::uint64_t group = everything;
  std::uint64_t from = 0;  // the first call of the group in which it takes no part
  const char* reason = nullptr;
};

/// Returns the parent of a rank in the tree over which the ranks of a job meet: that rank without its lowest
/// bit.
constexpr int parent_in_start(int rank) {
  return rank & (rank - 1);
}

class Endpoint {
 public:
  using Clock = LimitClock;

  /// `listener` listens at `listens_at`. Throws std::system_error.
  Endpoint(int rank, int ranks, const SipKey& secret, Socket listener, const Address& listens_at);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const Address& listens_at() const { return rails_.front(); }
  /// Listens at the address of one more rail, too; of most_rails in all. Ranks have their rails in the same
  /// order. To be called before other ranks know this one.
  void add_rail(Socket listener, const Address& listens_at);

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
  /// Fails a message, whose memory is free then. If its other end has it already, part of it may be lost
  /// there.
  void abort(Message& message, const char* reason);
  /// Returns the envelope of the message that a receive with these arguments would get now.
  std::optional<Envelope> probe(int source, std::uint64_t context, std::int32_t tag);
  /// Advances all messages as far as possible without waiting. Returns whether anything moved.
  bool progress();
  /// Sleeps until progress() may move something or another thread calls wake(), but no longer than `seconds`.
  void await(double seconds) const { poller_.await(seconds); }
  void wake() const { poller_.wake(); }

  /// Ends this rank's part in everything: all of its messages fail, and the other ranks hear why. The memory
  /// of messages is free then. Does nothing if they have failed before.
  void fail(const std::string& reason);
  /// Returns why nothing works any more on this rank, or nullptr. If it is set, all messages have failed, and
  /// nothing uses their memory.
  [[nodiscard]] const char* failure() const { return failure_.load(std::memory_order_acquire); }

  /// Ends this rank's part in the calls of a group from number `from` on, and in all of the group's messages.
  /// The other ranks hear why.
  void end_in(std::uint64_t group, std::uint64_t from, const std::string& reason);
  /// Notes that a rank has ended. If this rank does not hear within half a second how, `how` says it: a rank
  /// that has ended may have told why.
  void note_ended(int rank, const std::string& how);
  /// Waits for half a second at most until there is any news.
  void await_any_news();
  /// Ends this rank's part in a group (News::everything: in all), from its call 0 on, as soon as one of the
  /// `members` has ended, or after `seconds`; unless spare() is called before. While a group is made, each
  /// rank may wait for any other one, which waits for the one that has ended.
  void limit(std::uint64_t group, double seconds, const std::string& reason, std::vector<int> members = {});
  void spare(std::uint64_t group);

  /// Takes part in a census (sockets/census.hpp) of these ranks, this one among them.
  void begin_census(const CensusId& id, const std::set<int>& members, const CensusValue& own);
  struct CensusState {
    std::optional<CensusValue> result;
    Census::Awaited awaited;
    bool is_excluded = false;  // the others have taken this rank for ended
  };
  CensusState census_state(const CensusId& id);
  /// Takes those for ended who have not come to a census by now.
  void give_up_waiting(const CensusId& id);
  /// Ends the part that another rank, which lives, takes in a group.
  void exclude(std::uint64_t group, int rank, const std::string& reason);

  /// Changes with each piece of news. While it is 0, no rank has ended in anything.
  [[nodiscard]] std::uint64_t news() const { return news_.load(std::memory_order_acquire); }
  /// Returns the end that concerns the most calls of a group; nothing if there is none.
  std::optional<News> end_of(std::uint64_t group);
  /// Returns why a rank takes part in nothing any more, or nullptr.
  const char* why_ended(int rank);

  /// Says farewell to the other ranks. A reason that is not empty is news for all of them. Waits until all
  /// messages have left, or until none of them has moved for `seconds`.
  void leave(double seconds, const std::string& reason = {});
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
    const char* gone = nullptr;  // why it takes part in nothing any more
    bool has_left = false;       // it has said farewell
    bool is_news = false;        // its end concerns others, who may wait for ranks that wait for it
    bool has_failed = false;     // it has told so itself, so nothing more comes from it
    RailSet out_of_order;        // of its node, as it says
  };
  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  // Called with the lock held:
  Outgoing& outgoing(int rank);
  void start_send(Message& message);
  void start_receive(Message& message);
  void deliver(Inbox::Early early, Message& receive);
  void admit(Visitor& visitor);
  void look_at_clock();
  [[nodiscard]] Clock::duration next_look() const;
  void look_soon();
  void lose(int rank, const std::string& how);
  /// Loses a rank that lives, and closes all connections with it, so that it sees that.
  void part_from(int rank, const std::string& how);
  void take_farewell(int rank, const char* reason, bool is_news);
  /// Takes what rank `from` has told.
  void take_news(const News& news, int from);
  void note_gone(int rank, const char* reason);
  void end_in_locked(const News& news);
  /// Called when the kernel may have changed what it says of this node's rails.
  void look_at_rails();
  void take_rails(int rank, RailSet out_of_order);
  /// The rails over which no connection with a rank can be.
  [[nodiscard]] RailSet out_of_order(int rank) { return out_of_order_ | peer(rank).out_of_order; }
  Census& census(const CensusId& id);
  void take_word(const CensusId& id, const Census::Word& word, int from);
  void say_words(const CensusId& id, Census& census);
  void tell(const News& news);
  void tell_all(Outgoing& to);
  /// Whether a rank has ended in another way than by leaving.
  [[nodiscard]] bool has_bad_news();
  /// Whether a connection to a rank or from it is worth to be made again.
  [[nodiscard]] bool is_needed(int rank) { return failure() == nullptr && peer(rank).gone == nullptr; }
  /// Returns why a rank is gone, once it is.
  [[nodiscard]] const char* why_gone(int rank) { return peer(rank).gone; }
  /// Returns why a message cannot begin any more, or nullptr.
  const char* why_never(const Message& message);
  /// Connects to ranks that this one waits for and has no connection with, so that it notices their end, and
  /// to the rank that takes the place of a parent that has ended.
  void keep_in_touch();
  template <typename Known>
  void await_news(const Known& is_known);
  [[nodiscard]] const char* why_none_is_left() const;
  /// Fails receives from any rank if no rank is left that may send.
  void look_at_receives_from_any();
  void look_at_limits(Clock::time_point now);
  /// Does what they say if this rank has ended.
  void look_at_members(int ended);
  void fail_messages(const Which& which, const char* reason);
  void fail_locked(const char* reason);

  class Live;  // all endpoints
  /// Closes the copies of the connections in a child of fork(), so that the parent's end is seen. The child
  /// may not use the endpoint.
  void abandon_in_child();

  class Door;       // the listeners and their visitors
  class RailWatch;  // tells what the kernel says of rails

  std::mutex mutex_;
  int rank_;
  int ranks_;
  SipKey secret_;
  std::vector<Address> rails_;  // where it listens
  RailSet out_of_order_;        // of these, as the kernel says
  Poller poller_;
  Inbox inbox_;
  std::vector<Peer> peers_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<RailWatch> rail_watch_;  // if there are several rails
  std::vector<int> connected_;             // ranks with an `out`
  std::vector<int> admitted_;              // ranks with an `in`
  int others_;                             // ranks that are not gone, except this one
  Clock::time_point next_look_{};
  std::map<std::uint64_t, std::vector<News>> ends_;  // by groups
  std::map<CensusId, Census> censuses_;
  std::deque<CensusId> begun_;  // of these, in order
  struct Limit {
    Clock::time_point until;
    std::string reason;
    std::vector<int> members;
  };
  std::map<std::uint64_t, Limit> limits_;  // by groups
  std::atomic<std::uint64_t> news_{0};
  std::atomic<const char*> failure_{nullptr};
  /// Used by whichever connection reads. Its bytes are copied once more, so it is short: only the beginning
  /// of a long message gets here.
  std::vector<std::byte> buffer_;
};

}  // namespace stretto
