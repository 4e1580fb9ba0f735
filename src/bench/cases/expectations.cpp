// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/expectations.hpp"

#include <algorithm>

namespace stretto::bench {
namespace {

/// Returns a rank's own data at the place where its call reads them. A gathered block starts with the first
/// element of its rank's pattern, so that no two blocks are equal.
Piece given(const Role& role, std::uint64_t generation) {
  const Content mine = Content::input(role.rank, generation);
  if (!role.calls_in_place() || is_scatter(role.collective)) return {0, role.input_count(), mine};
  if (!is_allgather(role.collective) && !is_gather(role.collective)) return {0, role.count, mine};
  return {role.block_begin(role.rank), role.block_count(role.rank), mine};
}

std::vector<Piece> gathered(const Role& role, std::uint64_t generation) {
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<std::size_t>(role.ranks));
  for (int rank = 0; rank < role.ranks; ++rank) {
    pieces.push_back({role.block_begin(rank), role.block_count(rank), Content::input(rank, generation)});
  }
  return pieces;
}

std::vector<Piece> result(const Role& role, std::uint64_t generation) {
  const Content sum = Content::sum(role.ranks, generation);
  const std::size_t block_begin = role.block_begin(role.rank);
  const std::size_t block_count = role.block_count(role.rank);
  std::vector<Piece> pieces;
  switch (role.collective) {
    case Collective::allreduce:
      return {{0, role.count, sum}};
    case Collective::bcast:
      return {{0, role.count, Content::input(role.root, generation)}};
    case Collective::reduce:
      if (role.is_root()) pieces.push_back({0, role.count, sum});
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return {{0, block_count, sum.from(block_begin)}};
    case Collective::allgather:
    case Collective::allgatherv:
      return gathered(role, generation);
    case Collective::gather:
    case Collective::gatherv:
      if (role.is_root()) return gathered(role, generation);
      break;
    case Collective::scatter:
    case Collective::scatterv:
      if (role.calls_in_place()) break;
      return {{0, block_count, Content::input(role.root, generation).from(block_begin)}};
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      // This rank's part of each rank's data.
      for (int from = 0; from < role.ranks; ++from) {
        pieces.push_back({role.part_begin_in_output(from, role.rank), role.part_count(from, role.rank),
                          Content::input(from, generation).from(role.part_begin_in_input(from, role.rank))});
      }
      break;
    case Collective::scan:
      return {{0, role.count, Content::sum(role.rank + 1, generation)}};
    case Collective::exscan:
      // MPI does not define the result on rank 0.
      if (role.rank > 0) pieces.push_back({0, role.count, Content::sum(role.rank, generation)});
      break;
    case Collective::barrier:
      break;
  }
  return pieces;
}

/// Returns whether the elements [first, last) of the buffer hold what the pieces say.
bool range_holds(const Pattern& pattern, const std::vector<Piece>& pieces, const std::byte* buffer,
                 std::size_t first, std::size_t last) {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    const std::size_t begin = std::max(first, piece.at);
    const std::size_t end = std::min(last, piece.at + piece.count);
    return begin >= end || pattern.holds(buffer, begin, end - begin, piece.content.from(begin - piece.at));
  });
}

}  // namespace

Holdings holdings_before(const Role& role, std::uint64_t generation) {
  if (role.collective == Collective::bcast) {
    const Content message = Content::input(role.root, generation);
    return {{}, {{0, role.count, role.is_root() ? message : message.unlike()}}};
  }
  if (role.calls_in_place() && !is_scatter(role.collective)) return {{}, {given(role, generation)}};
  return {{given(role, generation)}, {}};
}

Holdings holdings_after(const Role& role, std::uint64_t generation) {
  return {holdings_before(role, generation).input, result(role, generation)};
}

void fill(const Pattern& pattern, const std::vector<Piece>& pieces, std::byte* buffer) {
  for (const Piece& piece : pieces) pattern.fill(buffer, piece.at, piece.count, piece.content);
}

bool hold(const Pattern& pattern, const std::vector<Piece>& pieces, const std::byte* buffer) {
  return range_holds(pattern, pieces, buffer, 0, SIZE_MAX);
}

bool hold_sampled(const Pattern& pattern, const std::vector<Piece>& pieces, const std::byte* buffer,
                  std::size_t count, std::uint64_t generation) {
  constexpr std::size_t windows = 16;
  constexpr std::size_t width = 64;
  if (count <= windows * width) return hold(pattern, pieces, buffer);
  const std::size_t stride = (count - width) / (windows - 1);
  // The windows at the ends are fixed. The others move with the generation.
  const std::size_t shift = generation * 7919 % stride;
  bool holds = range_holds(pattern, pieces, buffer, 0, width) &&
               range_holds(pattern, pieces, buffer, count - width, count);
  for (std::size_t window = 0; window + 1 < windows; ++window) {
    const std::size_t first = std::min(window * stride + shift, count - width);
    holds = holds && range_holds(pattern, pieces, buffer, first, first + width);
  }
  return holds;
}

}  // namespace stretto::bench
