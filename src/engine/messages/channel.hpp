// SPDX-License-Identifier: Apache-2.0
// All of Stretto's messages travel over one communicator of its own, a copy of MPI_COMM_WORLD that is made in
// MPI_Init. The collectives of each of the program's communicators get a channel there, which is a range of
// tags.
//
// Stretto does not make a communicator for each of the program's. Making one blocks, which a non-blocking
// collective must not do. (Only MPI_Comm_idup does not block, and it calls the program's attribute
// callbacks.) MPI libraries also have few context ids (some 2000 in MPICH). Agreeing on a channel takes one
// non-blocking allreduce of few bytes, at the first collective of a communicator. Lanes of shared memory
// (transport/node_memory.hpp) are given to communicators along with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/messages/call_resources.hpp"
#include "mpi/mpi.hpp"
#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// The channels of this process. Each rank of MPI_COMM_WORLD owns a share of them, so two agreements never
/// come to the same channel.
class ChannelPool {
 public:
  /// Returns the number of tags of a channel. Once the pool is open, it is the same on all ranks. It is
  /// smaller if the MPI library has few tags for so many ranks.
  [[nodiscard]] int tags() const { return tags_; }
  static int tags_for(int most_tag, int ranks);
  /// Returns the number of tags for tickets: all but the last one, which blocking calls have.
  [[nodiscard]] int tags_of_tickets() const { return tags_ - 1; }

  /// Returns the highest tag that the library gives this rank.
  static int find_most_tag();

  /// Opens the pool. Collective over MPI_COMM_WORLD; `most_tag` is the same on all ranks. Returns one line
  /// with the reason if there can be no channels, or an empty string. All ranks return the same, since they
  /// agree on failures of MPI_Comm_create.
  std::string open(int most_tag);
  /// Takes in the last releases, and closes the pool. Collective over MPI_COMM_WORLD. A job without MPI has
  /// ended by then, and waits for no rank.
  void close();

  [[nodiscard]] MPI_Comm comm() const { return comm_; }

  /// Sets the number of lanes of shared memory that each rank has, which is the same on all ranks.
  void set_lanes(int lanes);
  [[nodiscard]] int lanes() const { return lanes_; }

  /// A set of lanes, one bit for each.
  using LaneSet = std::uint64_t;
  static constexpr int most_lanes = 64;

  /// The contribution of this rank to an agreement: how many channels it has left, one of its own while it
  /// has any, and lanes that are free here.
  struct Offer {
    int left = 0;
    int channel = none;
    LaneSet lanes = 0;
  };
  static constexpr int none = -1;
  Offer offer();
  /// Settles an agreement: a communicator of `ranks` ranks has taken `agreed`. Everything else in `offered`
  /// is free again.
  void settle(const Offer& offered, const Offer& agreed, int ranks);
  /// To be called when this rank's calls on these lanes have ended.
  void release_lanes(LaneSet lanes);
  /// To be called when this rank neither sends nor expects more messages over the channel. The channel's
  /// owner gives it to another communicator when all ranks have released it. Before that, messages of its
  /// last use could match receives of the next.
  void release(int channel);

 private:
  static constexpr int release_tag = 0;  // of channel 0, which no communicator gets

  struct InUse {
    int ranks = 0;  // 0: not yet known
    int released = 0;
  };
  struct Sent {
    int channel;
    MPI_Request request;
  };
  void take_in_last_releases();
  void take_in_releases();
  void remove_sent();
  void count_release(int channel);

  std::mutex mutex_;
  MPI_Comm comm_{};
  int tags_ = 1;
  int rank_ = 0;
  int ranks_ = 1;
  int next_ = 0;  // the next own channel that no communicator has had
  int end_ = 0;
  bool is_open_ = false;
  int lanes_ = 0;
  LaneSet free_lanes_ = 0;
  std::vector<int> returned_;
  std::map<int, InUse> in_use_;  // own
  std::list<Sent> sent_;
  std::vector<int> sent_to_;  // releases, to each rank
  int taken_in_ = 0;
};

extern constinit Immortal<ChannelPool> channel_pool;

/// The tags and lanes of one communicator's collectives. They are taken in the order of calls, which is the
/// same on all ranks, and are reused once the call that had them has ended on this rank. That is sufficient:
/// a rank that starts the next call with these tags has sent all messages of the previous one, and messages
/// of one pair and tag, or lane, arrive in order.
class Channel {
 public:
  enum class State : std::uint8_t { opening, open, refused };

  /// The way in which calls use the channel: one after the other, or each keeps its tags and lanes, and may
  /// be started in any order.
  enum class Use : std::uint8_t { in_order, kept };

