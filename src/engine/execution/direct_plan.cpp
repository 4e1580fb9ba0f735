// SPDX-License-Identifier: Apache-2.0
#include "engine/execution/direct_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace stretto {
namespace {

bool only_computes(std::span<const Action> round) {
  return std::ranges::none_of(round, [](const Action& action) { return action.communicates(); });
}

bool reads(const Action& action, int scratch_block) {
  const auto holds = [&](const Slice& slice) {
    return slice.buffer == Buffer::scratch && scratch_block >= slice.first &&
           scratch_block < slice.first + slice.count;
  };
  switch (action.kind) {
    case Kind::send:
    case Kind::copy:
      return holds(action.left);
    case Kind::recv:
      return false;
    case Kind::recv_reduce:
      return holds(action.with());
    case Kind::reduce:
      return holds(action.left) || holds(action.right);
  }
  return false;
}

bool writes(const Action& action, int scratch_block) {
  return action.kind != Kind::send && action.into.buffer == Buffer::scratch &&
         scratch_block >= action.into.first && scratch_block < action.into.first + action.into.count;
}

/// Whether nothing needs the contents of a scratch block after a round.
bool is_block_dead_after(const Schedule& schedule, int round, int scratch_block) {
  for (int later = round + 1; later < schedule.rounds(); ++later) {
    const auto actions = schedule.round(later);
    if (std::ranges::any_of(actions, [&](const Action& one) { return reads(one, scratch_block); }))
      return false;
    if (std::ranges::any_of(actions, [&](const Action& one) { return writes(one, scratch_block); }))
      return true;
  }
  return true;
}

/// Whether nothing needs the contents of a run of scratch blocks after a round.
bool is_dead_after(const Schedule& schedule, int round, const Slice& run) {
  for (int block = run.first; block < run.first + run.count; ++block) {
    if (!is_block_dead_after(schedule, round, block)) return false;
  }
  return true;
}

/// Whether some of the computations read a run of scratch blocks, and none touches only a part of it.
bool is_used_whole(std::span<const Action> computations, const Slice& run) {
  bool is_read = false;
  for (const Action& action : computations) {
    for (const Slice& slice : {action.into, action.left, action.right}) {
      const bool overlaps = slice.buffer == Buffer::scratch && slice.first < run.first + run.count &&
                            run.first < slice.first + slice.count;
      if (overlaps && slice != run) return false;
    }
    is_read = is_read || action.left == run || action.right == run;
  }
  return is_read;
}

class Planner {
 public:
  Planner(const Schedule& schedule, const Neighbours& neighbours, const Call& call, const BlockCut& blocks,
          std::size_t first_element)
      : schedule_(schedule),
        neighbours_(neighbours),
        call_(call),
        blocks_(blocks),
        output_blocks_(call.output_borders.empty() ? blocks : BlockCut(call.output_borders, 0, 1)),
        first_(first_element),
        has_strided_(std::ranges::any_of(schedule.actions(), [](const Action& action) {
          return action.into.is_strided() || action.left.is_strided();
        })) {
    scratch_.place(schedule.scratch_shape(), blocks);
  }

  DirectPlan make() {
    for (int round = 0; round < schedule_.rounds(); ++round) {
      add_steps(round);
      round += fold(round);
    }
    measure_scratch();
    return std::move(plan_);
  }

 private:
  using Offset = DirectPlan::Offset;
  using Step = DirectPlan::Step;
  using Operand = DirectPlan::Operand;

  void add_steps(int index) {
    const auto round = schedule_.round(index);
    const std::size_t first = plan_.steps.size();
    // Sends go first, since other ranks wait for them.
    for (const bool sends : {true, false}) {
      for (const Action& action : round) {
        if ((action.kind == Kind::send) != sends) continue;
        if (action.kind == Kind::copy) {
          add_copies(action);
          continue;
        }
        if (elements_in(sends ? action.left : action.into) == 0) continue;
        if (!sends || !joins_publication(action, round, first)) add_step(action, first);
      }
    }
    if (plan_.steps.size() > first)
      plan_.rounds.push_back({.first_step = first, .steps = plan_.steps.size() - first});
  }

