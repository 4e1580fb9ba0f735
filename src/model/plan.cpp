// SPDX-License-Identifier: Apache-2.0
#include "model/plan.hpp"

#include <algorithm>
#include <map>
#include <span>
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

/// Returns the blocks of a slice, or those whose size its scratch blocks have (Schedule::add_scratch).
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
  pairs_ = number_pairs([](int rank) { return rank; }, &Step::pair);
  node_pairs_ = number_pairs([&](int rank) { return topology.node(rank); }, &Step::node_pair);
}

Distance Plan::distance(const Step& step) const {
  const auto is_same = [&](const std::vector<int>& label) {
    return label[static_cast<std::size_t>(step.rank)] == label[static_cast<std::size_t>(step.peer)];
  };
  if (is_same(topology_->l3_of)) return Distance::cache;
  return is_same(topology_->socket_of) ? Distance::socket : Distance::node;
}

void Plan::add(const Schedule& schedule) {
  blocks_ = schedule.blocks();
  const auto begin = static_cast<std::uint32_t>(steps_.size());
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
  mark_publications(schedule, begin);
  mark_folds(schedule, begin);
}

void Plan::mark_publications(const Schedule& schedule, std::uint32_t begin) {
  for (int number = 0; number < schedule.rounds(); ++number) {
    const auto round = schedule.round(number);
    std::map<int, int> messages;  // by peer
    for (const Action& action : round) messages[action.peer] += action.kind == Kind::send ? 1 : 0;
    const Action* latest = nullptr;
    for (const Action& action : round) {
      Step& step = steps_[begin++];
      if (action.kind != Kind::send) continue;
      step.is_published = latest != nullptr && latest->left == action.left && messages[action.peer] == 1 &&
                          messages[latest->peer] == 1;
      latest = &action;
    }
  }
}

void Plan::mark_folds(const Schedule& schedule, std::uint32_t begin) {
  const auto size_of_round = [&](int round) {
    return static_cast<std::uint32_t>(schedule.round(round).size());
  };
  const auto computes = [&](int round) {
    return std::ranges::none_of(schedule.round(round), &Action::communicates);
  };
  for (int number = 0; number < schedule.rounds(); ++number) {
    const std::uint32_t of_messages = begin;
    begin += size_of_round(number);
    if (computes(number)) continue;
    // Collects the computing rounds that follow, as long as they work on the same blocks.
    std::vector<Action> computations;
    std::uint32_t end = begin;
    const Run* run = nullptr;
    int next = number + 1;
    for (; next < schedule.rounds() && computes(next); ++next) {
      const auto round = schedule.round(next);
      const auto steps = std::span(steps_).subspan(end, round.size());
      if (run == nullptr) run = &steps.front().run;
      if (std::ranges::any_of(steps, [&](const Step& step) { return step.run != *run; })) break;
      computations.insert(computations.end(), round.begin(), round.end());
      end += size_of_round(next);
    }
    bool any = false;
    for (std::uint32_t i = of_messages; i < begin; ++i) {
      const Action& action = schedule.round(number)[i - of_messages];
      const auto uses = [&](const Action& one) {
        return one.left == action.into || one.right == action.into;
      };
      steps_[i].is_folded = action.kind == Kind::recv && action.into.buffer == Buffer::scratch &&
                            std::ranges::any_of(computations, uses);
      any = any || steps_[i].is_folded;
    }
    if (!any) continue;
    for (std::uint32_t i = begin; i < end; ++i) steps_[i].is_folded = true;
    begin = end;
    number = next - 1;
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

std::size_t Plan::number_pairs(const std::function<int(int)>& label, std::uint32_t Step::*number) {
  std::vector<std::tuple<int, int, std::uint32_t>> messages;
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].peer < 0) continue;
    const int one = label(steps_[i].rank);
    const int other = label(steps_[i].peer);
    messages.emplace_back(std::min(one, other), std::max(one, other), i);
  }
  std::sort(messages.begin(), messages.end());
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [low, high, step] = messages[i];
    if (i == 0 || low != std::get<0>(messages[i - 1]) || high != std::get<1>(messages[i - 1])) ++pairs;
    steps_[step].*number = static_cast<std::uint32_t>(pairs - 1);
  }
  return pairs;
}

}  // namespace stretto
