// SPDX-License-Identifier: Apache-2.0
#include "verify/symbolic_run.hpp"

#include <algorithm>

#include "algorithms/fixed_tree.hpp"

namespace stretto {
namespace {

std::uint64_t channel_key(int from, int to) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) |
         static_cast<std::uint32_t>(to);
}

std::string name(int rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

SymbolicRun::SymbolicRun(std::span<const Schedule> schedules, const Problem& problem)
    : schedules_(schedules), problem_(problem) {
  for (const Schedule& schedule : schedules) {
    const Cells& cells = cells_.emplace_back(schedule, problem);
    // A broadcast's message stands in the output from the start, on the root.
    const bool in_output = problem.collective == Collective::bcast && cells.is_root();
    Rank rank;
    rank.memory.assign(static_cast<std::size_t>(cells.size()), Expressions::undefined);
    std::vector<Expressions::Id>& brought = contributions_.emplace_back();
    for (int block = 0; block < schedule.blocks(); ++block) {
      const Slice own = in_output ? output(block) : input(block);
      brought.push_back(cells.exists(own) ? expressions_.contribution(schedule.rank(), block)
                                          : Expressions::undefined);
      if (cells.exists(own)) rank.memory[static_cast<std::size_t>(cells.first(own))] = brought.back();
    }
    ranks_.push_back(std::move(rank));
  }
}

std::string SymbolicRun::execute() {
  error_ = count_partners();
  if (!error_.empty()) return error_;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) begin_round(rank);
  while (!ready_.empty() && error_.empty()) {
    const int rank = ready_.back();
    ready_.pop_back();
    ++ranks_[static_cast<std::size_t>(rank)].round;
    begin_round(rank);
  }
  if (error_.empty()) error_ = describe_deadlock();
  return error_;
}

Expressions::Id SymbolicRun::value(int rank, const Slice& slice) const {
  return ranks_[static_cast<std::size_t>(rank)].memory[static_cast<std::size_t>(cells(rank).first(slice))];
}

Expressions::Id SymbolicRun::contribution(int rank, int block) const {
  return contributions_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)];
}

Expressions::Id SymbolicRun::fixed_tree(int block) {
  std::vector<Expressions::Id> brought(ranks_.size());
  for (std::size_t rank = 0; rank < brought.size(); ++rank) {
    brought[rank] = contribution(static_cast<int>(rank), block);
  }
  return stretto::fixed_tree(std::move(brought), [this](Expressions::Id left, Expressions::Id right) {
    return expressions_.combine(left, right);
  });
}

std::string SymbolicRun::count_partners() const {
  std::unordered_map<std::uint64_t, std::int64_t> surplus;  // sends without a receive
  for (const Schedule& schedule : schedules_) {
    for (int i = 0; i < schedule.rounds(); ++i) {
      for (const Action& action : schedule.round(i)) {
        if (action.kind == Kind::send) ++surplus[channel_key(schedule.rank(), action.peer)];
        if (action.receives()) --surplus[channel_key(action.peer, schedule.rank())];
      }
    }
  }
  for (const auto& [key, count] : surplus) {
    if (count == 0) continue;
    const std::string from = name(static_cast<int>(key >> 32));
    const std::string to = name(static_cast<int>(key & 0xffffffffU));
    return count > 0 ? from + " sends " + to + " a message that is not received"
                     : to + " receives a message from " + from + " that is not sent";
  }
  return {};
}

void SymbolicRun::begin_round(int rank) {
  const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
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
  Channel& channel = channels_[sends ? channel_key(rank, action.peer) : channel_key(action.peer, rank)];
  auto& partners = sends ? channel.receives : channel.sends;
  if (partners.empty()) {
    (sends ? channel.sends : channel.receives).push_back({&action, rank});
    return;
  }
  const Posted partner = partners.front();
  partners.pop_front();
  const Posted mine{&action, rank};
  deliver(sends ? mine : partner, sends ? partner : mine);
  finish_one(rank);
  finish_one(partner.rank);
}

