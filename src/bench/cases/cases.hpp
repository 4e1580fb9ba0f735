// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "bench/cases/collective.hpp"
#include "bench/cases/options.hpp"
#include "bench/cases/pattern.hpp"

namespace stretto::bench {

/// One message size, in place or not. The message is the whole vector: a reduce_scatter's input on a rank,
/// an allgather's output.
struct Case {
  std::size_t count;
  std::size_t bytes;
  bool in_place;
};

/// The cases that the options name. Sizes are cut to whole elements, at least one, and where all ranks have
/// blocks of one length, to one that they can share; the same for each part of a mock-up. What is then the
/// same stays once.
std::vector<Case> list_cases(const Options& options, const Element& element, int ranks);

/// What a case is for one rank.
struct Role {
  Collective collective;
  std::size_t count;
  bool in_place;
  int root;
  int rank;
  int ranks;

  bool is_root() const noexcept { return rank == root; }
  /// This rank's call gives MPI_IN_PLACE: in a reduce only the root may.
  bool calls_in_place() const noexcept;
  /// A rank's block of whatever has blocks: equal, the remainder to the first ranks.
  std::size_t block_begin(int of_rank) const noexcept;
  std::size_t block_count(int of_rank) const noexcept;
  /// Elements of the two buffers.
  std::size_t input_count() const noexcept;
  std::size_t output_count() const noexcept;
  /// A rank may end its call before others began theirs, as a broadcasting root does.
  bool ranks_run_ahead() const noexcept;
};

}  // namespace stretto::bench
