// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/cells.hpp"
#include "verify/expression.hpp"
#include "verify/verify.hpp"

namespace stretto {

/// Executes the schedules of all ranks with expressions in place of data.
class SymbolicRun {
 public:
  SymbolicRun(std::span<const Schedule> schedules, const Problem& problem);

  /// Returns one line that says what went wrong; empty if nothing did.
  std::string execute();

  /// The value of the first block of a slice on a rank.
  [[nodiscard]] Expressions::Id value(int rank, const Slice& slice) const;
  /// The number of messages on the longest chain in which each one waits for the one before.
  [[nodiscard]] int depth() const;
  [[nodiscard]] const Expressions& expressions() const { return expressions_; }
  /// The contribution of a rank to a block.
  [[nodiscard]] Expressions::Id contribution(int rank, int block) const;
  /// Returns the expression of the fixed tree over the contributions of the first `ranks` ranks to a block.
  Expressions::Id fixed_tree(int block, int ranks);
  /// For a barrier: returns the lowest rank of whose beginning this one has not heard; the number of ranks if
  /// it has heard of all.
  [[nodiscard]] int first_unknown(int rank) const;
  /// Whether some message was anything but one block of a private length on its way from the rank that has it
  /// to the one that wants it.
  [[nodiscard]] bool relays() const { return relays_; }

 private:
  struct Rank {
    int round = 0;
    int begin = 0;               // of the round: the longest chain of messages before it
    int end = 0;                 // the same after those of its messages that have arrived
    std::size_t unfinished = 0;  // actions of the round that have not ended
    std::vector<Expressions::Id> memory;
    std::vector<bool> is_written;  // [cell] if lengths are private
    // For a barrier: [rank] whether this rank had heard of that one's beginning when the round began, and has
    // by now.
    std::vector<bool> known;
    std::vector<bool> will_know;
  };
  struct Posted {
    const Action* action;
    int rank;
  };
  /// The messages from one rank to another that wait for their partners. They match in the order in which
  /// they are posted, so all of them are sends, or all are receives.
  using Channel = std::vector<Posted>;

  /// Calls visit(rank, round, action) for every send and receive.
  template <typename Visit>
  void for_each_message(Visit visit) const;
  std::string find_unmatched() const;
  void begin_round(int rank);
  void post(int rank, const Action& action);
  void learn(int from, int to);
  [[nodiscard]] bool is_direct(const Posted& send, const Posted& receive) const;
  void deliver(const Posted& send, const Posted& receive);
  void compute(int rank, const Action& action);
  void finish_message(int one, int other);
  void finish_one(int rank);
  Expressions::Id combine(const Posted& where, Expressions::Id left, Expressions::Id right);
  /// Returns a message of the rank's current round that has no partner yet; nullptr if there is none.
  [[nodiscard]] const Action* find_waiting(int rank) const;
  [[nodiscard]] std::string describe_deadlock() const;
  [[nodiscard]] std::string text_of(const Posted& one) const;
  void fail(const Posted& where, const std::string& what);

  [[nodiscard]] const Cells& cells(int rank) const { return cells_[static_cast<std::size_t>(rank)]; }
  void write(const Posted& where, int index, Expressions::Id value);
  /// Fails if nothing was written there.
  Expressions::Id read(const Posted& where, const Slice& slice, int index);

  std::span<const Schedule> schedules_;
  Problem problem_;
  std::vector<Cells> cells_;
  std::vector<std::vector<Expressions::Id>> contributions_;  // [rank][block]; undefined if it has none
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, Channel> channels_;  // empty ones are removed: there are p log2(p) in all
  std::vector<int> ready_;                               // ranks whose round has ended
  Expressions expressions_;
  bool relays_ = false;
  std::string error_;
};

}  // namespace stretto
