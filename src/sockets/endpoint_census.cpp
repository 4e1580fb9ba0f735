// SPDX-License-Identifier: Apache-2.0
// The censuses of an endpoint.
#include <algorithm>

#include "sockets/endpoint.hpp"
#include "sockets/outgoing.hpp"

namespace stretto {
namespace {

/// Others may ask for the result of a census that has ended here. They take part in the next one of the group
/// that goes on, so at most two of each group are of use; a program shrinks few groups at a time.
constexpr std::size_t most_kept = 64;

}  // namespace

Census& Endpoint::census(const CensusId& id) {
  const auto [found, is_new] = censuses_.try_emplace(id);
  for (int rank = 0; is_new && rank < ranks_; ++rank) {
    if (peer(rank).gone != nullptr) found->second.note_ended(rank);
  }
  return found->second;
}

void Endpoint::say_words(const CensusId& id, Census& census) {
  for (const auto& [to, word] : census.take_words()) {
    if (failure() == nullptr && peer(to).gone == nullptr) outgoing(to).say(id, word);
  }
}

void Endpoint::take_word(const CensusId& id, const Census::Word& word, int from) {
  if (failure() != nullptr) return;
  Census& its = census(id);
  its.take(from, word);
  say_words(id, its);
}

void Endpoint::begin_census(const CensusId& id, const std::set<int>& members, const CensusValue& own) {
  const std::lock_guard guard(mutex_);
  begun_.push_back(id);
  if (begun_.size() > most_kept) {
    const auto has_result = [&](const CensusId& one) { return census(one).result().has_value(); };
    const auto oldest = std::ranges::find_if(begun_, has_result);
    if (oldest != begun_.end()) {
      censuses_.erase(*oldest);
      begun_.erase(oldest);
    }
  }
  Census& its = census(id);
  its.begin(rank_, members, own);
  say_words(id, its);
}

Endpoint::CensusState Endpoint::census_state(const CensusId& id) {
  const std::lock_guard guard(mutex_);
  const Census& its = census(id);
  return {.result = its.result(), .awaited = its.awaited(), .is_excluded = its.is_excluded()};
}

void Endpoint::give_up_waiting(const CensusId& id) {
  const std::lock_guard guard(mutex_);
  Census& its = census(id);
  its.give_up_waiting();
  say_words(id, its);
}

void Endpoint::exclude(std::uint64_t group, int rank, const std::string& reason) {
  const std::lock_guard guard(mutex_);
  if (failure() != nullptr || peer(rank).gone != nullptr) return;
  outgoing(rank);
  end_in_locked({.rank = rank, .group = group_of(group), .from = 0, .reason = keep_reason(reason)});
}

}  // namespace stretto
