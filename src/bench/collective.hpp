// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto::bench {

/// The calls of MPI that can be measured.
enum class Collective : std::uint8_t {
  allreduce,
  bcast,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  allgather
};

struct CollectiveName {
  Collective collective;
  std::string_view name;
  std::string_view algorithms;  // the collective whose algorithms carry it out
};

constexpr std::array<CollectiveName, 6> collective_names{{
    {Collective::allreduce, "allreduce", "allreduce"},
    {Collective::bcast, "bcast", "bcast"},
    {Collective::reduce, "reduce", "reduce"},
    {Collective::reduce_scatter, "reduce_scatter", "reduce_scatter"},
    {Collective::reduce_scatter_block, "reduce_scatter_block", "reduce_scatter"},
    {Collective::allgather, "allgather", "allgather"},
}};

constexpr const CollectiveName& names_of(Collective collective) {
  return collective_names.at(static_cast<std::size_t>(collective));
}

constexpr std::optional<Collective> find_collective(std::string_view name) {
  const auto* const found = std::find_if(collective_names.begin(), collective_names.end(),
                                         [&](const CollectiveName& one) { return one.name == name; });
  return found == collective_names.end() ? std::nullopt : std::optional(found->collective);
}

constexpr bool has_root(Collective collective) {
  return collective == Collective::bcast || collective == Collective::reduce;
}

/// All ranks have blocks of one length, so that a message is a multiple of the number of ranks.
constexpr bool has_equal_blocks(Collective collective) {
  return collective == Collective::reduce_scatter_block || collective == Collective::allgather;
}

}  // namespace stretto::bench
