// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include "mpi/mpi.hpp"

namespace stretto::bench {

/// The type of a message's elements.
struct Element {
  std::string name;
  MPI_Datatype datatype;
  std::size_t size;
};

/// Finds float, double or int32. Throws std::invalid_argument for any other name.
Element find_element(const std::string& name);

/// A run of the periodic data in the buffers.
///
/// Element i of the input of rank r is (i + 31 r + 17 g) mod 251, where g is the generation: data of two
/// generations differ everywhere. The period is a prime, so blocks in the wrong place are detected.
struct Content {
  int summed;         // the number of ranks whose inputs are summed, from rank 0 on; 0: one rank's input
  std::size_t phase;  // of the first element

  static Content input(int rank, std::uint64_t generation);
  static Content sum(int ranks, std::uint64_t generation);
  /// Returns the same content without the elements before that one.
  Content from(std::size_t element) const;
  /// Returns content that differs from this everywhere.
  Content unlike() const;
};

/// Writes and checks the data. All sums are exactly representable, so results are checked bit by bit. Rank
/// and generation only shift the phase, so one table of the inputs and one for each sum are enough, and
/// filling is a copy.
class Pattern {
 public:
  Pattern(const Element& element, int ranks);

  /// Fill or check the `count` elements of the buffer from `at` on.
  void fill(std::byte* buffer, std::size_t at, std::size_t count, const Content& content) const;
  bool holds(const std::byte* buffer, std::size_t at, std::size_t count, const Content& content) const;

 private:
  const std::vector<std::byte>& table(const Content& content) const;

  Element element_;
  std::size_t size_;
  mutable std::map<int, std::vector<std::byte>> tables_;  // made when they are needed
};

}  // namespace stretto::bench
