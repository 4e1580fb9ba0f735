// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "algorithms/registry.hpp"
#include "schedule/pipelining.hpp"

namespace stretto {

/// One way to carry out a collective, written the same everywhere: `native`, `native:segments=4`, `ring`,
/// `ring:segments=16:window=8`, `knomial:radix=4`, `smp(ring):segment_bytes=256KiB`.
///
/// `native` alone is the library's blocking call; with segments it is that many of its non-blocking calls,
/// and a wait.
struct Spec {
  Recipe recipe;
  Pipelining pipelining;

  [[nodiscard]] bool is_native() const { return recipe.algorithm == nullptr; }
  /// The library's blocking call: nothing for Stretto to do.
  [[nodiscard]] bool is_pass_through() const { return is_native() && pipelining == Pipelining{}; }

  friend bool operator==(const Spec&, const Spec&) = default;
};

class SpecError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Throws SpecError with one line that names what cannot be read and what would be right.
Spec parse_spec(Collective collective, std::string_view text);

/// The canonical spelling; parse_spec() of it gives the same spec.
std::string to_string(const Spec& spec);

}  // namespace stretto
