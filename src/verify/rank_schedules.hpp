// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto {

/// The schedules of ranks 0, 1, … in few bytes: rounds that differ in their peers only are kept once.
class RankSchedules {
 public:
  /// Adds the schedule of the next rank.
  void add(const Schedule& schedule);

  [[nodiscard]] int size() const { return static_cast<int>(first_round_.size()) - 1; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] int rounds(int rank) const {
    return static_cast<int>(first_round_[at(rank) + 1] - first_round_[at(rank)]);
  }
  /// The number of actions of a round.
  [[nodiscard]] std::size_t actions(int rank, int round) const { return alike(rank, round).size(); }
  [[nodiscard]] Action action(int rank, int round, std::size_t index) const {
    Action action = alike(rank, round)[index];
    action.peer = peers_[first_peer_[number(rank, round)] + index];
    return action;
  }
  [[nodiscard]] const ScratchShape& scratch_shape(int rank) const { return scratch_shapes_[at(rank)]; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::size_t number(int rank, int round) const { return first_round_[at(rank)] + at(round); }
  [[nodiscard]] std::span<const Action> kept(std::uint32_t round) const {
    return std::span(actions_).subspan(first_action_[round], first_action_[round + 1] - first_action_[round]);
  }
  [[nodiscard]] std::span<const Action> alike(int rank, int round) const {
    return kept(kept_round_[number(rank, round)]);
  }
  std::uint32_t keep(std::span<const Action> round);

  int blocks_ = 1;
  std::vector<std::size_t> first_round_{0};  // [rank] and one more for the end
  // [round of any rank]
  std::vector<std::uint32_t> kept_round_;
  std::vector<std::uint32_t> first_peer_;
  std::vector<int> peers_;  // [action]
  std::vector<ScratchShape> scratch_shapes_;
  std::vector<Action> actions_;                                // of the rounds that are kept
  std::vector<std::uint32_t> first_action_{0};                 // [kept round] and one more for the end
  std::unordered_map<std::uint64_t, std::uint32_t> by_value_;  // the kept round with this hash value
};

}  // namespace stretto
