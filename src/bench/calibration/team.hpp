// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace stretto::bench {

/// Some ranks that measure while the others sleep. The first one leads: it says what comes next and takes the
/// times, all by its own clock, as whatever it times begins and ends at itself. The others serve it until
/// they are dismissed. What is timed begins when all have said that they are ready.
class Team {
 public:
  /// What the ranks of a team do together that is more than messages: which, and how many times.
  using Work = std::function<void(int which, int count)>;

  Team(std::vector<int> ranks, int rank);

  const std::vector<int>& ranks() const { return ranks_; }
  bool leads() const { return ranks_.front() == rank_; }
  bool takes_part() const;

  // For the leader. Messages go between it and the second rank.

  /// Seconds of a message there and a reply back, the mean of `count` in a row.
  double round_trips(std::size_t bytes, std::size_t reply_bytes, int count);
  /// Seconds until both have sent and received `messages` messages, all posted at once; the mean of `count`
  /// such exchanges in a row.
  double exchanges(std::size_t bytes, int messages, int count);
  /// Sends `count` messages, up to `window` of them at once, each of which is acknowledged when it is there.
  /// Seconds from the first send to each acknowledgement.
  std::vector<double> train(std::size_t bytes, int count, int window);
  /// Whether a send ends within so many seconds in which the receiver posts no receive.
  bool goes_eagerly(std::size_t bytes, double seconds);
  /// Seconds of one time, the mean of `count` in a row.
  double work(int which, int count);
  /// The end of the others' serve().
  void dismiss();

  // For the others.

  void serve();

  // For all of the team.

  void set_work(Work work) { work_ = std::move(work); }
  /// Gives back the memory of the messages.
  void release();

 private:
  enum class Task : int { dismiss, round_trips, exchanges, train, eager, work };
  struct Order {
    Task task;
    int count;
    int messages;  // at once; or which work
    std::size_t bytes;
    std::size_t reply_bytes;
    double seconds;
  };

  void command(const Order& order);
  void await_order(Order& order) const;
  void say_ready() const;
  void follow(const Order& order);
  void look_for(double seconds) const;
  void answer_round_trips(const Order& order);
  void make_exchanges(const Order& order);
  void answer_train(const Order& order);
  int partner() const { return ranks_[leads() ? 1 : 0]; }
  void reserve(std::size_t sent, std::size_t received);
  MPI_Request send(std::size_t bytes, int tag) const;
  MPI_Request receive(std::size_t bytes, int tag, std::size_t slot = 0);

  std::vector<int> ranks_;
  int rank_;
  Work work_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
};

}  // namespace stretto::bench
