// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "algorithms/registry.hpp"
#include "model/machine.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// The schedules of all ranks in the form that the walker needs: compact, and with both ends of each message
/// linked. A plan does not depend on message size, machine or segments.
class Plan {
 public:
  /// The blocks that an action moves. Scratch blocks appear as the blocks whose size they have.
  struct Run {
    int first = 0;
    int count = 0;

    friend bool operator==(const Run&, const Run&) = default;
  };
  struct Step {
    Kind kind = Kind::send;
    int rank = 0;
    int peer = -1;
    Run run;
    /// The step of the peer that receives this send, or that sends to this receive.
    std::uint32_t partner = 0;
    /// The numbers of the pair of ranks and of the pair of nodes. Messages in both directions have the same.
    std::uint32_t pair = 0;
    std::uint32_t node_pair = 0;
    // Where all ranks share memory (engine/execution/direct_plan.hpp):
    /// Whether it sends what another rank gets in the same round, so that its peer is a further reader of
    /// that publication.
    bool is_published = false;
    /// Whether it is a message that is folded, or a computation that is part of the fold.
    bool is_folded = false;
  };

  Plan(const Recipe& recipe, const Topology& topology, int root);
  /// `schedule(rank)` is called once for each rank.
  Plan(const Topology& topology, const std::function<Schedule(int)>& schedule);

  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(first_round_.size()) - 1; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] std::size_t pairs() const { return pairs_; }
  [[nodiscard]] std::size_t node_pairs() const { return node_pairs_; }
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }
  [[nodiscard]] const Step& step(std::size_t index) const { return steps_[index]; }
  /// The distance between the two ends of a message inside a node.
  [[nodiscard]] Distance distance(const Step& step) const;

  /// Rounds are numbered over all ranks. Those of a rank are consecutive.
  [[nodiscard]] std::uint32_t first_round(int rank) const {
    return first_round_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::uint32_t end_round(int rank) const {
    return first_round_[static_cast<std::size_t>(rank) + 1];
  }
  /// The steps of a round are consecutive: from here to where the next round begins.
  [[nodiscard]] std::uint32_t first_step(std::uint32_t round) const { return first_step_[round]; }
  /// Whether a round is a part of the fold of an earlier one.
  [[nodiscard]] bool is_in_fold(std::uint32_t round) const {
    const Step& first = steps_[first_step(round)];
    return first.is_folded && first.peer < 0;
  }

 private:
  void add(const Schedule& schedule);
  void mark_publications(const Schedule& schedule, std::uint32_t begin);
  void mark_folds(const Schedule& schedule, std::uint32_t begin);
  void match_messages();
  /// Numbers the pairs of labels that messages connect; returns how many there are.
  std::size_t number_pairs(const std::function<int(int)>& label, std::uint32_t Step::*number);

  const Topology* topology_;
  int blocks_ = 1;
  std::size_t pairs_ = 0;
  std::size_t node_pairs_ = 0;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> first_step_;   // [round] one more for the end
  std::vector<std::uint32_t> first_round_;  // [rank] one more for the end
};

}  // namespace stretto