  void add_copies(const Action& action) {
    for_each_run(action.into, action.left, [&](const Slice& into, const Slice& from) {
      // In an erroneous call, the two may differ.
      const std::size_t count = std::min(elements_in(into), elements_in(from));
      if (count == 0) return;
      plan_.steps.push_back(
          {.kind = Kind::copy, .count = count, .into = place_of(into), .left = place_of(from)});
    });
  }

  void add_step(const Action& action, std::size_t first) {
    Step step{.kind = action.kind, .arrives_left = action.arriving == Side::left};
    const bool sends = action.kind == Kind::send;
    step.count = elements_in(sends ? action.left : action.into);
    if (action.communicates()) {
      step.first_target = plan_.targets.size();
      step.target_count = 1;
      plan_.targets.push_back(place_of_peer(action));
      for (std::size_t i = first; i < plan_.steps.size(); ++i) {
        const Step& earlier = plan_.steps[i];
        const bool same_way = earlier.communicates() && (earlier.kind == Kind::send) == sends;
        if (same_way && plan_.targets[earlier.first_target] == plan_.targets.back()) {
          step.behind = static_cast<int>(i - first);
        }
      }
    }
    if (!sends) step.into = place_of(action.into);
    if (action.kind != Kind::recv) step.left = place_of(action.left);
    if (action.kind == Kind::recv_reduce || action.kind == Kind::reduce) step.right = place_of(action.right);
    plan_.steps.push_back(step);
  }

  /// Adds a send to the latest step if that sends the same slice to another rank, and each of the two ranks
  /// gets one message in this round. Returns whether it has done so.
  bool joins_publication(const Action& action, std::span<const Action> round, std::size_t first) {
    if (plan_.steps.size() == first) return false;
    Step& latest = plan_.steps.back();
    const Offset from = place_of(action.left);
    const bool is_same = latest.kind == Kind::send && latest.count == elements_in(action.left) &&
                         latest.left.buffer == from.buffer && latest.left.offset == from.offset;
    const auto messages_to = [&](int place) {
      return std::ranges::count_if(
          round, [&](const Action& one) { return one.kind == Kind::send && place_of_peer(one) == place; });
    };
    if (!is_same || messages_to(place_of_peer(action)) > 1 ||
        messages_to(plan_.targets[latest.first_target]) > 1) {
      return false;
    }
    plan_.targets.push_back(place_of_peer(action));
    ++latest.target_count;
    return true;
  }

  /// Makes the computing rounds after this one the fold of its messages, if results stay the same. Returns
  /// the number of those rounds.
  int fold(int index) {
    int rounds = 0;
    while (index + rounds + 1 < schedule_.rounds() && only_computes(schedule_.round(index + rounds + 1)))
      ++rounds;
    if (rounds == 0 || has_strided_ || plan_.rounds.empty() || only_computes(schedule_.round(index)))
      return 0;
    // The last rounds may be left out, since they may work on another block.
    for (int taken = rounds; taken > 0; --taken) {
      if (try_fold(index, taken)) return taken;
    }
    return 0;
  }

  bool try_fold(int index, int rounds) {
    DirectPlan::Round& round = plan_.rounds.back();
    const auto steps = std::span(plan_.steps).subspan(round.first_step, round.steps);
    std::vector<Action> computations;
    for (int i = 1; i <= rounds; ++i) {
      const auto actions = schedule_.round(index + i);
      computations.insert(computations.end(), actions.begin(), actions.end());
    }
    const std::size_t count = elements_in(computations.front().into);
    if (count == 0 || std::ranges::any_of(computations, [&](const Action& action) {
          return elements_in(action.into) != count;
        })) {
      return false;
    }
    const std::map<int, std::size_t> arrivals = find_arrivals(index, rounds, computations, steps);
    if (arrivals.empty()) return false;
    std::vector<DirectPlan::Operation> operations = make_operations(index, rounds, computations, arrivals);
    if (!may_go_along(operations, steps, arrivals, count)) return false;
    for (const auto& [block, step] : arrivals) steps[step].is_folded = true;
    round.first_operation = plan_.operations.size();
    round.operations = operations.size();
    round.fold_count = count;
    plan_.operations.insert(plan_.operations.end(), operations.begin(), operations.end());
    return true;
  }

