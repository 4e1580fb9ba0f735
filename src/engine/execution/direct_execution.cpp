// SPDX-License-Identifier: Apache-2.0
#include "engine/execution/direct_execution.hpp"

#include <algorithm>
#include <utility>

#include "threads/relax.hpp"

namespace stretto {
namespace {

/// Operations of a fold go through chunks of this many bytes, so that operands and results stay in the
/// first-level cache.
constexpr std::size_t chunk_bytes = std::size_t{4} << 10;

}  // namespace

bool DirectExecution::serves(const Schedule& schedule, const Neighbours& neighbours) {
  return std::ranges::none_of(schedule.actions(), [&](const Action& action) {
    return action.communicates() &&
           neighbours.place_of[static_cast<std::size_t>(action.peer)] == Neighbours::none;
  });
}

DirectExecution::DirectExecution(Schedule schedule, Neighbours neighbours)
    : schedule_(std::move(schedule)), neighbours_(std::move(neighbours)), memory_(*neighbours_.memory) {}

bool DirectExecution::has_shape(const Call& call, std::size_t segments, int lane) const {
  return segments_ == segments && lane_ == lane && call.count == shape_.count &&
         call.element.kernel == shape_.element.kernel && call.element.extent == shape_.element.extent &&
         call.in_place == shape_.in_place && call.input_holds == shape_.input_holds &&
         call.output_holds == shape_.output_holds && std::ranges::equal(call.borders, borders_) &&
         std::ranges::equal(call.output_borders, output_borders_);
}

void DirectExecution::set(const Call& call, std::size_t segments, int lane) {
  if (has_shape(call, segments, lane)) return;
  segments_ = 0;  // no shape is set if memory runs out
  shape_ = call;
  borders_.assign(call.borders.begin(), call.borders.end());
  shape_.borders = borders_;
  output_borders_.assign(call.output_borders.begin(), call.output_borders.end());
  shape_.output_borders = output_borders_;
  const Partition cut(call.count, segments);
  const std::size_t shorter = segments - 1;  // the last one, if they differ
  std::size_t scratch_bytes = 0;
  std::size_t temporaries = 0;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const Range segment = cut.run(i == 0 ? 0 : shorter);
    const BlockCut blocks = borders_.empty() ? BlockCut(segment, static_cast<std::size_t>(schedule_.blocks()))
                                             : BlockCut(borders_, 0, 1);
    DirectPlan& plan = plans_.at(i) = DirectPlan::make(schedule_, neighbours_, shape_, blocks, segment.first);
    all_ends_.at(i).clear();
    for (const int place : plan.targets) all_ends_.at(i).push_back(memory_.end(lane, place));
    scratch_bytes = std::max(scratch_bytes, plan.scratch_bytes);
    temporaries = std::max(temporaries, plan.temporaries);
    progress_.resize(std::max(progress_.size(), plan.steps.size()));
  }
  scratch_.resize(scratch_bytes);
  temporaries_.resize(temporaries * chunk_bytes);
  lane_ = lane;
  segments_ = segments;
}

int DirectExecution::run(const void* input, void* output, Streams streams, Waiting& waiting) {
  error_ = MPI_SUCCESS;
  wrong_length_.reset();
  streams_ = streams;
  const Partition cut(shape_.count, segments_);
  for (std::size_t i = 0; i < segments_; ++i) {
    const Range segment = cut.run(i);
    const std::size_t which = segment.count == cut.longest() ? 0 : 1;
    plan_ = &plans_.at(which);
    ends_ = &all_ends_.at(which);
    const auto offset = static_cast<std::ptrdiff_t>(segment.first) * shape_.element.extent;
    // Schedules never write to the input (proven).
    buffers_ = {static_cast<std::byte*>(const_cast<void*>(input)) + offset,
                static_cast<std::byte*>(output) + offset, scratch_.data()};
    if (!run_segment(waiting)) return gave_up;
  }
  return error_;
}

bool DirectExecution::run_segment(Waiting& waiting) {
  return std::ranges::all_of(plan_->rounds,
                             [&](const DirectPlan::Round& round) { return run_round(round, waiting); });
}

bool DirectExecution::run_round(const DirectPlan::Round& round, Waiting& waiting) {
  for (std::size_t i = round.first_step; i < round.first_step + round.steps; ++i) {
    begin(plan_->steps[i], progress_[i]);
  }
  round_ = &round;
  folded_ = 0;
  const int most_looks = waiting.looks();
  int looks_left = most_looks;
  for (bool is_first = true;; is_first = false) {
    std::size_t unfinished = 0;
    const bool any = look(round, unfinished);
    if (unfinished == 0) return true;
    if (any) looks_left = most_looks;
    if (any || is_first) continue;
    if (looks_left > 0) {
      --looks_left;
      relax();
    } else if (!waiting.go_on(*this)) {
      return false;
    }
  }
}

