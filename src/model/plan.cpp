// SPDX-License-Identifier: Apache-2.0
#include "model/plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

namespace stretto {
namespace {

/// One end of a message.
struct End {
  int source = 0;
  int target = 0;
  std::uint32_t step = 0;

  /// Messages of a pair match in the order in which they are posted.
  friend bool operator<(const End& one, const End& other) {
    return std::tie(one.source, one.target, one.step) < std::tie(other.source, other.target, other.step);
  }
};

/// Scratch blocks of a slice are as large as a run of blocks (Schedule::add_scratch).
Plan::Run run_of(const Schedule& schedule, const Slice& slice) {
  if (slice.buffer != Buffer::scratch) return {slice.first, slice.count};
  return {schedule.scratch_shape()[static_cast<std::size_t>(slice.first)], slice.count};
}

}  // namespace

Plan::Plan(const Recipe& recipe, const Topology& topology, int root)
    : Plan(topology, [&](int rank) { return build(recipe, topology, root, rank); }) {}

Plan::Plan(const Topology& topology, const std::function<Schedule(int)>& schedule) : topology_(&topology) {
  for (int rank = 0; rank < topology.ranks(); ++rank) add(schedule(rank));
  first_round_.push_back(static_cast<std::uint32_t>(first_step_.size()));
  first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
  match_messages();
  number_pairs();
}

void Plan::add(const Schedule& schedule) {
  blocks_ = schedule.blocks();
  first_round_.push_back(static_cast<std::uint32_t>(first_step_.size()));
  for (int round = 0; round < schedule.rounds(); ++round) {
    first_step_.push_back(static_cast<std::uint32_t>(steps_.size()));
    for (const Action& action : schedule.round(round)) {
      const Slice& slice = action.kind == Kind::send ? action.left : action.into;
      steps_.push_back({.kind = action.kind,
                        .rank = schedule.rank(),
                        .peer = action.peer,
                        .run = run_of(schedule, slice)});
    }
  }
}

void Plan::match_messages() {
  std::vector<End> sends;
  std::vector<End> receives;
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.peer < 0) continue;
    if (step.kind == Kind::send) {
      sends.push_back({step.rank, step.peer, i});
    } else {
      receives.push_back({step.peer, step.rank, i});
    }
  }
  std::sort(sends.begin(), sends.end());
  std::sort(receives.begin(), receives.end());
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    if (i >= std::min(sends.size(), receives.size()) || sends[i].source != receives[i].source ||
        sends[i].target != receives[i].target) {
      throw std::invalid_argument("the schedules do not fit each other: a message of rank " +
                                  std::to_string(i < sends.size() ? sends[i].source : receives[i].source) +
                                  " has no partner");
    }
    steps_[sends[i].step].partner = receives[i].step;
    steps_[receives[i].step].partner = sends[i].step;
  }
}

void Plan::number_pairs() {
  std::vector<std::uint32_t> messages;
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].peer >= 0) messages.push_back(i);
  }
  const auto pair_of = [this](std::uint32_t index) {
    const Step& step = steps_[index];
    const int node = topology_->node(step.rank);
    const int other = topology_->node(step.peer);
    return node == other ? std::tuple(true, std::min(step.rank, step.peer), std::max(step.rank, step.peer))
                         : std::tuple(false, std::min(node, other), std::max(node, other));
  };
  std::sort(messages.begin(), messages.end(),
            [&](std::uint32_t one, std::uint32_t other) { return pair_of(one) < pair_of(other); });
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i == 0 || pair_of(messages[i - 1]) != pair_of(messages[i])) ++pairs_;
    steps_[messages[i]].pair = static_cast<std::uint32_t>(pairs_ - 1);
  }
}

}  // namespace stretto
