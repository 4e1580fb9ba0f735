// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "engine/call.hpp"
#include "engine/mpi.hpp"

namespace stretto {

/// Where an execution stands in one of its segments, and whose messages it waits for there.
struct SegmentState {
  std::size_t segment = 0;
  int round = 0;
  std::vector<int> receives_from;  // ranks of the collective's communicator
  std::vector<int> sends_to;
};

/// Is told of every step of an execution (STRETTO_TRACE). A flight is a place for one segment at a time.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  virtual void segment_begins(std::size_t flight, std::size_t segment) = 0;
  virtual void round_ends(std::size_t flight, int round) = 0;
  virtual void segment_ends(std::size_t flight) = 0;
};

/// The one object behind the three faces of a collective: the blocking call starts it and makes progress
/// until it has ended, the non-blocking one starts it, the persistent one keeps it and starts it again and
/// again. It carries out one call at a time. After an error it goes on until all of its messages have ended,
/// so that no other rank waits for one in vain. If it gave up before that, it must not be used again, and be
/// destroyed only when MPI no longer moves its messages: best never.
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;

  /// Tags that a call needs: so many that are no other call's, from when it starts until it has ended, on
  /// each rank.
  [[nodiscard]] virtual std::size_t tags(const Call& call) const = 0;

  /// Posts the first messages. Throws std::bad_alloc, before anything is posted.
  virtual void start(const Call& call, int first_tag) = 0;

  /// Starts a call that has failed on this rank already: other ranks learn of it as far as they can, and no
  /// memory of the call is touched. Throws std::bad_alloc, before anything is posted.
  virtual void start_failed(const Call& call, int first_tag, int error) = 0;

  /// Takes the call as far as it gets without waiting; whether anything happened.
  virtual bool progress() = 0;

  /// Also after an error.
  [[nodiscard]] virtual bool ended() const = 0;

  /// Ends it at once, where the job ends by its error.
  virtual void give_up() {}
  /// Whether it ended before its messages had: MPI may still move them.
  [[nodiscard]] bool gave_up() const { return gave_up_; }

  /// Of segments that are under way.
  [[nodiscard]] virtual std::vector<SegmentState> segment_states() const { return {}; }

  [[nodiscard]] int error() const { return error_; }
  void observe(Observer* observer) { observer_ = observer; }

 protected:
  void check(int code) {
    if (code != MPI_SUCCESS && error_ == MPI_SUCCESS) error_ = code;
  }
  void forget_error() { error_ = MPI_SUCCESS; }
  Observer* observer_ = nullptr;  // nullptr: nobody looks
  bool gave_up_ = false;

 private:
  int error_ = MPI_SUCCESS;
};

}  // namespace stretto
