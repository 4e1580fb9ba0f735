// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "select/form.hpp"

namespace stretto {

/// What is too short for Stretto on communicators of one kind. The same on all ranks.
struct Floors {
  /// [collective] bytes
  using Sizes = std::array<std::size_t, collectives.size()>;
  /// [form] Table and rule leave shorter calls to the library, and nothing is learned from them.
  std::array<Sizes, forms.size()> choice{};
  /// Shorter blocking calls take less time than finding out who is faster in one of them.
  Sizes comparison{};

  [[nodiscard]] std::size_t choice_of(Collective collective, Form form) const {
    return choice.at(static_cast<std::size_t>(form)).at(static_cast<std::size_t>(collective));
  }
  [[nodiscard]] std::size_t comparison_of(Collective collective) const {
    return comparison.at(static_cast<std::size_t>(collective));
  }
};

/// The floors of communicators of one node with so many ranks, and of those of several nodes.
Floors floors_inside_node(int ranks);
Floors floors_between_nodes();
/// The lowest choice floors of all communicators that this job can have.
Floors lowest_floors();

}  // namespace stretto
