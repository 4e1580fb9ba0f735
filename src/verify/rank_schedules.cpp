// SPDX-License-Identifier: Apache-2.0
#include "verify/rank_schedules.hpp"

#include <algorithm>

namespace stretto {
namespace {

/// Without the peers.
std::uint64_t hash_of(std::span<const Action> round) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&](int value) { hash = (hash ^ static_cast<std::uint32_t>(value)) * 1099511628211U; };
  for (const Action& action : round) {
    add(static_cast<int>(action.kind));
    add(static_cast<int>(action.arriving));
    for (const Slice& slice : {action.into, action.left, action.right}) {
      add(static_cast<int>(slice.buffer));
      for (const int value : {slice.first, slice.count, slice.run, slice.step}) add(value);
    }
  }
  return hash;
}

bool is_same_but_peer(const Action& one, const Action& other) {
  return one.kind == other.kind && one.arriving == other.arriving && one.into == other.into &&
         one.left == other.left && one.right == other.right;
}

template <typename T>
std::size_t bytes_of(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

}  // namespace

void RankSchedules::add(const Schedule& schedule) {
  blocks_ = schedule.blocks();
  scratch_shapes_.push_back(schedule.scratch_shape());
  for (int i = 0; i < schedule.rounds(); ++i) {
    const auto round = schedule.round(i);
    kept_round_.push_back(keep(round));
    first_peer_.push_back(static_cast<std::uint32_t>(peers_.size()));
    for (const Action& action : round) peers_.push_back(action.peer);
  }
  first_round_.push_back(kept_round_.size());
}

std::size_t RankSchedules::memory_bytes() const {
  constexpr std::size_t of_entry = 40;  // in a hash table
  std::size_t bytes = bytes_of(first_round_) + bytes_of(kept_round_) + bytes_of(first_peer_) +
                      bytes_of(peers_) + bytes_of(scratch_shapes_) + bytes_of(actions_) +
                      bytes_of(first_action_) + by_value_.size() * of_entry;
  return bytes;
}

std::uint32_t RankSchedules::keep(std::span<const Action> round) {
  const auto next = static_cast<std::uint32_t>(first_action_.size() - 1);
  const auto [entry, is_new] = by_value_.try_emplace(hash_of(round), next);
  // Another round with the same hash value is kept again each time, which is right as well.
  if (!is_new && std::ranges::equal(kept(entry->second), round, is_same_but_peer)) return entry->second;
  actions_.insert(actions_.end(), round.begin(), round.end());
  first_action_.push_back(static_cast<std::uint32_t>(actions_.size()));
  return next;
}

}  // namespace stretto
