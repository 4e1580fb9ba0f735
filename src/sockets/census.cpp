// SPDX-License-Identifier: Apache-2.0
#include "sockets/census.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace stretto {
namespace {

using Numbers = std::vector<std::int32_t>;

void add_ranks(Numbers& all, const std::set<int>& ranks) {
  all.push_back(static_cast<std::int32_t>(ranks.size()));
  all.insert(all.end(), ranks.begin(), ranks.end());
}

/// Takes ranks from the front of `all`. Returns whether they were there.
bool take_ranks(std::span<const std::int32_t>& all, std::set<int>& ranks, int most) {
  if (all.empty() || all[0] < 0 || static_cast<std::size_t>(all[0]) >= all.size()) return false;
  const auto some = all.subspan(1, static_cast<std::size_t>(all[0]));
  ranks.insert(some.begin(), some.end());
  all = all.subspan(1 + some.size());
  return ranks.empty() || (*ranks.begin() >= 0 && *ranks.rbegin() < most);
}

}  // namespace

void CensusValue::add(const CensusValue& other) {
  without.insert(other.without.begin(), other.without.end());
  is_well = is_well && other.is_well;
}

std::string Census::Word::text() const {
  Numbers all{static_cast<std::int32_t>(kind), ballot, value.is_well ? 1 : 0};
  add_ranks(all, ended);
  add_ranks(all, value.without);
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(std::int32_t)};
}

std::optional<Census::Word> Census::Word::read(std::string_view text, int ranks) {
  constexpr std::size_t first = 3;
  Numbers numbers(text.size() / sizeof(std::int32_t));
  if (numbers.size() < first || text.size() % sizeof(std::int32_t) != 0) return std::nullopt;
  std::memcpy(numbers.data(), text.data(), text.size());
  std::span<const std::int32_t> rest = std::span(numbers).subspan(first);
  Word word{.kind = static_cast<Kind>(numbers[0]), .ballot = numbers[1], .ended = {}, .value = {}};
  word.value.is_well = numbers[2] != 0;
  const bool is_right = word.kind >= Kind::report && word.kind <= Kind::decision &&
                        take_ranks(rest, word.ended, ranks) && take_ranks(rest, word.value.without, ranks);
  return is_right && rest.empty() ? std::optional(word) : std::nullopt;
}

void Census::begin(int self, std::set<int> members, CensusValue own) {
  self_ = self;
  members_ = std::move(members);
  value_ = std::move(own);
  for (const auto& [from, word] : std::exchange(early_, {})) take(from, word);
  advance();
}

int Census::coordinator() const {
  return *std::ranges::find_if(members_, [&](int member) { return !ended_.contains(member); });
}

Census::Awaited Census::awaited() const {
  if (!has_begun() || is_excluded()) return {};
  const int to = coordinator();
  return {.coordinator = to, .has_answered = answered_ == to, .has_proposed = ballot_ == to};
}

void Census::send(int to, Word::Kind kind, int ballot, const CensusValue& value) {
  words_.emplace_back(to, Word{.kind = kind, .ballot = ballot, .ended = ended_, .value = value});
}

void Census::send_all(Word::Kind kind) {
  for (const int member : members_) {
    // Members that are only late hear the result, too.
    const bool counts = kind == Word::Kind::decision || !ended_.contains(member);
    if (member != self_ && counts) send(member, kind, ballot_, value_);
  }
}

void Census::take(int from, const Word& word) {
  if (!has_begun()) {
    early_.emplace_back(from, word);
    return;
  }
  if (result_) {
    const bool is_asked = word.kind == Word::Kind::report || word.kind == Word::Kind::proposal;
    if (is_asked) send(from, Word::Kind::decision, ballot_, *result_);
    return;
  }
  if (word.kind == Word::Kind::decision) {
    ballot_ = word.ballot;
    result_ = word.value;
    for (const auto& [member, report] : reports_) send(member, Word::Kind::decision, ballot_, *result_);
    return advance();
  }
  ended_.insert(word.ended.begin(), word.ended.end());
  if (is_excluded()) return;
  if (!ended_.contains(from)) {
    switch (word.kind) {
      case Word::Kind::report:
        reports_.insert_or_assign(from, word);
        if (coordinator() == self_) send(from, Word::Kind::answer, no_ballot, {});
        break;
      case Word::Kind::answer:
        answered_ = from;
        break;
      case Word::Kind::proposal:
        ballot_ = word.ballot;
        value_ = word.value;
        send(from, Word::Kind::consent, ballot_, value_);
        break;
      default:
        consents_.insert(from);
    }
  }
  advance();
}

void Census::note_ended(int rank) {
  ended_.insert(rank);
  if (has_begun()) advance();
}

std::set<int> Census::missing() const {
  if (!has_begun() || result_ || is_excluded()) return {};
  if (coordinator() != self_) return {coordinator()};
  std::set<int> all;
  for (const int member : members_) {
    const bool has_come = has_proposed_ ? consents_.contains(member) : reports_.contains(member);
    if (member != self_ && !ended_.contains(member) && !has_come) all.insert(member);
  }
  return all;
}

void Census::give_up_waiting() {
  const std::set<int> all = missing();
  ended_.insert(all.begin(), all.end());
  if (!all.empty()) advance();
}

/// Does what is to be done when all that is known has changed.
void Census::advance() {
  if (is_excluded()) return;
  const int to = coordinator();
  if (to != self_) {
    if (to == std::exchange(reported_to_, to)) return;
    if (result_) return send(to, Word::Kind::decision, ballot_, *result_);
    return send(to, Word::Kind::report, ballot_, value_);
  }
  if (result_) return;
  if (!has_proposed_) {
    if (!missing().empty()) return;
    for (const auto& [member, word] : reports_) {
      if (ended_.contains(member)) continue;
      if (word.ballot > ballot_) {
        ballot_ = word.ballot;
        value_ = word.value;
      } else if (ballot_ == no_ballot) {
        value_.add(word.value);
      }
    }
    if (ballot_ == no_ballot) {
      for (const int member : members_) {
        if (ended_.contains(member)) value_.without.insert(member);
      }
    }
    ballot_ = self_;
    has_proposed_ = true;
    send_all(Word::Kind::proposal);
  }
  if (!missing().empty()) return;
  result_ = value_;
  send_all(Word::Kind::decision);
}

}  // namespace stretto
