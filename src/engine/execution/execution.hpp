// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/data/call.hpp"
#include "engine/messages/call_resources.hpp"
#include "engine/messages/wrong_length.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// The state of an execution in one of its segments, and the ranks it waits for there.
struct SegmentState {
  std::size_t segment = 0;
  int round = 0;
  std::vector<int> receives_from;  // ranks of the collective's communicator
  std::vector<int> sends_to;
};

/// Observes every step of an execution (STRETTO_TRACE). A flight carries one segment at a time.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  virtual void segment_begins(std::size_t flight, std::size_t segment) = 0;
  virtual void round_ends(std::size_t flight, int round) = 0;
  virtual void segment_ends(std::size_t flight) = 0;
  /// The input that the flight reads in its next round has been copied to the host. The flight has waited for
  /// it since its last step.
  virtual void input_arrives(std::size_t /*flight*/) {}
  /// The rank reduces, inside a round. A begin without an end means nothing: no operand had arrived.
  virtual void reduction_begins(std::size_t /*flight*/) {}
  virtual void reduction_ends(std::size_t /*flight*/) {}
};

/// The way in which an execution takes the input of a call that is staged (engine/data/segment_copies.hpp).
enum class StagedInput : std::uint8_t {
  at_start,     // all of it must be there
  awaited,      // all of it is under way, and the execution waits for it
  by_segments,  // the execution says what is to be copied when
};

/// Carries out one collective call at a time, for all three forms: a blocking call starts it and makes
/// progress until it has ended, a non-blocking one starts it, a persistent one keeps it and starts it again
/// and again. After an error it goes on until all of its messages have ended, so that no other rank waits for
/// a message that never comes. If it gave up before that, it must not be used again. It may be destroyed only
/// when MPI no longer moves its messages, so it is best never destroyed.
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;

  /// Returns how many tags a call needs. On each rank, no other call may use these tags, or the call's lanes,
  /// from its start to its end.
  [[nodiscard]] virtual std::size_t tags(const Call& call) const = 0;

  /// Posts the first messages. Throws std::bad_alloc, before anything is posted.
  virtual void start(const Call& call, const CallResources& resources) = 0;

  /// Starts a call that has already failed on this rank. Other ranks learn of it if possible, and no memory
  /// of the call is touched. Throws std::bad_alloc, before anything is posted.
  virtual void start_failed(const Call& call, const CallResources& resources, int error) = 0;

  [[nodiscard]] virtual StagedInput staged_input() const { return StagedInput::at_start; }

  /// Whether only the MPI library would touch the buffers of a call. They need not be staged for a library
  /// that takes device memory.
  [[nodiscard]] virtual bool leaves_buffers_to_library(const Call& /*call*/) const { return false; }

  /// Advances the call as far as possible without waiting. Returns whether anything happened.
  virtual bool progress() = 0;

  /// Whether the call has ended, with or without an error.
  [[nodiscard]] virtual bool ended() const = 0;

  /// Ends the call at once, if its error ends the job or the communicator.
  virtual void give_up() {}
  /// Returns a number that changes whenever bytes of a message in flight have moved, as far as that is known.
  [[nodiscard]] virtual std::uint64_t steps() const { return 0; }
  /// Whether the call ended before its messages, so that MPI may still move them.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  /// Whether the call's memory must stay, since the MPI library may still use it.
  [[nodiscard]] virtual bool leaves_memory() const { return gave_up_; }

  /// Returns the rank of the collective's communicator that has ended while the call needed it, or -1. The
  /// execution has given up then.
  [[nodiscard]] int lost_peer() const { return lost_peer_; }

  /// Returns the first message of another length than expected. Its peer is a rank of the collective's
  /// communicator.
  [[nodiscard]] const std::optional<WrongLength>& wrong_length() const { return wrong_length_; }

  /// Returns the state of each segment in flight.
  [[nodiscard]] virtual std::vector<SegmentState> segment_states() const { return {}; }

  [[nodiscard]] int error() const { return error_; }
  void observe(Observer* observer) { observer_ = observer; }

 protected:
  void check(int code) {
    if (code != MPI_SUCCESS && error_ == MPI_SUCCESS) error_ = code;
  }
  void forget_error() {
    error_ = MPI_SUCCESS;
    wrong_length_.reset();
  }
  Observer* observer_ = nullptr;  // nullptr: not observed
  bool gave_up_ = false;
  int lost_peer_ = -1;  // see lost_peer()
  std::optional<WrongLength> wrong_length_;

 private:
  int error_ = MPI_SUCCESS;
};

}  // namespace stretto
