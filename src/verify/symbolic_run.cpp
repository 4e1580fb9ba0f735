// SPDX-License-Identifier: Apache-2.0
#include "verify/symbolic_run.hpp"

#include <algorithm>

#include "algorithms/fixed_tree.hpp"
#include "schedule/action_text.hpp"

namespace stretto {
namespace {

bool has(const std::vector<std::uint64_t>& ranks, int rank) {
  return (ranks[static_cast<std::size_t>(rank) / 64] >> (rank % 64) & 1U) != 0;
}

void insert(std::vector<std::uint64_t>& ranks, int rank) {
  ranks[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (rank % 64);
}

std::string name(int rank) {
  return "rank " + std::to_string(rank);
}

std::string place(int rank, int round) {
  return name(rank) + ", round " + std::to_string(round) + ": ";
}

std::string messages(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " message" : " messages");
}

std::string blocks(int count) {
  return std::to_string(count) + (count == 1 ? " block" : " blocks");
}

}  // namespace

SymbolicRun::SymbolicRun(const RankSchedules& schedules, const Symmetry& symmetry, const Problem& problem)
    : schedules_(schedules), symmetry_(symmetry), problem_(problem), expressions_(symmetry) {
  for (int number = 0; number < schedules.size(); ++number) {
    const Cells& cells = cells_.emplace_back(symmetry.ranks, number, schedules.blocks(),
                                             schedules.scratch_shape(number), problem);
    // The message of a broadcast is in the root's output from the start.
    const bool in_output = problem.collective == Collective::bcast && cells.is_root();
    Rank rank;
    rank.memory.resize(static_cast<std::size_t>(cells.size()));
    if (has_private_lengths(problem.collective)) rank.is_written.assign(rank.memory.size(), false);
    std::vector<Expressions::Id>& brought = contributions_.emplace_back();
    for (int block = 0; block < schedules.blocks(); ++block) {
      const Slice own = in_output ? output(block) : input(block);
      brought.push_back(cells.exists(own) ? expressions_.contribution(number, block)
                                          : Expressions::undefined);
      if (cells.exists(own)) rank.memory[static_cast<std::size_t>(cells.number(own, 0))] = {brought.back()};
    }
    if (problem.collective == Collective::barrier) {
      rank.will_know.resize(static_cast<std::size_t>(symmetry.ranks) / 64 + 1);
      insert(rank.will_know, number);
    }
    ranks_.push_back(std::move(rank));
  }
}

std::string SymbolicRun::execute() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) begin_round(rank);
  while (!ready_.empty() && error_.empty()) {
    const int rank = ready_.back();
    ready_.pop_back();
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    ++state.round;
    state.begin = state.end;
    begin_round(rank);
  }
  if (error_.empty()) error_ = describe_deadlock();
  if (error_.empty()) return error_;
  // A message without a partner is the cause of other errors.
  const std::string unmatched = find_unmatched();
  return unmatched.empty() ? error_ : unmatched;
}

SymbolicRun::Value SymbolicRun::value(int rank, const Slice& slice) const {
  return ranks_[static_cast<std::size_t>(rank)]
      .memory[static_cast<std::size_t>(cells(rank).number(slice, 0))];
}

int SymbolicRun::depth() const {
  int longest = 0;
  for (const Rank& rank : ranks_) longest = std::max(longest, rank.end);
  return longest;
}

SymbolicRun::Value SymbolicRun::contribution(int rank, int block) const {
  const int turns = symmetry_.turns_of(rank);
  const auto& brought = contributions_[static_cast<std::size_t>(symmetry_.stand_in(rank))];
  return {brought[static_cast<std::size_t>(symmetry_.turned_block(block, -turns))], turns};
}

SymbolicRun::Value SymbolicRun::fixed_tree(int block, int ranks) {
  std::vector<Value> brought(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < brought.size(); ++rank) {
    brought[rank] = contribution(static_cast<int>(rank), block);
  }
  const auto combine = [this](Value left, Value right) { return expressions_.combine(left, right); };
  return is_scan(problem_.collective) ? fixed_prefix(std::move(brought), combine)
                                      : stretto::fixed_tree(std::move(brought), combine);
}