  /// Returns the runs of scratch blocks that arrive in this round and that only the computations need: the
  /// first block of each, and its step.
  std::map<int, std::size_t> find_arrivals(int index, int rounds, std::span<const Action> computations,
                                           std::span<const Step> steps) const {
    std::map<int, std::size_t> arrivals;
    for (const Action& action : schedule_.round(index)) {
      if (action.kind != Kind::recv || action.into.buffer != Buffer::scratch) continue;
      const Offset place = place_of(action.into);
      const auto step = std::ranges::find_if(steps, [&](const Step& one) {
        return one.kind == Kind::recv && one.into.buffer == Buffer::scratch &&
               one.into.offset == place.offset;
      });
      // A folded message would hold up others of the same sender that follow it.
      if (step == steps.end() || step->behind != DirectPlan::none || has_followers(steps, *step) ||
          !is_used_whole(computations, action.into) ||
          !is_dead_after(schedule_, index + rounds, action.into)) {
        continue;
      }
      arrivals.emplace(action.into.first, static_cast<std::size_t>(step - steps.begin()));
    }
    return arrivals;
  }

  static bool has_followers(std::span<const Step> steps, const Step& step) {
    return std::ranges::any_of(
        steps, [&](const Step& other) { return other.behind == static_cast<int>(&step - steps.data()); });
  }

  std::vector<DirectPlan::Operation> make_operations(int index, int rounds,
                                                     std::span<const Action> computations,
                                                     const std::map<int, std::size_t>& arrivals) {
    std::map<int, std::size_t> temporary;  // of runs of scratch blocks that the fold has written
    const auto operand = [&](const Slice& slice) {
      Operand found{.place = place_of(slice)};
      if (slice.buffer != Buffer::scratch) return found;
      if (const auto it = temporary.find(slice.first); it != temporary.end()) {
        found.where = Operand::Where::temporary;
        found.index = it->second;
      } else if (const auto arrival = arrivals.find(slice.first); arrival != arrivals.end()) {
        found.where = Operand::Where::arrival;
        found.index = arrival->second;
      }
      return found;
    };
    std::vector<DirectPlan::Operation> operations;
    for (const Action& action : computations) {
      DirectPlan::Operation one{.kind = action.kind, .into = {}, .left = operand(action.left), .right = {}};
      if (action.kind == Kind::reduce) one.right = operand(action.right);
      const bool is_temporary = action.into.buffer == Buffer::scratch &&
                                is_used_whole(computations, action.into) &&
                                is_dead_after(schedule_, index + rounds, action.into);
      if (is_temporary) temporary.emplace(action.into.first, temporary.size());
      one.into = operand(action.into);
      operations.push_back(one);
    }
    plan_.temporaries = std::max(plan_.temporaries, temporary.size());
    return operations;
  }

  /// A run of bytes in a buffer. In place, input and output are one buffer.
  struct Extent {
    Buffer buffer;
    std::ptrdiff_t begin;
    std::ptrdiff_t end;

    [[nodiscard]] bool overlaps(const Extent& other) const {
      return buffer == other.buffer && begin < other.end && other.begin < end;
    }
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  [[nodiscard]] Extent extent(const Offset& place, std::size_t count) const {
    const bool is_output =
        place.buffer == Buffer::output || (call_.in_place && place.buffer == Buffer::input);
    return {is_output ? Buffer::output : place.buffer, place.offset,
            place.offset + static_cast<std::ptrdiff_t>(count) * call_.element.extent};
  }