  /// Begins to agree on a channel. Collective over `users`, of `ranks` ranks, but waits for none of them.
  Channel(MPI_Comm users, int ranks, Use use = Use::in_order);
  ~Channel();

  /// Checks whether the ranks have agreed. The state is `refused`, on all of them, if none had a channel
  /// left.
  State progress();
  /// Whether the channel may be refused: this rank had none to offer. It is not refused if any rank had one.
  [[nodiscard]] bool may_be_refused() const { return offered_.channel == ChannelPool::none; }
  /// The error of the agreement.
  [[nodiscard]] int error() const { return error_; }
  /// Whether no call has tags or lanes of it.
  [[nodiscard]] bool is_idle();
  /// Returns the lanes that are not free because of this channel, which leaves them to the caller from now
  /// on.
  [[nodiscard]] ChannelPool::LaneSet take_lanes();
  /// To be called if messages of the channel may never end. Then no other communicator gets it.
  void spoil() { is_spoilt_ = true; }
  [[nodiscard]] bool is_spoilt() const { return is_spoilt_; }

  /// Takes tags for one call, and a lane for each of its segments in flight as far as there are lanes.
  /// Thread-safe, but the caller must keep the order of calls.
  struct Ticket {
    std::uint64_t first = 0;
    std::size_t width = 0;
    std::uint64_t first_lane = 0;
    std::size_t lanes = 0;
    std::size_t connections_from = CallResources::no_connections;
    bool may_begin = false;
  };
  Ticket take(std::size_t width, std::size_t in_flight);
  Ticket take(std::size_t width) { return take(width, width); }
  /// Returns the resources of blocking calls with one segment in flight, once the channel is open. They need
  /// no ticket: each ends, on each rank, before the next one begins. So a rank may carry one out in another
  /// way than other ranks.
  [[nodiscard]] CallResources blocking_resources() const;
  /// Whether no earlier call has these tags and lanes any more.
  [[nodiscard]] bool may_begin(Ticket& ticket);
  /// Returns the resources of the call, once the channel is open.
  [[nodiscard]] CallResources resources(const Ticket& ticket) const;
  void end(const Ticket& ticket);
  /// From now on, connections carry messages between nodes of `from` bytes or more. To be called on all ranks
  /// at the same place among calls.
  void use_connections(std::size_t from) { connections_from_.store(from, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t connections_from() const {
    return connections_from_.load(std::memory_order_relaxed);
  }
  /// Returns the channel's number, once it is open. It is unique among open channels, and the same on all
  /// ranks.
  [[nodiscard]] int number() const { return channel_; }
  /// Whether `width` tags were never taken. For calls that keep their tags, such as persistent ones.
  [[nodiscard]] bool has_fresh(std::size_t width);

 private:
  [[nodiscard]] ChannelPool::LaneSet lanes() const;
  [[nodiscard]] std::uint64_t first_for(std::size_t width) const;
  [[nodiscard]] bool is_free(const Ticket& ticket) const;
  [[nodiscard]] std::size_t lanes_of(const Ticket& ticket) const;

  SpinLock lock_;
  int ranks_;
  Use use_;
  ChannelPool::Offer offered_;
  /// The values that the ranks reduce: the channel of the rank that has most left, and for each lane whether
  /// it is not free on some rank.
  std::vector<std::int64_t> own_;
  std::vector<std::int64_t> greatest_;
  MPI_Request request_{};
  std::atomic<State> state_{State::opening};
  std::atomic<bool> is_spoilt_{false};
  bool has_given_lanes_ = false;
  std::atomic<std::size_t> connections_from_{CallResources::no_connections};
  int error_ = MPI_SUCCESS;
  int channel_ = ChannelPool::none;
  std::int8_t blocking_lane_ = CallResources::none;
  std::vector<std::int8_t> lanes_;  // of other calls, in turn
  std::uint64_t next_ = 0;
  std::uint64_t next_lane_ = 0;
  struct Taken {
    std::uint64_t first;
    std::uint64_t first_lane;
    bool ended;
  };
  std::deque<Taken> taken_;  // the oldest one is still in use
};

/// Keeps a channel that is no longer needed until its ranks have agreed on it. Until then the MPI library
/// writes to it, and its number is unknown, so it cannot be released.
void keep_until_open(std::shared_ptr<Channel> channel);
/// Waits until all channels that are kept so are open. All ranks must have begun to agree on them. To be
/// called before the pool is closed.
void wait_for_opening_channels();

}  // namespace stretto
