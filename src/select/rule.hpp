// SPDX-License-Identifier: Apache-2.0
// The built-in rule, which applies where no tuning table does. It is a text: select/rule_text.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "select/form.hpp"
#include "select/spec.hpp"

namespace stretto {

/// The properties on which the choice may depend: only those that are equal on all ranks.
struct CallShape {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;  // of the whole message, by type signature
  int ranks = 1;
  int nodes = 1;
  int min_ppn = 1;
  int max_ppn = 1;
  int min_cache = 1;  // ranks on the emptiest last-level cache
  bool commutative = true;
  /// Of a reduce-scatter or an allgather: whether one node's blocks hold more than dominant_share of what
  /// they would if all nodes had as much.
  bool has_dominant_node = false;
  Form form = Form::blocking;
  /// Whether messages inside nodes go through Stretto's shared memory (transport/node_memory.hpp).
  bool shares_memory = false;
};

/// From here on, the blocks of a node are better passed on from node to node than sent to each node by their
/// own.
constexpr double dominant_share = 1.25;

/// A row of the rule, as it applies to one collective and form.
struct RuleRow {
  /// A property of a call, and the values that it may have.
  struct Condition {
    std::size_t (*of)(const CallShape&) = nullptr;
    std::size_t least = 0;
    std::size_t most = SIZE_MAX;

    [[nodiscard]] bool allows(std::size_t value) const { return value >= least && value <= most; }
  };

  std::string text;  // with its section and that section's conditions
  std::vector<Condition> conditions;
  Spec spec;
  /// Where there is one, the segment size, or else the radix, is this property, moved into its range.
  std::optional<Condition> computed;
  std::size_t times = 1;  // of what is computed

  [[nodiscard]] bool holds(const CallShape& call) const;
  [[nodiscard]] Spec spec_for(const CallShape& call) const;
};

enum class RuleSection : std::uint8_t { inside, between, lengths, reproducible, own };

/// That by which choose() chooses.
constexpr RuleSection usual_section(const CallShape& call) {
  return call.nodes == 1 ? RuleSection::inside : RuleSection::between;
}

/// By name, in bytes.
using RuleFigures = std::map<std::string, std::size_t, std::less<>>;

struct RuleTable {
  struct Floor {
    std::size_t bytes = SIZE_MAX;
  };
  RuleFigures figures;
  RuleFigures derived;  // those of scripts/derive-rule
  /// [section][whether calls are in the background][collective]
  std::array<std::array<std::array<std::vector<RuleRow>, collectives.size()>, 2>, 5> rows;
  /// native_floor(): [whether calls are in the background][collective][ranks that share memory]. Rows tell no
  /// more of them apart; the last stands for larger numbers, too.
  std::array<std::array<std::array<Floor, 18>, collectives.size()>, 2> floors;

  [[nodiscard]] const std::vector<RuleRow>& rows_of(RuleSection section, Form form,
                                                    Collective collective) const {
    return rows[static_cast<std::size_t>(section)][form == Form::blocking ? 0 : 1]
               [static_cast<std::size_t>(collective)];
  }
};

/// `changed` replaces derived figures. Throws std::invalid_argument, which says what is wrong.
RuleTable read_rule(std::string_view text, const RuleFigures& changed = {});

const RuleTable& built_in_rule();

/// The row that decides; nullptr if none holds: then the call is the MPI library's.
const RuleRow* find_row(RuleSection section, const CallShape& call, const RuleTable& rule = built_in_rule());

/// The same for calls that the MPI library must not handle (choose_own).
const RuleRow* find_own_row(const CallShape& call);

/// The choice of the rule.
Spec choose(const CallShape& call, const RuleTable& rule = built_in_rule());

/// What may be faster than `native` for calls whose lengths only two ranks know, if the rank that moves most
/// usually sends `bytes`, and receives as many. Only a race shows whether it is.
Spec choose_for_lengths(const CallShape& call);

/// The choice for calls that the MPI library must not handle: never native, and keeps rank order.
Spec choose_own(const CallShape& call);

/// The choice under STRETTO_REPRODUCIBLE: only algorithms that compute the fixed tree
/// (algorithms/fixed_tree.hpp). For reductions.
Spec choose_reproducible(const CallShape& call);

/// For fewer bytes, choose() returns `native` for any shape. So a small call need not look at its
/// communicator. `sharing_ranks`: the most ranks of a node, if they share memory, or 0.
std::size_t native_floor(Collective collective, Form form = Form::blocking, int sharing_ranks = 0);

/// Shorter blocking calls inside a node take less time than finding out whether another spec is faster.
std::size_t learning_floor(Collective collective, int sharing_ranks);

}  // namespace stretto
