// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/cells.hpp"
#include "verify/expression.hpp"
#include "verify/rank_schedules.hpp"
#include "verify/symmetry.hpp"
#include "verify/verify.hpp"

namespace stretto {

/// Executes the schedules of all ranks with expressions in place of data.
///
/// Of ranks that behave alike, only the stand-ins are executed. All others do the same at the same time,
/// after their turns. So a message to a rank is a message to its stand-in, from a sender that is turned back
/// as often.
class SymbolicRun {
 public:
  using Value = Expressions::Value;

  /// `schedules` are those of the stand-ins.
  SymbolicRun(const RankSchedules& schedules, const Symmetry& symmetry, const Problem& problem);

  /// Returns one line that says what went wrong; empty if nothing did.
  std::string execute();

  /// The value of the first block of a slice on a stand-in.
  [[nodiscard]] Value value(int rank, const Slice& slice) const;
  /// The number of messages on the longest chain in which each one waits for the one before.
  [[nodiscard]] int depth() const;
  [[nodiscard]] const Expressions& expressions() const { return expressions_; }
  /// The contribution of any rank to a block.
  [[nodiscard]] Value contribution(int rank, int block) const;
  /// Returns the expression of the fixed tree over the contributions of the first `ranks` ranks to a block.
  Value fixed_tree(int block, int ranks);
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
    std::vector<Value> memory;
    std::vector<bool> is_written;  // [cell] if lengths are private
    // For a barrier: the ranks of whose beginning this one had heard when the round began, and has by now, a
    // bit for each.
    std::vector<std::uint64_t> known;
    std::vector<std::uint64_t> will_know;
  };
  /// A message of the round in which its rank is.
  struct Posted {
    int rank;
    std::size_t index;
  };
  struct Pair {
    int from;
    int to;

    friend bool operator==(const Pair&, const Pair&) = default;
  };
  /// Neighbours whose peers are equally far away are neighbours in the table, too. That saves a quarter of
  /// the time of a large proof.
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      return static_cast<std::size_t>(pair.to) +
             static_cast<std::size_t>(pair.from - pair.to) * 0x9E3779B97F4A7C15U;
    }
  };
  /// The messages from one rank to another that wait for their partners. They match in the order in which
  /// they are posted, so all of them are sends, or all are receives. Mostly there is one.
  struct Channel {
    bool sends;
    Posted first;
    std::vector<Posted> others = {};
  };

  /// Calls visit(rank, round, action) for every send and receive.
  template <typename Visit>
  void for_each_message(Visit visit) const;
  std::string find_unmatched() const;
  void begin_round(int rank);
  [[nodiscard]] Action action_of(const Posted& one) const;
  [[nodiscard]] Pair channel_of(int rank, const Action& action) const;
  void post(const Posted& mine, const Action& action);
  void learn(int from, int to, int turns);
  [[nodiscard]] static bool is_direct(Collective collective, int sender, const Action& send, int receiver,
                                      const Action& receive);
  void deliver(const Posted& send, const Posted& receive);
  void compute(const Posted& here, const Action& action);
  void finish_message(int one, int other);
  void finish_one(int rank);
  Value combine(const Posted& where, Value left, Value right);
  /// Returns a message of the rank's current round that has no partner yet.
  [[nodiscard]] std::optional<Action> find_waiting(int rank) const;
  [[nodiscard]] std::string describe_deadlock() const;
  [[nodiscard]] std::string text_of(const Posted& one) const;
  void fail(const Posted& where, const std::string& what);

  [[nodiscard]] const Cells& cells(int rank) const { return cells_[static_cast<std::size_t>(rank)]; }
  void write(const Posted& where, const Slice& slice, int index, Value value);
  /// Fails if nothing was written there.
  Value read(const Posted& where, const Slice& slice, int index);

  const RankSchedules& schedules_;
  Symmetry symmetry_;
  Problem problem_;
  std::vector<Cells> cells_;
  std::vector<std::vector<Expressions::Id>> contributions_;  // [stand-in][block]; undefined if it has none
  std::vector<Rank> ranks_;
  // Empty channels are removed: there are p log2(p) in all.
  std::unordered_map<Pair, Channel, PairHash> channels_;
  std::vector<int> ready_;  // ranks whose round has ended
  Expressions expressions_;
  bool relays_ = false;
  std::string error_;
};

}  // namespace stretto
