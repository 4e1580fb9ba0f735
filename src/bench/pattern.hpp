// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stretto::bench {

/// The type of a message's elements.
struct Element {
  std::string name;
  MPI_Datatype datatype;
  std::size_t size;
};

/// float, double or int32; throws std::invalid_argument for any other.
Element find_element(const std::string& name);

/// Input data whose sum over all ranks is known and exactly representable, so that a result is checked bit by
/// bit.
///
/// Element i on rank r is (i + 31 r + 17 g) mod 251, where g is the generation: data of another generation
/// differ everywhere. The period is a prime, so blocks that land in the wrong place show. Rank and generation
/// only shift the phase: one table of the inputs and one of the sums serve all, and filling is a copy.
class Pattern {
 public:
  Pattern(const Element& element, int rank, int ranks);

  void fill(std::byte* into, std::size_t count, std::uint64_t generation) const;
  bool holds_input(const std::byte* data, std::size_t count, std::uint64_t generation) const;
  bool holds_sum(const std::byte* data, std::size_t count, std::uint64_t generation) const;
  /// Both ends and some places between, others in each generation.
  bool holds_sum_sampled(const std::byte* data, std::size_t count, std::uint64_t generation) const;

 private:
  std::size_t input_phase(std::size_t first, std::uint64_t generation) const;
  std::size_t sum_phase(std::size_t first, std::uint64_t generation) const;
  bool range_holds_sum(const std::byte* data, std::size_t first, std::size_t last,
                       std::uint64_t generation) const;

  std::size_t size_;
  std::size_t rank_;
  std::vector<std::byte> inputs_;
  std::vector<std::byte> sums_;
};

}  // namespace stretto::bench
