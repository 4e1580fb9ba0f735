// SPDX-License-Identifier: Apache-2.0
#pragma once

// Internal: the instruction sets for which the kernels were compiled. find() uses the best one; tests compare
// all of them.

#include <span>

#include "kernels/table.hpp"

namespace stretto::kernels {

struct Target {
  const char* name;
  bool (*supported)() noexcept;  // whether the processor and the operating system support it
  Table table;                   // nullptr where the target has no kernel of its own
  Copy copy;
  Copy streaming_copy;
};

// Plain loops for every operation on every type. They run anywhere.
extern const Target plain_target;

// All targets, the best first; the last one is plain_target. The others have no kernels for long double.
std::span<const Target* const> targets() noexcept;

// The best target that this processor supports.
const Target& chosen_target() noexcept;

// Returns the function of the target, or the plain one if it has none.
Function find(const Target& target, Type type, Op op) noexcept;

}  // namespace stretto::kernels