int DirectExecution::find_ended_peer() const {
  for (std::size_t i = round_->first_step; i < round_->first_step + round_->steps; ++i) {
    if (progress_[i].has_ended) continue;
    for (const int place : targets(plan_->steps[i])) {
      if (memory_.has_ended(place)) return place;
    }
  }
  return Neighbours::none;
}

/// Returns whether anything has moved.
bool DirectExecution::look(const DirectPlan::Round& round, std::size_t& unfinished) {
  bool any = false;
  for (std::size_t i = round.first_step; i < round.first_step + round.steps; ++i) {
    const Step& step = plan_->steps[i];
    Progress& progress = progress_[i];
    if (progress.has_ended || step.is_folded) continue;
    const bool may_move = step.behind == DirectPlan::none ||
                          progress_[round.first_step + static_cast<std::size_t>(step.behind)].has_ended;
    any = (may_move && advance(step, progress)) || any;
    unfinished += progress.has_ended ? 0 : 1;
  }
  if (round.operations == 0) return any;
  any = look_for_fold(round) || any;
  for (std::size_t i = round.first_step; i < round.first_step + round.steps; ++i) {
    unfinished += plan_->steps[i].is_folded && !progress_[i].has_ended ? 1 : 0;
  }
  return any;
}

void DirectExecution::begin(const Step& step, Progress& progress) {
  progress = {.has_ended = !step.communicates()};
  if (progress.has_ended) {
    compute(step);
  } else if (!step.is_folded && bytes_of(step) > Line::room) {
    progress.transfer = step.target_count == 1
                            ? MemoryTransfer(memory_, lane_, targets(step).front(), step.count)
                            : MemoryTransfer(memory_, lane_, targets(step), step.count);
  }
}

/// Returns whether anything has moved.
bool DirectExecution::advance(const Step& step, Progress& progress) {
  const bool sends = step.kind == Kind::send;
  if (bytes_of(step) <= Line::room && (sends ? send_line(step, progress) : receive_line(step, progress)))
    return true;
  if (progress.transfer.ended()) return false;
  bool any = false;
  int error = MPI_SUCCESS;
  if (sends) {
    any = progress.transfer.send(shape_.element, at(step.left), streams_.into_store, has_failed(), error);
  } else {
    error = error_;
    any = progress.transfer.receive(
        shape_.element,
        [&](std::size_t first, std::size_t count, const std::byte* data) {
          return accept(step, first, count, data);
        },
        error);
    if (error != MPI_SUCCESS && !wrong_length_) wrong_length_ = progress.transfer.wrong_length();
  }
  check(error);
  progress.has_ended = progress.transfer.ended();
  return any;
}

bool DirectExecution::send_line(const Step& step, Progress& progress) {
  for (const NodeMemory::End& end : ends(step)) {
    if (!end.counts->may_write(*end.theirs)) return false;
  }
  const std::size_t bytes = has_failed() ? 0 : bytes_of(step);
  const std::uint32_t flags = PieceHead::last | (has_failed() ? PieceHead::failed : 0);
  for (const NodeMemory::End& end : ends(step)) {
    Line& line = end.counts->next_line(*end.mine);
    std::copy_n(at(step.left), bytes, line.data.data());
    line.head = {PieceHead::in_line, static_cast<std::uint32_t>(bytes) | flags};
    end.counts->publish(*end.mine);
  }
  return progress.has_ended = true;
}

/// Takes a message that lies in one line. Leaves any other one (of a rank that calls with another count, or
/// has failed) to a MemoryTransfer.
bool DirectExecution::receive_line(const Step& step, Progress& progress) {
  if (!progress.transfer.ended()) return false;
  const NodeMemory::End& end = ends(step).front();
  const Line* line = end.counts->look(*end.theirs);
  if (line == nullptr) return false;
  const auto expected = static_cast<std::uint32_t>(bytes_of(step)) | PieceHead::last;
  if (has_failed() || line->head.offset != PieceHead::in_line || line->head.bytes != expected) {
    progress.transfer = MemoryTransfer(memory_, lane_, targets(step).front(), step.count);
    return false;
  }
  check(accept(step, 0, step.count, line->data.data()));
  end.counts->take(*end.mine);
  return progress.has_ended = true;
}

int DirectExecution::accept(const Step& step, std::size_t first, std::size_t count, const std::byte* data) {
  const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(first) * shape_.element.extent;
  std::byte* into = at(step.into) + offset;
  if (step.kind == Kind::recv) {
    return streams_.into_output ? shape_.element.stream(into, data, count)
                                : shape_.element.copy(into, data, count);
  }
  return step.arrives_left ? shape_.element.reduce(into, data, at(step.right) + offset, count)
                           : shape_.element.reduce(into, at(step.left) + offset, data, count);
}

