// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>
#include "mpi/mpi.hpp"

namespace stretto::bench {

/// Some ranks that measure while the others sleep. The first one leads: it says what comes next and takes all
/// times with its own clock, because everything that it times begins and ends on this rank. The others serve
/// it until they are dismissed. Timing begins when all have said that they are ready.
class Team {
 public:
  /// How often a step is repeated: the mean of `count` times is taken, after `before` others.
  struct Row {
    int count = 1;
    int before = 0;
  };
  /// The work of the ranks of a team other than messages: which work, and how many times.
  using Work = std::function<void(int which, int count)>;

  Team(std::vector<int> ranks, int rank);

  const std::vector<int>& ranks() const { return ranks_; }
  bool leads() const { return ranks_.front() == rank_; }
  bool takes_part() const;

  // For the leader. Messages are between the leader and the second rank, except in shifts.

  /// Returns the seconds of a message there and a reply back.
  double round_trips(std::size_t bytes, std::size_t reply_bytes, const Row& row);
  /// Returns the seconds until both have sent and received `messages` messages, all posted at once.
  double exchanges(std::size_t bytes, int messages, const Row& row);
  /// Returns the seconds until each rank has sent a message to the next one and received one from the
  /// previous one.
  double shifts(std::size_t bytes, const Row& row);
  /// Sends `count` messages, up to `window` of them in flight. Each is acknowledged when it has arrived.
  /// Returns the seconds from the first send to each acknowledgement.
  std::vector<double> train(std::size_t bytes, int count, int window);
  /// Returns whether a send ends within `seconds`, in which the receiver posts no receive.
  bool goes_eagerly(std::size_t bytes, double seconds);
  /// Returns the mean seconds of a work that is done `count` times in a row.
  double work(int which, int count);
  /// Ends the others' serve().
  void dismiss();

  // Only for the other ranks.

  void serve();

  // For all ranks of the team.

  void set_work(Work work) { work_ = std::move(work); }
  /// Frees the memory of the messages.
  void release();

 private:
  enum class Task : int { dismiss, round_trips, exchanges, shifts, train, eager, work };
  struct Order {
    Task task;
    Row row;
    int messages;  // in flight at once; or which work
    std::size_t bytes;
    std::size_t reply_bytes;
    double seconds;
  };

  void command(const Order& order);
  void await_order(Order& order) const;
  void say_ready() const;
  void follow(const Order& order);
  void probe_for(double seconds) const;
  void answer_round_trips(const Order& order);
  // These return the time when the timed part began.
  double make_round_trips(const Order& order);
  double make_exchanges(const Order& order);
  double make_shifts(const Order& order);
  void answer_train(const Order& order);
  int partner() const { return ranks_[leads() ? 1 : 0]; }
  bool is_of_pair() const { return rank_ == ranks_[0] || rank_ == ranks_[1]; }
  void reserve(std::size_t sent, std::size_t received);
  MPI_Request send(std::size_t bytes, int tag) const { return send_to(partner(), bytes, tag); }
  MPI_Request receive(std::size_t bytes, int tag, std::size_t slot = 0) {
    return receive_from(partner(), bytes, tag, slot);
  }
  MPI_Request send_to(int rank, std::size_t bytes, int tag) const;
  MPI_Request receive_from(int rank, std::size_t bytes, int tag, std::size_t slot);

  std::vector<int> ranks_;
  int rank_;
  Work work_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
};

}  // namespace stretto::bench
