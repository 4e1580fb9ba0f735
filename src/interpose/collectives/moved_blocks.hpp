// SPDX-License-Identifier: Apache-2.0
// What the collectives that move a block for each rank have in common. Their messages are bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/channel.hpp"
#include "engine/packed_blocks.hpp"
#include "engine/packing.hpp"
#include "interpose/operations/message.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/rule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Blocks of a program's buffer. `displacements` count extents of the type, as MPI's v-collectives have them;
/// with nullptr the blocks follow each other. Returns nothing if a count is negative, which the library
/// reports. Without elements, any type will do, as the libraries see it.
template <typename Count>
std::optional<std::vector<UsersBlock>> users_blocks(const void* buffer, int ranks, const Count* counts,
                                                    const Count* displacements, MPI_Datatype datatype) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  const bool is_empty = std::all_of(counts, counts + ranks, [](Count count) { return count == 0; });
  if (!is_empty && (datatype == mpi.datatype_null ||
                    mpi.Type_get_extent(datatype, &lower_bound, &extent) != MPI_SUCCESS)) {
    return std::nullopt;
  }
  std::vector<UsersBlock> blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  // Schedules never write to the input (proven).
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(buffer));
  for (int rank = 0; rank < ranks; ++rank) {
    if (counts[rank] < 0) return std::nullopt;
    blocks.push_back({begin + static_cast<std::ptrdiff_t>(displacements[rank]) * extent,
                      static_cast<std::size_t>(counts[rank]), datatype});
  }
  return blocks;
}

/// Returns the block that follows so many like the first one.
inline UsersBlock block_of(const UsersBlock& first, std::size_t index) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_extent(first.datatype, &lower_bound, &extent);
  const auto before = static_cast<std::ptrdiff_t>(index * first.count);
  return {static_cast<std::byte*>(first.users) + before * extent, first.count, first.datatype};
}

/// What a rank sends, as arguments of a call: elements, or MPI_IN_PLACE.
struct SentElements {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype datatype;

  [[nodiscard]] bool in_place() const { return buffer == mpi.in_place; }
  [[nodiscard]] ProgramHandles handles(MPI_Datatype received) const {
    return {
        .datatype = received, .other_datatype = in_place() ? mpi.datatype_null : datatype, .op = mpi.op_null};
  }
};

/// Returns the traits of a call that moves blocks of `bytes` in all. What is sent must have as many bytes as
/// `received`, the block that it becomes; if not, the library reports it.
inline CallTraits traits_of_blocks(Collective collective, std::size_t bytes, const SentElements& sent,
                                   std::size_t received, std::optional<std::size_t> element_bytes) {
  const bool in_place = sent.in_place();
  const std::optional<std::size_t> sent_bytes = in_place ? element_bytes : signature_bytes(sent.datatype);
  const bool matches = in_place || static_cast<std::size_t>(sent.count) * sent_bytes.value_or(0) == received;
  return {.collective = collective,
          .bytes = bytes,
          .in_place = InPlaceEverywhere::of(collective, in_place),
          .understood = element_bytes && sent_bytes && matches,
          .element_bytes = element_bytes.value_or(0)};
}

/// Whether one node's blocks are too long for every node to get them from it (CallShape::has_dominant_node).
template <typename Count>
bool has_dominant_node(const Topology& topology, const Count* counts) {
  const auto fits = [&](double most, double all) { return most * topology.nodes <= dominant_share * all; };
  double all = 0;
  double longest = 0;
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    all += static_cast<double>(counts[rank]);
    longest = std::max(longest, static_cast<double>(counts[rank]));
  }
  if (fits(longest * topology.max_ppn, all)) return false;
  double most = 0;
  for (int node = 0; node < topology.nodes; ++node) {
    double of_node = 0;
    for (const int rank : topology.on_node(node)) of_node += static_cast<double>(counts[rank]);
    most = std::max(most, of_node);
  }
  return !fits(most, all);
}

/// Blocks of one length that follow each other.
inline std::vector<std::size_t> equal_borders(int ranks, std::size_t block_bytes) {
  std::vector<std::size_t> borders(static_cast<std::size_t>(ranks) + 1);
  for (std::size_t i = 0; i < borders.size(); ++i) borders[i] = i * block_bytes;
  return borders;
}

/// Borders of which only one rank's block has a length.
inline std::vector<std::size_t> borders_of_one(int ranks, int rank, std::size_t block_bytes) {
  std::vector<std::size_t> borders(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t i = static_cast<std::size_t>(rank) + 1; i < borders.size(); ++i) borders[i] = block_bytes;
  return borders;
}

}  // namespace stretto
