// SPDX-License-Identifier: Apache-2.0
#include "select/floors.hpp"

#include <algorithm>
#include <cstdint>

#include "select/rule.hpp"

namespace stretto {
namespace {

/// A job on several nodes tries other specs only in calls of this size or more. For a call of a microsecond,
/// even the check for something to learn costs too much.
constexpr std::size_t least_learned = 1024;

/// Returns the lower one of `floor` and the table's floor: the rule decides on communicators whose shape is
/// not in the table.
std::size_t at_most_of_table(std::size_t floor, const Table* table, Collective collective, Form form) {
  return table == nullptr ? floor : std::min(floor, table->native_floor(collective, form));
}

std::size_t comparison_inside_node(Collective collective, std::size_t choice, const FloorFacts& facts) {
  if (collective == Collective::barrier) return SIZE_MAX;
  const int sharing = facts.shares_memory ? facts.max_ppn : 0;
  const std::size_t floor =
      at_most_of_table(learning_floor(collective, sharing), facts.table, collective, Form::blocking);
  // Ranks that know the communicator pass shorter calls of these collectives straight on (is_small). Other
  // ranks do not.
  return is_reduction(collective) || collective == Collective::bcast ? std::max(floor, choice) : floor;
}

void lower(Floors::Sizes& sizes, const Floors::Sizes& others) {
  std::ranges::transform(sizes, others, sizes.begin(),
                         [](std::size_t one, std::size_t other) { return std::min(one, other); });
}

Floors floors_inside_node(int ranks, const FloorFacts& facts) {
  Floors floors;
  for (const Collective collective : collectives) {
    const auto i = static_cast<std::size_t>(collective);
    for (const Form form : forms) {
      floors.choice.at(static_cast<std::size_t>(form)).at(i) = at_most_of_table(
          native_floor(collective, form, facts.shares_memory ? ranks : 0), facts.table, collective, form);
    }
    floors.comparison.at(i) =
        comparison_inside_node(collective, floors.choice_of(collective, Form::blocking), facts);
  }
  return floors;
}

Floors floors_between_nodes(const FloorFacts& facts) {
  Floors floors;
  for (const Collective collective : collectives) {
    const auto i = static_cast<std::size_t>(collective);
    for (const Form form : forms) {
      const std::size_t floor =
          at_most_of_table(native_floor(collective, form), facts.table, collective, form);
      floors.choice.at(static_cast<std::size_t>(form)).at(i) =
          facts.learns && form == Form::blocking ? std::min(floor, least_learned) : floor;
    }
  }
  floors.comparison = floors.choice.at(static_cast<std::size_t>(Form::blocking));
  floors.comparison.at(static_cast<std::size_t>(Collective::barrier)) = SIZE_MAX;
  return floors;
}

}  // namespace

Floors floors_of(int nodes, int ranks, const FloorFacts& facts) {
  return nodes == 1 ? floors_inside_node(ranks, facts) : floors_between_nodes(facts);
}

Floors lowest_floors(const Topology& world, const FloorFacts& facts) {
  Floors lowest = floors_inside_node(world.max_ppn, facts);
  const auto consider = [&](const Floors& floors) {
    for (const Form form : forms) {
      const auto i = static_cast<std::size_t>(form);
      lower(lowest.choice.at(i), floors.choice.at(i));
    }
  };
  // Inside a node, two ranks have other floors than more ranks have.
  if (world.max_ppn > 1) consider(floors_inside_node(2, facts));
  if (world.nodes > 1) consider(floors_between_nodes(facts));
  return lowest;
}

}  // namespace stretto
