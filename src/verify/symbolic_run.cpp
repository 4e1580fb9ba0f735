// SPDX-License-Identifier: Apache-2.0
#include "verify/symbolic_run.hpp"

#include <algorithm>

#include "algorithms/fixed_tree.hpp"
#include "schedule/action_text.hpp"

namespace stretto {
namespace {

std::uint64_t channel_key(int from, int to) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) |
         static_cast<std::uint32_t>(to);
}

/// Returns the channel that a message takes: from its sender to its receiver.
std::uint64_t channel_of(int rank, const Action& action) {
  return action.kind == Kind::send ? channel_key(rank, action.peer) : channel_key(action.peer, rank);
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

SymbolicRun::SymbolicRun(std::span<const Schedule> schedules, const Problem& problem)
    : schedules_(schedules), problem_(problem) {
  for (const Schedule& schedule : schedules) {
    const Cells& cells = cells_.emplace_back(schedule, problem);
    // The message of a broadcast is in the root's output from the start.
    const bool in_output = problem.collective == Collective::bcast && cells.is_root();
    Rank rank;
    rank.memory.assign(static_cast<std::size_t>(cells.size()), Expressions::undefined);
    if (has_private_lengths(problem.collective)) rank.is_written.assign(rank.memory.size(), false);
    std::vector<Expressions::Id>& brought = contributions_.emplace_back();
    for (int block = 0; block < schedule.blocks(); ++block) {
      const Slice own = in_output ? output(block) : input(block);
      brought.push_back(cells.exists(own) ? expressions_.contribution(schedule.rank(), block)
                                          : Expressions::undefined);
      if (cells.exists(own)) rank.memory[static_cast<std::size_t>(cells.number(own, 0))] = brought.back();
    }
    if (problem.collective == Collective::barrier) {
      rank.will_know.assign(schedules.size(), false);
      rank.will_know[static_cast<std::size_t>(schedule.rank())] = true;
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

Expressions::Id SymbolicRun::value(int rank, const Slice& slice) const {
  return ranks_[static_cast<std::size_t>(rank)]
      .memory[static_cast<std::size_t>(cells(rank).number(slice, 0))];
}

int SymbolicRun::depth() const {
  int longest = 0;
  for (const Rank& rank : ranks_) longest = std::max(longest, rank.end);
  return longest;
}

Expressions::Id SymbolicRun::contribution(int rank, int block) const {
  return contributions_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)];
}

Expressions::Id SymbolicRun::fixed_tree(int block, int ranks) {
  std::vector<Expressions::Id> brought(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < brought.size(); ++rank) {
    brought[rank] = contribution(static_cast<int>(rank), block);
  }
  const auto combine = [this](Expressions::Id left, Expressions::Id right) {
    return expressions_.combine(left, right);
  };
  return is_scan(problem_.collective) ? fixed_prefix(std::move(brought), combine)
                                      : stretto::fixed_tree(std::move(brought), combine);
}

template <typename Visit>
void SymbolicRun::for_each_message(Visit visit) const {
  for (const Schedule& schedule : schedules_) {
    for (int i = 0; i < schedule.rounds(); ++i) {
      for (const Action& action : schedule.round(i)) {
        if (action.communicates()) visit(schedule.rank(), i, action);
      }
    }
  }
}

std::string SymbolicRun::find_unmatched() const {
  struct Count {
    std::int64_t sends = 0;
    std::int64_t receives = 0;
  };
  std::unordered_map<std::uint64_t, Count> totals;
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
  std::unordered_map<std::uint64_t, Count> before;
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
  const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  state.known = state.will_know;
  if (state.round == schedule.rounds()) return;
  const auto round = schedule.round(state.round);
  state.unfinished = round.size();
  for (const Action& action : round) {
    if (!error_.empty()) return;
    if (action.communicates()) {
      post(rank, action);
    } else {
      compute(rank, action);
      finish_one(rank);
    }
  }
}

void SymbolicRun::post(int rank, const Action& action) {
  const bool sends = action.kind == Kind::send;
  const Posted mine{&action, rank};
  const auto channel = channels_.try_emplace(channel_of(rank, action)).first;
  Channel& waiting = channel->second;
  if (waiting.empty() || waiting.front().rank == rank) {
    waiting.push_back(mine);
    return;
  }
  const Posted partner = waiting.front();
  waiting.erase(waiting.begin());
  if (waiting.empty()) channels_.erase(channel);
  learn(sends ? rank : partner.rank, sends ? partner.rank : rank);
  deliver(sends ? mine : partner, sends ? partner : mine);
  finish_message(rank, partner.rank);
}

/// A message tells its receiver of all ranks of whose beginning its sender had heard before the round.
void SymbolicRun::learn(int from, int to) {
  if (problem_.collective != Collective::barrier) return;
  const std::vector<bool>& told = ranks_[static_cast<std::size_t>(from)].known;
  std::vector<bool>& knows = ranks_[static_cast<std::size_t>(to)].will_know;
  for (std::size_t rank = 0; rank < told.size(); ++rank) knows[rank] = knows[rank] || told[rank];
}

int SymbolicRun::first_unknown(int rank) const {
  const std::vector<bool>& knows = ranks_[static_cast<std::size_t>(rank)].will_know;
  return static_cast<int>(std::ranges::find(knows, false) - knows.begin());
}

void SymbolicRun::deliver(const Posted& send, const Posted& receive) {
  const Action& action = *receive.action;
  const Slice& from = send.action->left;
  const Slice& into = action.into;
  if (from.count != into.count) {
    fail(receive,
         "takes " + blocks(into.count) + ", but " + text_of(send) + " has " + std::to_string(from.count));
    return;
  }
  relays_ = relays_ || (has_private_lengths(problem_.collective) && !is_direct(send, receive));
  for (int i = 0; i < into.count; ++i) {
    const int sent = cells(send.rank).shape(from, i);
    const int expected = cells(receive.rank).shape(into, i);
    if (sent != expected) {
      fail(receive, "expects block " + std::to_string(expected) + ", but " + text_of(send) + " has block " +
                        std::to_string(sent));
      return;
    }
    Expressions::Id arrived = read(send, from, i);
    if (action.kind == Kind::recv_reduce && error_.empty()) {
      const Expressions::Id held = read(receive, action.with(), i);
      if (!error_.empty()) return;
      const bool left = action.arriving == Side::left;
      arrived = combine(receive, left ? arrived : held, left ? held : arrived);
    }
    write(receive, i, arrived);
  }
}

/// Whether a message is one block on its way from the rank that has it to the one that wants it.
bool SymbolicRun::is_direct(const Posted& send, const Posted& receive) const {
  const Slice& from = send.action->left;
  const Slice& into = receive.action->into;
  if (from.buffer != Buffer::input || into.buffer != Buffer::output || from.count != 1) return false;
  const bool is_gathered = is_gather(problem_.collective);
  const bool is_scattered = is_scatter(problem_.collective);
  return from.first == (is_gathered ? send.rank : receive.rank) &&
         into.first == (is_scattered ? receive.rank : send.rank);
}

void SymbolicRun::compute(int rank, const Action& action) {
  const Posted here{&action, rank};
  for (int i = 0; i < action.into.count; ++i) {
    const Expressions::Id left = read(here, action.left, i);
    const Expressions::Id right = action.kind == Kind::reduce ? read(here, action.right, i) : left;
    if (!error_.empty()) return;
    write(here, i, action.kind == Kind::reduce ? combine(here, left, right) : left);
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

Expressions::Id SymbolicRun::combine(const Posted& where, Expressions::Id left, Expressions::Id right) {
  const auto& a = expressions_[left];
  const auto& b = expressions_[right];
  if (a.block != b.block) {
    fail(where, "reduces block " + std::to_string(a.block) + " with block " + std::to_string(b.block));
  } else if (a.lowest_rank == b.lowest_rank) {
    fail(where, "takes the contribution of " + name(a.lowest_rank) + " twice");
  }
  return expressions_.combine(left, right);
}

const Action* SymbolicRun::find_waiting(int rank) const {
  const auto i = static_cast<std::size_t>(rank);
  if (ranks_[i].round == schedules_[i].rounds()) return nullptr;
  for (const Action& action : schedules_[i].round(ranks_[i].round)) {
    if (!action.communicates()) continue;
    const auto channel = channels_.find(channel_of(rank, action));
    if (channel == channels_.end()) continue;
    const auto is_it = [&](const Posted& one) { return one.action == &action; };
    if (std::ranges::any_of(channel->second, is_it)) return &action;
  }
  return nullptr;
}

std::string SymbolicRun::describe_deadlock() const {
  const auto count = static_cast<int>(ranks_.size());
  int rank = 0;
  while (rank < count && find_waiting(rank) == nullptr) ++rank;
  if (rank == count) return {};
  const int first = rank;
  constexpr int most_named = 4;
  std::string text = "deadlock: ";
  for (int named = 0; named < most_named && (named == 0 || rank != first); ++named) {
    const Action* action = find_waiting(rank);
    if (action == nullptr) break;
    text += (named == 0 ? "" : "; ") + place(rank, ranks_[static_cast<std::size_t>(rank)].round) +
            to_string(*action) + " waits";
    rank = action->peer;
  }
  return text;
}

std::string SymbolicRun::text_of(const Posted& one) const {
  return to_string(*one.action) + " of " + name(one.rank) + " in round " +
         std::to_string(ranks_[static_cast<std::size_t>(one.rank)].round);
}

void SymbolicRun::fail(const Posted& where, const std::string& what) {
  if (!error_.empty()) return;
  error_ = place(where.rank, ranks_[static_cast<std::size_t>(where.rank)].round) + to_string(*where.action) +
           " " + what;
}

void SymbolicRun::write(const Posted& where, int index, Expressions::Id value) {
  const Slice& slice = where.action->into;
  Rank& rank = ranks_[static_cast<std::size_t>(where.rank)];
  const Cells& its_cells = cells(where.rank);
  if (slice.buffer == Buffer::output && its_cells.output_destroys_input()) {
    std::fill_n(rank.memory.begin(), schedules_[static_cast<std::size_t>(where.rank)].blocks(),
                Expressions::undefined);
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

Expressions::Id SymbolicRun::read(const Posted& where, const Slice& slice, int index) {
  const Expressions::Id id = ranks_[static_cast<std::size_t>(where.rank)]
                                 .memory[static_cast<std::size_t>(cells(where.rank).number(slice, index))];
  if (id == Expressions::undefined) {
    fail(where,
         "reads " + to_string(Slice{slice.buffer, slice.block(index), 1}) + ", which was never written");
  }
  return id;
}

}  // namespace stretto