void DirectExecution::compute(const Step& step) {
  if (has_failed()) return;
  check(step.kind == Kind::copy
            ? shape_.element.copy(at(step.into), at(step.left), step.count)
            : shape_.element.reduce(at(step.into), at(step.left), at(step.right), step.count));
}

/// Processes what has arrived from all senders. Returns whether anything has moved.
bool DirectExecution::look_for_fold(const DirectPlan::Round& round) {
  bool any = false;
  for (;;) {
    if (has_failed()) drop_pieces(round);
    std::size_t ready = round.fold_count - folded_;
    bool is_open = false;
    for (std::size_t i = round.first_step; i < round.first_step + round.steps; ++i) {
      const Step& step = plan_->steps[i];
      Progress& progress = progress_[i];
      if (!step.is_folded || progress.has_ended) continue;
      is_open = true;
      if (progress.count == 0 && look_for_piece(step, progress)) any = true;
      ready = std::min(ready, progress.count);
    }
    if (!is_open || ready == 0) return any;
    fold(round, ready);
    any = true;
  }
}

/// Looks at the next piece of a folded message. A piece that is not as expected ends the fold: pieces that
/// follow are only taken, so that their writers can end.
bool DirectExecution::look_for_piece(const Step& step, Progress& progress) {
  bool any = false;
  while (!progress.has_ended && progress.count == 0) {
    const NodeMemory::Arrival piece = memory_.look(lane_, targets(step).front());
    if (piece.data == nullptr) return any;
    any = true;
    const auto size = static_cast<std::size_t>(shape_.element.extent);
    const std::size_t count = piece.bytes / size;
    const std::size_t missing = step.count - folded_;
    const bool fits =
        count > 0 && count * size == piece.bytes && count <= missing && piece.is_last == (count == missing);
    if (!piece.has_failed && !fits && !has_failed()) {
      wrong_length_ = {.peer = targets(step).front(),
                       .expected = bytes_of(step),
                       .arrived = folded_ * size + piece.bytes,
                       .goes_on = !piece.is_last};
    }
    if (piece.has_failed || !fits) check(mpi.err_other);
    progress.is_last = piece.is_last;
    if (has_failed()) {
      drop_piece(step, progress);
    } else {
      progress.data = piece.data;
      progress.count = count;
    }
  }
  return any;
}

void DirectExecution::drop_piece(const Step& step, Progress& progress) {
  memory_.take(lane_, targets(step).front());
  progress.count = 0;
  progress.has_ended = progress.is_last;
}

void DirectExecution::fold(const DirectPlan::Round& round, std::size_t count) {
  const auto size = static_cast<std::size_t>(shape_.element.extent);
  const auto steps = std::span(plan_->steps).subspan(round.first_step, round.steps);
  const auto operations = std::span(plan_->operations).subspan(round.first_operation, round.operations);
  // A single operation has no intermediate results.
  const std::size_t most = operations.size() == 1 ? count : std::max<std::size_t>(chunk_bytes / size, 1);
  while (count > 0 && !has_failed()) {
    const std::size_t now = std::min(count, most);
    for (const DirectPlan::Operation& one : operations) {
      check(one.kind == Kind::copy
                ? shape_.element.copy(at(one.into, round), at(one.left, round), now)
                : shape_.element.reduce(at(one.into, round), at(one.left, round), at(one.right, round), now));
    }
    folded_ += now;
    count -= now;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Progress& progress = progress_[round.first_step + i];
      if (!steps[i].is_folded || progress.has_ended) continue;
      progress.data += now * size;
      progress.count -= now;
      if (progress.count == 0) drop_piece(steps[i], progress);
    }
  }
}

/// Drops the pieces that have arrived. After an error, they are not processed.
void DirectExecution::drop_pieces(const DirectPlan::Round& round) {
  for (std::size_t i = round.first_step; i < round.first_step + round.steps; ++i) {
    Progress& progress = progress_[i];
    if (!progress.has_ended && progress.count > 0) drop_piece(plan_->steps[i], progress);
  }
}

std::byte* DirectExecution::at(const DirectPlan::Operand& operand, const DirectPlan::Round& round) const {
  switch (operand.where) {
    case DirectPlan::Operand::Where::arrival:
      // An arrival is only read: a fold writes only to memory of this rank.
      return const_cast<std::byte*>(progress_[round.first_step + operand.index].data);
    case DirectPlan::Operand::Where::temporary:
      return const_cast<std::byte*>(temporaries_.data()) + operand.index * chunk_bytes;
    case DirectPlan::Operand::Where::memory:
      break;
  }
  return at(operand.place) + static_cast<std::ptrdiff_t>(folded_) * shape_.element.extent;
}

}  // namespace stretto