Action SymbolicRun::action_of(const Posted& one) const {
  return schedules_.action(one.rank, ranks_[static_cast<std::size_t>(one.rank)].round, one.index);
}

/// Returns the channel that a message takes: from its sender to its receiver, which is turned back to its
/// stand-in.
SymbolicRun::Pair SymbolicRun::channel_of(int rank, const Action& action) const {
  if (action.kind != Kind::send) return {action.peer, rank};
  return {symmetry_.turned_rank(rank, -symmetry_.turns_of(action.peer)), symmetry_.stand_in(action.peer)};
}

template <typename Visit>
void SymbolicRun::for_each_message(Visit visit) const {
  for (int rank = 0; rank < schedules_.size(); ++rank) {
    for (int round = 0; round < schedules_.rounds(rank); ++round) {
      for (std::size_t index = 0; index < schedules_.actions(rank, round); ++index) {
        const Action action = schedules_.action(rank, round, index);
        if (action.communicates()) visit(rank, round, action);
      }
    }
  }
}

std::string SymbolicRun::find_unmatched() const {
  struct Count {
    std::int64_t sends = 0;
    std::int64_t receives = 0;
  };
  std::unordered_map<Pair, Count, PairHash> totals;
  for_each_message([&](int rank, int /*round*/, const Action& action) {
    Count& total = totals[channel_of(rank, action)];
    ++(action.kind == Kind::send ? total.sends : total.receives);
  });
  if (std::ranges::all_of(totals,
                          [](const auto& entry) { return entry.second.sends == entry.second.receives; })) {
    return {};
  }
  // The last messages of a channel are those without a partner. Often a send and a receive are wrong
  // together.
  std::string unexpected;
  std::string missing;
  std::unordered_map<Pair, Count, PairHash> before;
  for_each_message([&](int rank, int round, const Action& action) {
    const Count& total = totals[channel_of(rank, action)];
    Count& earlier = before[channel_of(rank, action)];
    if (action.kind == Kind::send && earlier.sends++ >= total.receives && unexpected.empty()) {
      unexpected = place(rank, round) + name(action.peer) + " does not expect " + to_string(action) +
                   ": it receives " + messages(total.receives) + " from " + name(rank) + ", not " +
                   std::to_string(total.sends);
    }
    if (action.receives() && earlier.receives++ >= total.sends && missing.empty()) {
      missing = place(rank, round) + "nothing arrives for " + to_string(action) + ": " + name(action.peer) +
                " sends " + messages(total.sends) + " to " + name(rank) + ", not " +
                std::to_string(total.receives);
    }
  });
  return unexpected + (unexpected.empty() || missing.empty() ? "" : "; ") + missing;
}

void SymbolicRun::begin_round(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  state.known = state.will_know;
  if (state.round == schedules_.rounds(rank)) return;
  state.unfinished = schedules_.actions(rank, state.round);
  const std::size_t count = state.unfinished;
  for (std::size_t index = 0; index < count && error_.empty(); ++index) {
    const Posted here{rank, index};
    const Action action = action_of(here);
    if (action.communicates()) {
      post(here, action);
    } else {
      compute(here, action);
      finish_one(rank);
    }
  }
}

void SymbolicRun::post(const Posted& mine, const Action& action) {
  const bool sends = action.kind == Kind::send;
  const auto [channel, is_new] =
      channels_.try_emplace(channel_of(mine.rank, action), Channel{.sends = sends, .first = mine});
  if (is_new) return;
  Channel& waiting = channel->second;
  if (waiting.sends == sends) {
    waiting.others.push_back(mine);
    return;
  }
  const Posted partner = waiting.first;
  if (waiting.others.empty()) {
    channels_.erase(channel);
  } else {
    waiting.first = waiting.others.front();
    waiting.others.erase(waiting.others.begin());
  }
  deliver(sends ? mine : partner, sends ? partner : mine);
  finish_message(mine.rank, partner.rank);
}

