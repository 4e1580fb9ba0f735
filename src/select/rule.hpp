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
#include "topology/topology.hpp"

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
  /// For a reduce-scatter or an allgather: whether one node's blocks hold more than dominant_share times the
  /// bytes that they would hold if all nodes had as many.
  bool has_dominant_node = false;
  Form form = Form::blocking;
  /// Whether messages inside nodes go through Stretto's shared memory (transport/node_memory.hpp).
  bool shares_memory = false;
};

/// Returns the shape of a call by an operation that commutes, of equal blocks. Messages inside nodes do not
/// go through shared memory.
CallShape shape_of(Collective collective, std::size_t bytes, const Topology& topology,
                   Form form = Form::blocking);

/// From this ratio on, it is better to pass the blocks of a node on from node to node than to let that node
/// send them to each other node.
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

  std::string text;  // including its section and that section's conditions
  std::vector<Condition> conditions;
  Spec spec;
  /// If set, the segment size, or else the radix, is this property, moved into its range.
  std::optional<Condition> computed;
  std::size_t times = 1;  // the factor of the computed value

  [[nodiscard]] bool holds(const CallShape& call) const;
  [[nodiscard]] Spec spec_for(const CallShape& call) const;
};

enum class RuleSection : std::uint8_t { inside, between, lengths, reproducible, own };

/// Returns the section in which choose() looks for a row.
constexpr RuleSection usual_section(const CallShape& call) {
  return call.nodes == 1 ? RuleSection::inside : RuleSection::between;
}

/// Figures by name, in bytes.
using RuleFigures = std::map<std::string, std::size_t, std::less<>>;

struct RuleTable {
  struct Floor {
    std::size_t bytes = SIZE_MAX;
  };
  RuleFigures figures;
  RuleFigures derived;  // those of scripts/derive-rule
  /// [section][whether calls are in the background][collective]
  std::array<std::array<std::array<std::vector<RuleRow>, collectives.size()>, 2>, 5> rows;
  /// native_floor(): [whether calls are in the background][collective][ranks that share memory]. Rows do not
  /// distinguish more ranks; the last entry stands for larger numbers, too.
  std::array<std::array<std::array<Floor, 18>, collectives.size()>, 2> floors;

  [[nodiscard]] const std::vector<RuleRow>& rows_of(RuleSection section, Form form,
                                                    Collective collective) const {
    return rows[static_cast<std::size_t>(section)][form == Form::blocking ? 0 : 1]
               [static_cast<std::size_t>(collective)];
  }
};

/// Reads a rule. `changed` replaces derived figures. Throws std::invalid_argument with the reason.
RuleTable read_rule(std::string_view text, const RuleFigures& changed = {});

const RuleTable& built_in_rule();

/// Returns the row that decides; nullptr if no row holds. Then the MPI library carries out the call.
const RuleRow* find_row(RuleSection section, const CallShape& call, const RuleTable& rule = built_in_rule());

/// Returns the row that decides about a call that the MPI library must not handle (choose_own).
const RuleRow* find_own_row(const CallShape& call);

/// Returns the choice of the rule.
Spec choose(const CallShape& call, const RuleTable& rule = built_in_rule());

/// Returns a spec that may be faster than `native` for a call whose lengths only two ranks know, if the rank
/// that moves most usually sends `bytes`, and receives as many. Only a race shows whether it is faster.
Spec choose_for_lengths(const CallShape& call);

/// Returns the choice for a call that the MPI library must not handle. It is never native, and keeps rank
/// order.
Spec choose_own(const CallShape& call);

/// Returns the number of bytes below which choose() returns `native` for any shape, so that a small call need
/// not look at its communicator. `sharing_ranks`: the most ranks of a node, if they share memory, or 0.
std::size_t native_floor(Collective collective, Form form = Form::blocking, int sharing_ranks = 0);

/// Returns the number of bytes below which a blocking call inside a node takes less time than finding out
/// whether another spec is faster.
std::size_t learning_floor(Collective collective, int sharing_ranks);

}  // namespace stretto
