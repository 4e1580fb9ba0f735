// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto {

/// The collectives that Stretto implements, and the blocks that a rank has in memory:
///
///                   input                  output
///   allreduce       all blocks             all blocks
///   bcast           none                   all blocks; on the root they hold the message from the start
///   reduce          all blocks             all blocks on the root, none on the others
///   reduce_scatter  all blocks             the block of this rank
///   allgather       the block of this rank all blocks
///
/// The first three are cut into equal blocks, as many as the algorithm needs. The last two have one block for
/// each rank, of the length that the caller gives.
enum class Collective : std::uint8_t { allreduce, bcast, reduce, reduce_scatter, allgather };

constexpr std::array collectives{Collective::allreduce, Collective::bcast, Collective::reduce,
                                 Collective::reduce_scatter, Collective::allgather};

constexpr std::string_view name_of(Collective collective) {
  constexpr std::array<std::string_view, collectives.size()> names{"allreduce", "bcast", "reduce",
                                                                   "reduce_scatter", "allgather"};
  return names.at(static_cast<std::size_t>(collective));
}

constexpr std::optional<Collective> find_collective(std::string_view name) {
  for (const Collective collective : collectives) {
    if (name_of(collective) == name) return collective;
  }
  return std::nullopt;
}

constexpr bool has_root(Collective collective) {
  return collective == Collective::bcast || collective == Collective::reduce;
}
constexpr bool is_reduction(Collective collective) {
  return collective != Collective::bcast && collective != Collective::allgather;
}
/// Whether there is one block for each rank, of the length that the caller gives.
constexpr bool has_block_of_each_rank(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::allgather;
}

}  // namespace stretto
