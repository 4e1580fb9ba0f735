// SPDX-License-Identifier: Apache-2.0
// Where Stretto's messages travel: all over one communicator of its own, a copy of MPI_COMM_WORLD that is
// made in MPI_Init. The collectives of each of the program's communicators get a channel there, a range of
// tags.
//
// Why not a communicator for each of the program's: to make one blocks (only MPI_Comm_idup does not, and it
// calls the program's attribute callbacks), which a non-blocking collective must not; and the context ids of
// MPI libraries are few (some 2000 in MPICH). To agree on a channel takes one non-blocking allreduce of eight
// bytes, at the first collective of a communicator.
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

#include "engine/mpi.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// The channels of this process: each rank of the world owns its share, so that no two agreements can ever
/// come to the same one.
class ChannelPool {
 public:
  /// Tags of a channel, on all ranks alike once it is open: fewer where tags are few for so many ranks.
  [[nodiscard]] int tags() const { return tags_; }
  static int tags_for(int most_tag, int ranks);

  /// The highest tag that the library gives this rank.
  static int find_most_tag();

  /// Collective over MPI_COMM_WORLD; `most_tag` is the same on all ranks. Returns one line that says why
  /// there can be none, or an empty one; on all ranks alike, as what MPI_Comm_create lacks is agreed upon.
  std::string open(int most_tag);
  /// Collective over MPI_COMM_WORLD: takes in the last releases.
  void close();

  [[nodiscard]] MPI_Comm comm() const { return comm_; }

  /// What this rank brings into an agreement: how many it has left, and one of them, its own as long as that
  /// lasts; in the layout of MPI_2INT.
  struct Offer {
    int left = 0;
    int channel = none;
  };
  static constexpr int none = -1;
  Offer offer();
  /// `agreed` has been taken by a communicator of `ranks` ranks; what was offered in vain comes back.
  void settle(const Offer& offered, int agreed, int ranks);
  /// This rank sends and expects no more messages over it. Its owner gives it away again when all ranks have
  /// said so: sooner, messages of its last use could meet receives of the next.
  void release(int channel);

 private:
  static constexpr int release_tag = 0;  // of channel 0, which nobody gets

  struct InUse {
    int ranks = 0;  // 0: not known yet
    int released = 0;
  };
  struct Sent {
    int channel;
    MPI_Request request;
  };
  void take_in_releases();
  void remove_sent();
  void count_release(int channel);

  std::mutex mutex_;
  MPI_Comm comm_{};
  int tags_ = 1;
  int rank_ = 0;
  int ranks_ = 1;
  int next_ = 0;  // own, and never given away
  int end_ = 0;
  bool is_open_ = false;
  std::vector<int> returned_;
  std::map<int, InUse> in_use_;  // own
  std::list<Sent> sent_;
  std::vector<int> sent_to_;  // releases, to each rank
  int taken_in_ = 0;
};

ChannelPool& channel_pool();

/// The tags of one communicator's collectives. They are taken in the order of calls, which is the same on all
/// ranks, and serve again when the call that had them has ended here. That is enough: whoever starts the next
/// call with these tags has sent all messages of the former before, and messages of one pair and tag arrive
/// in order.
class Channel {
 public:
  enum class State : std::uint8_t { opening, open, refused };

  /// Begins to agree on it. Collective over `users`, of `ranks` ranks, but waits for none of them.
  Channel(MPI_Comm users, int ranks);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// Looks whether the ranks have agreed; `refused`, on all of them, if none had a channel left.
  State progress();
  /// Whether that may be: this rank had none. Where any rank had one, none is refused.
  [[nodiscard]] bool may_be_refused() const { return offered_.channel == ChannelPool::none; }
  /// Of the agreement.
  [[nodiscard]] int error() const { return error_; }
  /// Messages of it may never end: nobody else gets it.
  void spoil() { is_spoilt_ = true; }

  /// Tags for one call. Thread-safe, but the order of calls is the caller's to keep.
  struct Ticket {
    std::uint64_t first = 0;
    std::size_t width = 0;
    bool may_begin = false;
  };
  Ticket take(std::size_t width);
  /// Whether no earlier call has these tags any more.
  [[nodiscard]] bool may_begin(Ticket& ticket);
  [[nodiscard]] int tag(const Ticket& ticket) const {
    return channel_ * channel_pool().tags() +
           static_cast<int>(ticket.first % static_cast<std::uint64_t>(channel_pool().tags()));
  }
  void end(const Ticket& ticket);
  /// When it is open: of all open ones, on all ranks alike.
  [[nodiscard]] int number() const { return channel_; }
  /// Whether so many tags are left that were never taken: for calls that keep theirs, as persistent ones do.
  [[nodiscard]] bool has_fresh(std::size_t width);

 private:
  [[nodiscard]] std::uint64_t first_for(std::size_t width) const;
  [[nodiscard]] bool is_free(const Ticket& ticket) const;

  SpinLock lock_;
  int ranks_;
  ChannelPool::Offer offered_;
  ChannelPool::Offer agreed_;
  MPI_Request request_{};
  std::atomic<State> state_{State::opening};
  std::atomic<bool> is_spoilt_{false};
  int error_ = MPI_SUCCESS;
  int channel_ = ChannelPool::none;
  std::uint64_t next_ = 0;
  struct Taken {
    std::uint64_t first;
    bool ended;
  };
  std::deque<Taken> taken_;  // the oldest has not ended
};

/// Keeps a channel that nobody needs any more until its ranks have agreed on it: so long the library writes
/// to it, and only then is it known what to release.
void keep_until_open(std::shared_ptr<Channel> channel);
/// All ranks have begun to agree on all of them. To be called before the pool is closed.
void wait_for_opening_channels();

}  // namespace stretto