/// A message tells its receiver of all ranks of whose beginning its sender had heard before the round.
void SymbolicRun::learn(int from, int to, int turns) {
  if (problem_.collective != Collective::barrier) return;
  const std::vector<std::uint64_t>& told = ranks_[static_cast<std::size_t>(from)].known;
  std::vector<std::uint64_t>& knows = ranks_[static_cast<std::size_t>(to)].will_know;
  for (std::size_t i = 0; i < told.size() && turns == 0; ++i) knows[i] |= told[i];
  for (int rank = 0; rank < symmetry_.ranks && turns != 0; ++rank) {
    if (has(told, rank)) insert(knows, symmetry_.turned_rank(rank, turns));
  }
}

int SymbolicRun::first_unknown(int rank) const {
  const std::vector<std::uint64_t>& knows = ranks_[static_cast<std::size_t>(rank)].will_know;
  int other = 0;
  while (other < symmetry_.ranks && has(knows, other)) ++other;
  return other;
}

void SymbolicRun::deliver(const Posted& send, const Posted& receive) {
  const Action sent = action_of(send);
  const Action action = action_of(receive);
  const Slice& from = sent.left;
  const Slice& into = action.into;
  // From where the sender is to where the stand-in of the receiver is.
  const int turns = -symmetry_.turns_of(sent.peer);
  learn(send.rank, receive.rank, turns);
  if (from.count != into.count) {
    fail(receive,
         "takes " + blocks(into.count) + ", but " + text_of(send) + " has " + std::to_string(from.count));
    return;
  }
  relays_ = relays_ || (has_private_lengths(problem_.collective) &&
                        !is_direct(problem_.collective, send.rank, sent, receive.rank, action));
  for (int i = 0; i < into.count; ++i) {
    const int expected = cells(receive.rank).shape(into, i);
    int found = cells(send.rank).shape(from, i);
    if (!is_alltoall(problem_.collective)) found = symmetry_.turned_block(found, turns);
    if (found != expected) {
      fail(receive, "expects block " + std::to_string(expected) + ", but " + text_of(send) + " has block " +
                        std::to_string(found));
      return;
    }
    Value arrived = expressions_.turned(read(send, from, i), turns);
    if (action.kind == Kind::recv_reduce && error_.empty()) {
      const Value held = read(receive, action.with(), i);
      if (!error_.empty()) return;
      const bool left = action.arriving == Side::left;
      arrived = combine(receive, left ? arrived : held, left ? held : arrived);
    }
    write(receive, into, i, arrived);
  }
}

/// Whether a message is one block on its way from the rank that has it to the one that wants it.
bool SymbolicRun::is_direct(Collective collective, int sender, const Action& send, int receiver,
                            const Action& receive) {
  const Slice& from = send.left;
  const Slice& into = receive.into;
  if (from.buffer != Buffer::input || into.buffer != Buffer::output || from.count != 1) return false;
  return from.first == (is_gather(collective) ? sender : send.peer) &&
         into.first == (is_scatter(collective) ? receiver : receive.peer);
}

void SymbolicRun::compute(const Posted& here, const Action& action) {
  for (int i = 0; i < action.into.count; ++i) {
    const Value left = read(here, action.left, i);
    const Value right = action.kind == Kind::reduce ? read(here, action.right, i) : left;
    if (!error_.empty()) return;
    write(here, action.into, i, action.kind == Kind::reduce ? combine(here, left, right) : left);
  }
}

void SymbolicRun::finish_message(int one, int other) {
  Rank& a = ranks_[static_cast<std::size_t>(one)];
  Rank& b = ranks_[static_cast<std::size_t>(other)];
  const int arrival = std::max(a.begin, b.begin) + 1;
  a.end = std::max(a.end, arrival);
  b.end = std::max(b.end, arrival);
  finish_one(one);
  finish_one(other);
}

