// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "algorithms/registry.hpp"
#include "schedule/pipelining.hpp"

namespace stretto {

/// The way in which a collective is carried out, in the same notation everywhere: `native`,
/// `native:segments=4`, `ring`, `ring:segments=16:window=8`, `knomial:radix=4`,
/// `smp(ring):segment_bytes=256KiB`.
///
/// `native` alone is the MPI library's blocking call. With segments, it is one of the library's non-blocking
/// calls for each segment, and a wait.
struct Spec {
  Recipe recipe;
  Pipelining pipelining;

  [[nodiscard]] bool is_native() const { return recipe.algorithm == nullptr; }
  /// Whether the MPI library's blocking call does everything.
  [[nodiscard]] bool is_pass_through() const { return is_native() && pipelining == Pipelining{}; }

  friend bool operator==(const Spec&, const Spec&) = default;
};

class SpecError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reads a spec. Throws SpecError with one line that names what cannot be read and what is expected.
Spec parse_spec(Collective collective, std::string_view text);

/// Returns the canonical spelling. parse_spec() of it returns the same spec.
std::string to_string(const Spec& spec);

}  // namespace stretto