void SymbolicRun::deliver(const Posted& send, const Posted& receive) {
  const Slice& from = send.action->left;
  const Slice& into = receive.action->into;
  if (from.count != into.count) {
    fail(receive.rank, "takes " + std::to_string(into.count) + " blocks where " + name(send.rank) +
                           " sends " + std::to_string(from.count));
    return;
  }
  for (int i = 0; i < into.count; ++i) {
    if (cells(send.rank).shape(from, i) != cells(receive.rank).shape(into, i)) {
      fail(receive.rank, "takes block " + std::to_string(cells(receive.rank).shape(into, i)) + " where " +
                             name(send.rank) + " sends block " +
                             std::to_string(cells(send.rank).shape(from, i)));
      return;
    }
    Expressions::Id arrived = read(send.rank, from, i);
    if (receive.action->kind == Kind::recv_reduce && error_.empty()) {
      const Expressions::Id held = read(receive.rank, receive.action->with(), i);
      if (!error_.empty()) return;
      arrived = receive.action->arriving == Side::left ? combine(receive.rank, arrived, held)
                                                       : combine(receive.rank, held, arrived);
    }
    write(receive.rank, into, i, arrived);
  }
}

void SymbolicRun::compute(int rank, const Action& action) {
  for (int i = 0; i < action.into.count; ++i) {
    const Expressions::Id left = read(rank, action.left, i);
    const Expressions::Id right = action.kind == Kind::reduce ? read(rank, action.right, i) : left;
    if (!error_.empty()) return;
    write(rank, action.into, i, action.kind == Kind::reduce ? combine(rank, left, right) : left);
  }
}

void SymbolicRun::finish_one(int rank) {
  if (--ranks_[static_cast<std::size_t>(rank)].unfinished == 0) ready_.push_back(rank);
}

Expressions::Id SymbolicRun::combine(int rank, Expressions::Id left, Expressions::Id right) {
  const auto& a = expressions_[left];
  const auto& b = expressions_[right];
  if (a.block != b.block) {
    fail(rank, "reduces block " + std::to_string(a.block) + " with block " + std::to_string(b.block));
  } else if (a.lowest_rank == b.lowest_rank) {
    fail(rank, "takes the contribution of " + name(a.lowest_rank) + " twice");
  } else if (a.lowest_rank > b.lowest_rank) {
    fail(rank, "the operand that holds " + name(b.lowest_rank) +
                   " stands on the right of the one that starts with " + name(a.lowest_rank));
  }
  return expressions_.combine(left, right);
}

std::string SymbolicRun::describe_deadlock() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Rank& state = ranks_[rank];
    if (state.round == schedules_[rank].rounds()) continue;
    std::string text =
        "deadlock: rank " + std::to_string(rank) + " waits in round " + std::to_string(state.round) + " for";
    for (const Action& action : schedules_[rank].round(state.round)) {
      if (action.communicates()) text += " rank " + std::to_string(action.peer);
    }
    return text;
  }
  return {};
}

void SymbolicRun::fail(int rank, const std::string& what) {
  if (!error_.empty()) return;
  error_ =
      name(rank) + ", round " + std::to_string(ranks_[static_cast<std::size_t>(rank)].round) + ": " + what;
}

void SymbolicRun::write(int rank, const Slice& slice, int index, Expressions::Id value) {
  auto& memory = ranks_[static_cast<std::size_t>(rank)].memory;
  if (slice.buffer == Buffer::output && cells(rank).output_destroys_input()) {
    std::fill_n(memory.begin(), schedules_[static_cast<std::size_t>(rank)].blocks(), Expressions::undefined);
  }
  memory[static_cast<std::size_t>(cells(rank).first(slice) + index)] = value;
}

Expressions::Id SymbolicRun::read(int rank, const Slice& slice, int index) {
  const Expressions::Id id = ranks_[static_cast<std::size_t>(rank)]
                                 .memory[static_cast<std::size_t>(cells(rank).first(slice) + index)];
  if (id == Expressions::undefined) fail(rank, "reads a block that was never written");
  return id;
}

}  // namespace stretto
