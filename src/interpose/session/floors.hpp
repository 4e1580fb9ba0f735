// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "select/form.hpp"

namespace stretto {

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

/// Returns the floors of communicators with `ranks` ranks on one node, or of communicators on several nodes.
Floors floors_inside_node(int ranks);
Floors floors_between_nodes();
/// Returns the lowest choice floors of all communicators that this job can have.
Floors lowest_floors();

}  // namespace stretto
