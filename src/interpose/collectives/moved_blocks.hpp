// SPDX-License-Identifier: Apache-2.0
// Common parts of the collectives that move a block for each rank. Their messages are bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/messages/channel.hpp"
#include "engine/packing/packed_blocks.hpp"
#include "engine/packing/packing.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/dispatch/program_call.hpp"
#include "interpose/operations/call_buffers.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/rule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Returns the blocks of all ranks in a program's buffer, as MPI's v-collectives have them. Returns nothing
/// if a count is negative, which the MPI library reports. If there are no elements, any type will do, as in
/// the MPI libraries.
inline std::optional<std::vector<UserBlock>> user_blocks(const BufferArgument& buffer, int ranks) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  bool is_empty = true;
  for (int rank = 0; rank < ranks; ++rank) is_empty = is_empty && buffer.counts[rank] == 0;
  if (!is_empty && (buffer.datatype == mpi.datatype_null ||
                    mpi.Type_get_extent(buffer.datatype, &lower_bound, &extent) != MPI_SUCCESS)) {
    return std::nullopt;
  }
  std::vector<UserBlock> blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  auto* const begin = static_cast<std::byte*>(buffer.memory());
  for (int rank = 0; rank < ranks; ++rank) {
    if (buffer.counts[rank] < 0) return std::nullopt;
    blocks.push_back({begin + buffer.displacements[rank] * extent,
                      static_cast<std::size_t>(buffer.counts[rank]), buffer.datatype});
  }
  return blocks;
}

/// Returns the block that follows `index` blocks like `first`.
inline UserBlock block_of(const UserBlock& first, std::size_t index) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_extent(first.datatype, &lower_bound, &extent);
  const auto before = static_cast<std::ptrdiff_t>(index * first.count);
  return {static_cast<std::byte*>(first.users) + before * extent, first.count, first.datatype};
}

/// Returns a block as the program gives it, or several in one.
inline UserBlock user_block(const BufferArgument& buffer, std::size_t blocks = 1) {
  return {buffer.memory(), blocks * static_cast<std::size_t>(buffer.count), buffer.datatype};
}

/// Returns the program's types of a call that moves blocks.
inline ProgramHandles handles_of(const ProgramCall& program_call) {
  return {.datatype = program_call.received.datatype,
          .other_datatype =
              program_call.in_place() ? MPI_Datatype{mpi.datatype_null} : program_call.sent.datatype,
          .op = mpi.op_null};
}

/// Returns the traits of a call that moves blocks of `bytes` in all. The block that is sent must have as many
/// bytes as `received`, the block that it becomes; if not, the MPI library reports it.
inline CallTraits traits_of_blocks(const ProgramCall& program_call, std::size_t bytes, std::size_t received,
                                   std::optional<std::size_t> element_bytes) {
  const bool in_place = program_call.in_place();
  const BufferArgument& sent = program_call.sent;
  const Collective collective = program_call.collective();
  const std::optional<std::size_t> sent_bytes = in_place ? element_bytes : signature_bytes(sent.datatype);
  const bool matches = in_place || static_cast<std::size_t>(sent.count) * sent_bytes.value_or(0) == received;
  return {.collective = collective,
          .bytes = bytes,
          .in_place = InPlaceEverywhere::of(collective, in_place),
          .understood = element_bytes && sent_bytes && matches,
          .element_bytes = element_bytes.value_or(0)};
}

/// Whether a call that moves `bytes` bytes goes straight to the MPI library.
inline bool is_left_to_library(const ProgramCall& program_call, std::optional<std::size_t> element_bytes,
                               std::size_t bytes) {
  return !program_call.forced && element_bytes &&
         bytes < session.native_floor(program_call.collective(), program_call.form);
}

/// Carries out a call whose ranks all have blocks of one length (MPI_Allgather, MPI_Alltoall). Its message is
/// make_message(ranks, rank).
template <typename MakeMessage>
std::optional<int> dispatch_equal_blocks(ProgramCall& program_call, const MakeMessage& make_message) {
  const BufferArgument& received = program_call.received;
  if (received.count < 0 || (!program_call.in_place() && program_call.sent.count < 0) || received.in_place())
    return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->ranks() == 0) return std::nullopt;
  const std::optional<std::size_t> element_bytes = signature_bytes(received.datatype);
  const std::size_t block = static_cast<std::size_t>(received.count) * element_bytes.value_or(0);
  const std::size_t bytes = block * static_cast<std::size_t>(state->ranks());
  if (is_left_to_library(program_call, element_bytes, bytes)) return std::nullopt;
  return dispatch(program_call, traits_of_blocks(program_call, bytes, block, element_bytes),
                  handles_of(program_call), state,
                  [&] { return make_message(state->ranks(), state->rank()); });
}

/// Whether one node's blocks are too long for every node to get them from it (CallShape::has_dominant_node).
inline bool has_dominant_node(const Topology& topology, const Numbers& counts) {
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

/// Returns the borders of blocks of one length that follow each other.
inline std::vector<std::size_t> equal_borders(int ranks, std::size_t block_bytes) {
  std::vector<std::size_t> borders(static_cast<std::size_t>(ranks) + 1);
  for (std::size_t i = 0; i < borders.size(); ++i) borders[i] = i * block_bytes;
  return borders;
}

/// Returns borders between which only the block of `rank` is not empty.
inline std::vector<std::size_t> borders_of_one(int ranks, int rank, std::size_t block_bytes) {
  std::vector<std::size_t> borders(static_cast<std::size_t>(ranks) + 1, 0);
  for (std::size_t i = static_cast<std::size_t>(rank) + 1; i < borders.size(); ++i) borders[i] = block_bytes;
  return borders;
}

}  // namespace stretto
