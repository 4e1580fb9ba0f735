// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kernels/reduce.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// A datatype and an operation as the engine needs them: the layout of elements, and how to reduce them.
struct Element {
  MPI_Datatype datatype{};
  MPI_Op op{};
  std::ptrdiff_t size = 0;    // bytes of data, the same on all ranks
  std::ptrdiff_t extent = 0;  // from one element to the next
  std::ptrdiff_t true_lower_bound = 0;
  std::ptrdiff_t true_extent = 0;
  bool commutative = true;
  kernels::Function kernel = nullptr;  // nullptr: MPI_Reduce_local does it
  /// Whether the operation is the program's, which may write to both of its operands.
  bool calls_program = false;

  /// Whether there are no gaps, so that moving elements is moving bytes.
  [[nodiscard]] bool contiguous() const {
    return size == extent && true_extent == extent && true_lower_bound == 0;
  }

  /// Returns the bytes that `count` elements span, including the gaps between them.
  [[nodiscard]] std::size_t span(std::size_t count) const {
    return count == 0 ? 0 : distance() * (count - 1) + static_cast<std::size_t>(true_extent);
  }

  /// Returns the offset of the first byte of `count` elements from the address that MPI gets for them.
  [[nodiscard]] std::ptrdiff_t offset(std::size_t count) const {
    const std::ptrdiff_t last = count == 0 ? 0 : extent * static_cast<std::ptrdiff_t>(count - 1);
    return true_lower_bound + (last < 0 ? last : 0);
  }

  /// Returns the address to give MPI so that `count` elements start at `memory`, which holds span(count)
  /// bytes.
  [[nodiscard]] std::byte* place(std::byte* memory, std::size_t count) const {
    return memory - offset(count);
  }

  /// Returns the bytes between neighbouring elements, whichever comes first in memory.
  [[nodiscard]] std::size_t distance() const {
    return static_cast<std::size_t>(extent < 0 ? -extent : extent);
  }

  /// Computes into ← from. Gaps in `into` keep their contents. Returns an MPI error code.
  int copy(void* into, const void* from, std::size_t count) const;
  /// Does the same as copy(), but writes past the caches where that is possible.
  int stream(void* into, const void* from, std::size_t count) const;

  /// Computes into ← left op right. `into` may be one of the two. Returns an MPI error code.
  int reduce(void* into, const void* left, const void* right, std::size_t count) const;

  /// Does the same as reduce() with an operand that has arrived in `landing`, which may be overwritten.
  int reduce_arrived(void* into, std::byte* landing, bool landing_is_left, const void* with,
                     std::size_t count) const;

 private:
  /// Computes right ← left op right by MPI. The program's operation may change `right`, and `left` only if
  /// `may_spoil_left`.
  int reduce_by_library(const void* left, bool may_spoil_left, void* right, std::size_t count) const;
};

/// Returns the element for a datatype and an operation; nothing if Stretto does not know them or MPI does not
/// define the reduction. The MPI library must handle such calls. Makes no call on an invalid handle.
std::optional<Element> find_element(MPI_Datatype datatype, MPI_Op op);

/// Returns a number for each predefined operation, the same on all ranks, and one number for all others.
int number_of_operation(MPI_Op op);
bool is_program_operation(MPI_Op op);
/// Returns a name such as MPI_SUM.
std::string name_of_operation(int number);

/// Returns the bytes of one element of a predefined datatype; 0 for all other handles, valid or not. Takes
/// a few nanoseconds.
std::size_t predefined_size(MPI_Datatype datatype);

/// Returns the element for bytes that are only moved.
Element byte_element();

/// To be called once after load_mpi() and MPI_Init.
void load_predefined_handles();

}  // namespace stretto
