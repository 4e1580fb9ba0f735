// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto {

/// The collectives that Stretto implements, and the blocks that a rank has in memory (held_blocks()):
///
///                   input                  output
///   allreduce       all blocks             all blocks
///   bcast           none                   all blocks; on the root they hold the message from the start
///   reduce          all blocks             all blocks on the root, none on the others
///   reduce_scatter  all blocks             the block of this rank
///   allgather       the block of this rank all blocks
///   alltoall(v)     a block for each rank  a block from each rank
///   gather(v)       the block of this rank all blocks on the root, none on the others
///   scatter(v)      all blocks on the root the block of this rank
///   scan, exscan    all blocks             all blocks; none on rank 0 of an exscan
///   barrier         one block              none
///
/// Those that reduce all blocks, bcast and barrier are cut into equal blocks, as many as the algorithm needs.
/// The others have one block for each rank, of the length that the caller gives. In alltoallv (which also
/// stands for MPI_Alltoallw), gatherv and scatterv only the two ranks between which a block moves know its
/// length, so the choice of an algorithm cannot depend on it, and lengths of blocks that other ranks pass on
/// travel first (engine/execution/relayed_execution.hpp). In an alltoall all blocks have one length.
enum class Collective : std::uint8_t {
  allreduce,
  bcast,
  reduce,
  reduce_scatter,
  allgather,
  alltoall,
  alltoallv,
  gather,
  gatherv,
  scatter,
  scatterv,
  scan,
  exscan,
  barrier
};

constexpr std::array collectives{Collective::allreduce,      Collective::bcast,     Collective::reduce,
                                 Collective::reduce_scatter, Collective::allgather, Collective::alltoall,
                                 Collective::alltoallv,      Collective::gather,    Collective::gatherv,
                                 Collective::scatter,        Collective::scatterv,  Collective::scan,
                                 Collective::exscan,         Collective::barrier};

/// The names of `collectives`.
constexpr std::array<std::string_view, collectives.size()> collective_names{
    "allreduce", "bcast",   "reduce",  "reduce_scatter", "allgather", "alltoall", "alltoallv",
    "gather",    "gatherv", "scatter", "scatterv",       "scan",      "exscan",   "barrier"};

constexpr std::string_view name_of(Collective collective) {
  return collective_names.at(static_cast<std::size_t>(collective));
}

constexpr std::optional<Collective> find_collective(std::string_view name) {
  for (const Collective collective : collectives) {
    if (name_of(collective) == name) return collective;
  }
  return std::nullopt;
}

constexpr bool is_gather(Collective collective) {
  return collective == Collective::gather || collective == Collective::gatherv;
}
constexpr bool is_scatter(Collective collective) {
  return collective == Collective::scatter || collective == Collective::scatterv;
}
constexpr bool is_alltoall(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::alltoallv;
}
constexpr bool is_scan(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

constexpr bool has_root(Collective collective) {
  return collective == Collective::bcast || collective == Collective::reduce || is_gather(collective) ||
         is_scatter(collective);
}
constexpr bool is_reduction(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter || is_scan(collective);
}
/// Whether there is one block for each rank, of the length that the caller gives.
constexpr bool has_block_of_each_rank(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::allgather ||
         is_alltoall(collective) || is_gather(collective) || is_scatter(collective);
}
/// Whether only the two ends of a block's way know its length.
constexpr bool has_private_lengths(Collective collective) {
  return collective == Collective::alltoallv || collective == Collective::gatherv ||
         collective == Collective::scatterv;
}
/// Whether its message has no length that all ranks know, so that it is not cut into segments.
constexpr bool is_never_cut(Collective collective) {
  return has_private_lengths(collective) || collective == Collective::barrier;
}
/// Whether its schedules also work if the input is the output. An alltoall in place gets a copy of its input.
constexpr bool works_in_place(Collective collective) {
  return !is_alltoall(collective) && collective != Collective::barrier;
}

/// The blocks of the message that a buffer holds, as in Collective's table.
enum class Held : std::uint8_t { none, own, all };
struct HeldBlocks {
  Held input;
  Held output;
};

/// Returns what the buffers of a rank hold, out of place.
constexpr HeldBlocks held_blocks(Collective collective, int rank, int root) {
  const Held on_root = rank == root ? Held::all : Held::none;
  switch (collective) {
    case Collective::allreduce:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::scan:
      return {Held::all, Held::all};
    case Collective::bcast:
      return {Held::none, Held::all};
    case Collective::reduce:
      return {Held::all, on_root};
    case Collective::reduce_scatter:
      return {Held::all, Held::own};
    case Collective::allgather:
      return {Held::own, Held::all};
    case Collective::gather:
    case Collective::gatherv:
      return {Held::own, on_root};
    case Collective::scatter:
    case Collective::scatterv:
      return {on_root, Held::own};
    case Collective::exscan:
      return {Held::all, rank == 0 ? Held::none : Held::all};
    case Collective::barrier:
      return {Held::all, Held::none};
  }
  return {Held::none, Held::none};
}

}  // namespace stretto
