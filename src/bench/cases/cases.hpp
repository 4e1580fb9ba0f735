// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "bench/cases/collective.hpp"
#include "bench/cases/options.hpp"
#include "bench/cases/pattern.hpp"

namespace stretto::bench {

/// One message size, in place or not. The message is the whole vector: the input of a reduce_scatter on a
/// rank, the output of an allgather.
struct Case {
  std::size_t count;
  std::size_t bytes;
  bool in_place;
};

/// Returns the cases that the options name. Sizes are rounded down to whole elements, at least one. If all
/// ranks have blocks of one length, they are rounded to a size that the ranks can share; the same for each
/// part of a mock-up. Equal cases are listed once.
std::vector<Case> list_cases(const Options& options, const Element& element, int ranks);

/// A case as one rank sees it.
struct Role {
  Collective collective;
  std::size_t count;
  bool in_place;
  int root;
  int rank;
  int ranks;

  bool is_root() const noexcept { return rank == root; }
  /// Whether this rank's call passes MPI_IN_PLACE: in a reduce only the root may.
  bool calls_in_place() const noexcept;
  /// A rank's block, where ranks have blocks: equal ones, with the remainder to the first ranks.
  std::size_t block_begin(int of_rank) const noexcept;
  std::size_t block_count(int of_rank) const noexcept;
  /// Returns the elements of the two buffers.
  std::size_t input_count() const noexcept;
  std::size_t output_count() const noexcept;
  /// Whether a rank may end its call before others have begun theirs, as a broadcasting root does.
  bool ranks_run_ahead() const noexcept;
};

}  // namespace stretto::bench
