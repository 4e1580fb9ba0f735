// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto {

/// The pace at which all pairs of ranks exchange messages: with one partner a round, or all at once.
enum class Pace : std::uint8_t { one_a_round, at_once };

/// Block b belongs to rank b. Appends messages by which every rank sends its contributions to their owners,
/// the rank after itself first, so that not all send to the same one at once. Returns the contributions to
/// this rank's block: its own in the input, the others in scratch.
inline std::vector<Slice> bring_to_owners(Schedule& schedule, Pace pace) {
  const int p = schedule.ranks();
  const int rank = schedule.rank();
  std::vector<Slice> contributions(static_cast<std::size_t>(p), input(rank));
  for (int ahead = 1; ahead < p; ++ahead) {
    const int to = (rank + ahead) % p;
    const int from = (rank + p - ahead) % p;
    const Slice landing = scratch(schedule.add_scratch(rank));
    contributions[static_cast<std::size_t>(from)] = landing;
    schedule.send(input(to), to).recv(landing, from);
    if (pace == Pace::one_a_round) schedule.end_round();
  }
  schedule.end_round();
  return contributions;
}

}  // namespace stretto
