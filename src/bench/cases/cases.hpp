// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/cases/collective.hpp"
#include "bench/cases/options.hpp"
#include "bench/cases/pattern.hpp"

namespace stretto::bench {

/// One message size, in place or not. The message is the whole vector: the input of a reduce_scatter or an
/// alltoall on a rank, the output of an allgather, the root's buffer of a gather or scatter. A barrier has
/// one case, of no bytes.
struct Case {
  std::size_t count;
  std::size_t bytes;
  bool in_place;
};

/// Returns the cases that the options name. Sizes are rounded down to whole elements, at least one. If all
/// ranks have blocks of one length, sizes are rounded to one that the ranks can share equally, likewise for
/// each part of a mock-up. Equal cases are listed once.
std::vector<Case> list_cases(const Options& options, const Element& element, int ranks);

/// A case as one rank sees it.
struct Role {
  Collective collective;
  std::size_t count;
  bool in_place;
  int root;
  int rank;
  int ranks;
  std::optional<double> skew = {};  // options.hpp

  bool is_root() const noexcept { return rank == root; }
  /// Whether this rank's call passes MPI_IN_PLACE: if there is a root, only the root may.
  bool calls_in_place() const noexcept;
  /// Whether blocks have different lengths.
  bool is_skewed() const noexcept { return skew.has_value() && has_lengths(collective) && ranks > 1; }
  /// The begin and length of a rank's block, for collectives with a block for each rank. Blocks are equal;
  /// the remainder goes to the first ranks. With a skew, rank 0 has that part of the message, and the others
  /// share the rest.
  std::size_t block_begin(int of_rank) const noexcept;
  std::size_t block_count(int of_rank) const noexcept;
  /// The length of the part that `from` has for `to` in an alltoall, its place in the input of `from`, and
  /// its place in the output of `to`.
  std::size_t part_count(int from, int to) const noexcept;
  std::size_t part_begin_in_input(int from, int to) const noexcept;
  std::size_t part_begin_in_output(int from, int to) const noexcept;
  /// Returns the elements of the two buffers.
  std::size_t input_count() const noexcept;
  std::size_t output_count() const noexcept;
  /// Whether a rank may end its call before others have begun theirs, as a broadcasting root does.
  bool ranks_run_ahead() const noexcept;

 private:
  /// The lengths in an alltoall. They depend on how far `to` is after `from`, so that all ranks send and
  /// receive whole messages.
  struct Parts {
    std::size_t usual;     // to most ranks
    std::size_t own;       // to itself
    std::size_t next;      // to the rank after it
    std::size_t previous;  // to the rank before it
  };
  Parts parts() const noexcept;
  /// Returns where the part of another rank begins in a buffer of `of_rank`.
  std::size_t part_begin(int of_rank, int other, const Parts& lengths) const noexcept;
  std::size_t skewed_count() const noexcept;
  std::size_t count_of(Held held) const noexcept;
};

}  // namespace stretto::bench
