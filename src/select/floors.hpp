// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "select/form.hpp"
#include "select/table.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// What the floors of a job depend on. It is the same on all ranks.
struct FloorFacts {
  const Table* table = nullptr;  // the tuning table
  bool shares_memory = true;     // whether messages inside nodes go through shared memory
  int max_ppn = 1;               // ranks on the fullest node of the job
  bool learns = true;            // unless STRETTO_ONLINE=0
};

/// The lengths below which calls are too short for Stretto, on communicators of one kind. They are the same
/// on all ranks.
struct Floors {
  /// [collective] bytes
  using Sizes = std::array<std::size_t, collectives.size()>;
  /// [form] Table and rule leave shorter calls to the MPI library, and nothing is learned from them.
  std::array<Sizes, forms.size()> choice{};
  /// A shorter blocking call takes less time than it takes to find out who is faster in it.
  Sizes comparison{};

  [[nodiscard]] std::size_t choice_of(Collective collective, Form form) const {
    return choice.at(static_cast<std::size_t>(form)).at(static_cast<std::size_t>(collective));
  }
  [[nodiscard]] std::size_t comparison_of(Collective collective) const {
    return comparison.at(static_cast<std::size_t>(collective));
  }
};

/// Returns the floors of communicators with these ranks.
Floors floors_of(int nodes, int ranks, const FloorFacts& facts);
/// Returns the lowest choice floors of all communicators that a job on these ranks can have.
Floors lowest_floors(const Topology& world, const FloorFacts& facts);

}  // namespace stretto
