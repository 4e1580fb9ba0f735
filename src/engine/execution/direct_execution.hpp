// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/data/call.hpp"
#include "engine/execution/direct_plan.hpp"
#include "engine/messages/memory_transfer.hpp"
#include "engine/messages/neighbours.hpp"
#include "schedule/schedule.hpp"
#include "transport/node_memory.hpp"

namespace stretto {

class DirectExecution;

/// Decides what a thread does when it has looked for a while, and nothing has arrived.
class Waiting {
 public:
  Waiting() = default;
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  virtual ~Waiting() = default;
  /// Returns false if nothing will arrive any more.
  virtual bool go_on(const DirectExecution& waits) = 0;
  /// The number of looks before the first wait.
  [[nodiscard]] virtual int looks() const = 0;
};

/// Carries out blocking calls whose messages all go through shared memory. It runs them segment by segment,
/// from beginning to end, in the thread that makes them, without MPI. A ScheduleExecution uses MPI, too, and
/// another thread can take it up at every step, which takes half a microsecond more. Both write the same
/// messages, so a rank may use one where another rank uses the other.
class DirectExecution {
 public:
  /// Whether all messages of this rank may go through memory.
  static bool serves(const Schedule& schedule, const Neighbours& neighbours);
  /// Whether elements need no function of MPI, and fit into a line.
  static bool serves(const Element& element) {
    return element.contiguous() && may_cross_memory(element) && !exceeds_line(element);
  }

  DirectExecution(Schedule schedule, Neighbours neighbours);
  DirectExecution(const DirectExecution&) = delete;
  DirectExecution& operator=(const DirectExecution&) = delete;

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  /// Prepares for calls that have the shape of this one: all but the addresses of its buffers. A message with
  /// borders has one segment. `lane` is for calls that follow one another, and is the same on all ranks.
  /// Throws std::bad_alloc.
  void set(const Call& call, std::size_t segments, int lane);
  /// The writes that go past the caches: those into the store, for other ranks, and those into the program's
  /// output.
  struct Streams {
    bool into_store = false;
    bool into_output = false;
  };
  /// Carries out a call of that shape. Returns an MPI error code, or `gave_up`: then lane and execution
  /// must not be used again.
  int run(const void* input, void* output, Streams streams, Waiting& waiting);
  static constexpr int gave_up = -1;

  /// Returns the first message of another length than expected. Its peer is a place.
  [[nodiscard]] const std::optional<WrongLength>& wrong_length() const { return wrong_length_; }

  /// Returns the place of a rank for which the call waits and whose process has ended, or Neighbours::none.
  [[nodiscard]] int find_ended_peer() const;

 private:
  using Step = DirectPlan::Step;
  /// The progress of a step's message.
  struct Progress {
    bool has_ended = false;
    MemoryTransfer transfer{};  // unless it is folded, or fits into a line
    // The part of a folded message that has arrived and has not been processed.
    const std::byte* data = nullptr;
    std::size_t count = 0;  // elements
    bool is_last = false;
  };

  [[nodiscard]] bool has_shape(const Call& call, std::size_t segments, int lane) const;
  bool run_segment(Waiting& waiting);
  bool run_round(const DirectPlan::Round& round, Waiting& waiting);
  bool look(const DirectPlan::Round& round, std::size_t& unfinished);
  void begin(const Step& step, Progress& progress);
  bool advance(const Step& step, Progress& progress);
  bool send_line(const Step& step, Progress& progress);
  bool receive_line(const Step& step, Progress& progress);
  int accept(const Step& step, std::size_t first, std::size_t count, const std::byte* data);
  void compute(const Step& step);
  bool look_for_fold(const DirectPlan::Round& round);
  bool look_for_piece(const Step& step, Progress& progress);
  void fold(const DirectPlan::Round& round, std::size_t count);
  [[nodiscard]] std::byte* at(const DirectPlan::Operand& operand, const DirectPlan::Round& round) const;
  void drop_piece(const Step& step, Progress& progress);
  void drop_pieces(const DirectPlan::Round& round);

  void check(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }
  [[nodiscard]] bool has_failed() const { return error_ != MPI_SUCCESS; }
  [[nodiscard]] std::size_t bytes_of(const Step& step) const {
    return step.count * static_cast<std::size_t>(shape_.element.extent);
  }
  [[nodiscard]] std::byte* at(const DirectPlan::Offset& place) const {
    return buffers_.at(static_cast<std::size_t>(place.buffer)) + place.offset;
  }
  [[nodiscard]] std::span<const int> targets(const Step& step) const {
    return std::span(plan_->targets).subspan(step.first_target, step.target_count);
  }
  [[nodiscard]] std::span<const NodeMemory::End> ends(const Step& step) const {
    return std::span(*ends_).subspan(step.first_target, step.target_count);
  }

  Schedule schedule_;
  Neighbours neighbours_;
  NodeMemory& memory_;

  // The shape:
  Call shape_;
  std::vector<std::size_t> borders_;
  std::vector<std::size_t> output_borders_;
  std::size_t segments_ = 0;
  int lane_ = 0;
  /// Segments have two lengths at most. The second plan is for the shorter ones.
  std::array<DirectPlan, 2> plans_;
  std::array<std::vector<NodeMemory::End>, 2> all_ends_;  // [plan][target]
  std::vector<std::byte> scratch_;
  std::vector<std::byte> temporaries_;

  // The call:
  const DirectPlan* plan_ = nullptr;
  const std::vector<NodeMemory::End>* ends_ = nullptr;
  std::array<std::byte*, 3> buffers_{};  // [Buffer]
  Streams streams_;
  const DirectPlan::Round* round_ = nullptr;
  std::vector<Progress> progress_;  // [step]
  std::size_t folded_ = 0;          // elements of the round's fold that are done
  int error_ = MPI_SUCCESS;
  std::optional<WrongLength> wrong_length_;
};

}  // namespace stretto