  /// Whether the operations may be carried out chunk by chunk, while messages of the round are on their way.
  [[nodiscard]] bool may_go_along(std::span<const DirectPlan::Operation> operations,
                                  std::span<const Step> steps, const std::map<int, std::size_t>& arrivals,
                                  std::size_t count) const {
    std::vector<Extent> read;
    std::vector<Extent> written;
    for (const auto& one : operations) {
      if (one.left.where == Operand::Where::memory) read.push_back(extent(one.left.place, count));
      if (one.kind == Kind::reduce && one.right.where == Operand::Where::memory)
        read.push_back(extent(one.right.place, count));
      if (one.into.where == Operand::Where::memory) written.push_back(extent(one.into.place, count));
    }
    const auto clashes = [](const Extent& one, const std::vector<Extent>& others, bool may_be_same) {
      return std::ranges::any_of(
          others, [&](const Extent& other) { return one.overlaps(other) && !(may_be_same && one == other); });
    };
    // A chunk may depend only on the same chunk of operands.
    for (const Extent& one : written) {
      if (clashes(one, read, true) || clashes(one, written, true)) return false;
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const bool is_arrival =
          std::ranges::any_of(arrivals, [&](const auto& arrival) { return arrival.second == i; });
      if (is_arrival) continue;
      if (step.kind != Kind::send) {
        const Extent into = extent(step.into, step.count);
        if (clashes(into, read, false) || clashes(into, written, false)) return false;
      }
      if (step.kind != Kind::recv && clashes(extent(step.left, step.count), written, false)) return false;
      if ((step.kind == Kind::recv_reduce || step.kind == Kind::reduce) &&
          clashes(extent(step.right, step.count), written, false)) {
        return false;
      }
    }
    return true;
  }

  /// Counts only the scratch memory that holds something, so that a call takes no more than it needs.
  void measure_scratch() {
    const auto count_in = [&](const Offset& place, std::size_t count) {
      const Extent bytes = extent(place, count);
      if (place.buffer == Buffer::scratch)
        plan_.scratch_bytes = std::max(plan_.scratch_bytes, static_cast<std::size_t>(bytes.end));
    };
    for (const Step& step : plan_.steps) {
      if (step.is_folded) continue;
      for (const Offset& place : {step.into, step.left, step.right}) count_in(place, step.count);
    }
    for (const DirectPlan::Round& round : plan_.rounds) {
      for (std::size_t i = 0; i < round.operations; ++i) {
        const DirectPlan::Operation& one = plan_.operations[round.first_operation + i];
        for (const Operand& operand : {one.into, one.left, one.right}) {
          if (operand.where == Operand::Where::memory) count_in(operand.place, round.fold_count);
        }
      }
    }
  }

  [[nodiscard]] int place_of_peer(const Action& action) const {
    return neighbours_.place_of[static_cast<std::size_t>(action.peer)];
  }

  [[nodiscard]] const BlockCut& blocks_of(const Slice& slice) const {
    return slice.buffer == Buffer::output ? output_blocks_ : blocks_;
  }

  [[nodiscard]] std::size_t elements_in(const Slice& slice) const {
    const auto first = static_cast<std::size_t>(slice.first);
    const auto count = static_cast<std::size_t>(slice.count);
    if (count == 0) return 0;
    if (slice.buffer != Buffer::scratch) return blocks_of(slice).run(first, count).count;
    return scratch_.begin(first + count) - scratch_.begin(first);
  }

  [[nodiscard]] Offset place_of(const Slice& slice) const {
    if (slice.count == 0) return {};
    const auto first = static_cast<std::size_t>(slice.first);
    std::size_t element = 0;
    if (slice.buffer == Buffer::scratch) {
      element = scratch_.begin(first);
    } else {
      const Range& held = slice.buffer == Buffer::output ? call_.output_holds : call_.input_holds;
      element = blocks_of(slice).run(first).first - held.first - first_;
    }
    return {slice.buffer, static_cast<std::ptrdiff_t>(element) * call_.element.extent};
  }

  const Schedule& schedule_;
  const Neighbours& neighbours_;
  const Call& call_;
  const BlockCut& blocks_;
  BlockCut output_blocks_;
  std::size_t first_;
  bool has_strided_;
  ScratchPlaces scratch_;
  DirectPlan plan_;
};

}  // namespace

DirectPlan DirectPlan::make(const Schedule& schedule, const Neighbours& neighbours, const Call& call,
                            const BlockCut& blocks, std::size_t first_element) {
  return Planner(schedule, neighbours, call, blocks, first_element).make();
}

}  // namespace stretto