void SymbolicRun::finish_one(int rank) {
  if (--ranks_[static_cast<std::size_t>(rank)].unfinished == 0) ready_.push_back(rank);
}

SymbolicRun::Value SymbolicRun::combine(const Posted& where, Value left, Value right) {
  const int one = expressions_.block_of(left);
  const int other = expressions_.block_of(right);
  if (one != other) {
    fail(where, "reduces block " + std::to_string(one) + " with block " + std::to_string(other));
  } else if (left.turns == right.turns && expressions_[left].lowest_rank == expressions_[right].lowest_rank) {
    fail(where, "takes the contribution of " + name(expressions_[left].lowest_rank) + " twice");
  }
  return expressions_.combine(left, right);
}

std::optional<Action> SymbolicRun::find_waiting(int rank) const {
  const int round = ranks_[static_cast<std::size_t>(rank)].round;
  if (round == schedules_.rounds(rank)) return {};
  for (std::size_t index = 0; index < schedules_.actions(rank, round); ++index) {
    const Action action = action_of({rank, index});
    if (!action.communicates()) continue;
    const auto channel = channels_.find(channel_of(rank, action));
    if (channel == channels_.end()) continue;
    const auto is_it = [&](const Posted& one) { return one.rank == rank && one.index == index; };
    if (is_it(channel->second.first) || std::ranges::any_of(channel->second.others, is_it)) return action;
  }
  return {};
}

std::string SymbolicRun::describe_deadlock() const {
  const auto count = static_cast<int>(ranks_.size());
  int rank = 0;
  while (rank < count && !find_waiting(rank)) ++rank;
  if (rank == count) return {};
  const int first = rank;
  constexpr int most_named = 4;
  std::string text = "deadlock: ";
  for (int named = 0; named < most_named && (named == 0 || rank != first); ++named) {
    const std::optional<Action> action = find_waiting(rank);
    if (!action) break;
    text += (named == 0 ? "" : "; ") + place(rank, ranks_[static_cast<std::size_t>(rank)].round) +
            to_string(*action) + " waits";
    rank = symmetry_.stand_in(action->peer);
  }
  return text;
}

std::string SymbolicRun::text_of(const Posted& one) const {
  return to_string(action_of(one)) + " of " + name(one.rank) + " in round " +
         std::to_string(ranks_[static_cast<std::size_t>(one.rank)].round);
}

void SymbolicRun::fail(const Posted& where, const std::string& what) {
  if (!error_.empty()) return;
  error_ = place(where.rank, ranks_[static_cast<std::size_t>(where.rank)].round) +
           to_string(action_of(where)) + " " + what;
}

void SymbolicRun::write(const Posted& where, const Slice& slice, int index, Value value) {
  Rank& rank = ranks_[static_cast<std::size_t>(where.rank)];
  const Cells& its_cells = cells(where.rank);
  if (slice.buffer == Buffer::output && its_cells.output_destroys_input()) {
    std::fill_n(rank.memory.begin(), schedules_.blocks(), Value{});
  }
  const auto cell = static_cast<std::size_t>(its_cells.number(slice, index));
  rank.memory[cell] = value;
  if (rank.is_written.empty()) return;
  if (rank.is_written[cell]) {
    fail(where, "writes " + to_string(Slice{slice.buffer, slice.block(index), 1}) +
                    " again, so its length is ambiguous");
  }
  rank.is_written[cell] = true;
}

SymbolicRun::Value SymbolicRun::read(const Posted& where, const Slice& slice, int index) {
  const Value value = ranks_[static_cast<std::size_t>(where.rank)]
                          .memory[static_cast<std::size_t>(cells(where.rank).number(slice, index))];
  if (!value.is_defined()) {
    fail(where,
         "reads " + to_string(Slice{slice.buffer, slice.block(index), 1}) + ", which was never written");
  }
  return value;
}

}  // namespace stretto
