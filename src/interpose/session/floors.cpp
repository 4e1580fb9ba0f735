// SPDX-License-Identifier: Apache-2.0
#include "interpose/session/floors.hpp"

#include <algorithm>
#include <cstdint>

#include "interpose/session/session.hpp"
#include "select/rule.hpp"

namespace stretto {
namespace {

/// A job on several nodes tries other specs only in calls of this size or more. For a call of a microsecond,
/// even the check for something to learn costs too much.
constexpr std::size_t least_learned = 1024;

/// Returns the lower one of `floor` and the table's floor: the rule decides on communicators whose shape is
/// not in the table.
std::size_t at_most_of_table(std::size_t floor, Collective collective, Form form) {
  return session.table ? std::min(floor, session.table->native_floor(collective, form)) : floor;
}

std::size_t comparison_inside_node(Collective collective, std::size_t choice) {
  if (collective == Collective::barrier) return SIZE_MAX;
  const int sharing = session.shares_memory ? session.topology.max_ppn : 0;
  const std::size_t floor = at_most_of_table(learning_floor(collective, sharing), collective, Form::blocking);
  // Ranks that know the communicator pass shorter calls of these collectives straight on (is_small). Other
  // ranks do not.
  return is_reduction(collective) || collective == Collective::bcast ? std::max(floor, choice) : floor;
}

void lower(Floors::Sizes& sizes, const Floors::Sizes& others) {
  std::ranges::transform(sizes, others, sizes.begin(),
                         [](std::size_t one, std::size_t other) { return std::min(one, other); });
}

}  // namespace

Floors floors_inside_node(int ranks) {
  Floors floors;
  for (const Collective collective : collectives) {
    const auto i = static_cast<std::size_t>(collective);
    for (const Form form : forms) {
      floors.choice.at(static_cast<std::size_t>(form)).at(i) = at_most_of_table(
          native_floor(collective, form, session.shares_memory ? ranks : 0), collective, form);
    }
    floors.comparison.at(i) =
        comparison_inside_node(collective, floors.choice_of(collective, Form::blocking));
  }
  return floors;
}

Floors floors_between_nodes() {
  Floors floors;
  for (const Collective collective : collectives) {
    const auto i = static_cast<std::size_t>(collective);
    for (const Form form : forms) {
      const bool learns = session.settings.online != Online::off && form == Form::blocking;
      const std::size_t floor = at_most_of_table(native_floor(collective, form), collective, form);
      floors.choice.at(static_cast<std::size_t>(form)).at(i) =
          learns ? std::min(floor, least_learned) : floor;
    }
  }
  floors.comparison = floors.choice.at(static_cast<std::size_t>(Form::blocking));
  floors.comparison.at(static_cast<std::size_t>(Collective::barrier)) = SIZE_MAX;
  return floors;
}

Floors lowest_floors() {
  Floors lowest = floors_inside_node(session.topology.max_ppn);
  const auto consider = [&](const Floors& floors) {
    for (const Form form : forms) {
      const auto i = static_cast<std::size_t>(form);
      lower(lowest.choice.at(i), floors.choice.at(i));
    }
  };
  // Inside a node, two ranks have other floors than more ranks have.
  if (session.topology.max_ppn > 1) consider(floors_inside_node(2));
  if (session.topology.nodes > 1) consider(floors_between_nodes());
  return lowest;
}

}  // namespace stretto
