// SPDX-License-Identifier: Apache-2.0
// Specs that a program forces on itself, by the C interface of the Stretto under which it runs.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "check.hpp"

inline void force(const std::string& collective, const std::string& spec, std::size_t least_bytes = 0) {
  using Force = int (*)(const char*, const char*, std::size_t);
  static const auto function = from_stretto<Force>("stretto_force");
  CHECK(function(collective.c_str(), spec.c_str(), least_bytes) == MPI_SUCCESS, spec);
}

/// Whether the forced spec can serve this communicator.
inline bool fits(MPI_Comm comm, const std::string& collective, const std::string& spec, std::size_t bytes) {
  return choice(comm, bytes, collective) == spec;
}

/// Returns every algorithm of a collective as a spec; if the algorithm can be cut, also in segments.
inline std::vector<std::string> specs_of(const std::string& collective) {
  const auto found = stretto::find_collective(collective);
  CHECK(found.has_value(), collective);
  std::vector<std::string> specs;
  for (const stretto::Recipe& recipe : stretto::sample_recipes(*found)) {
    specs.push_back(to_string(recipe));
    const bool is_cut = !recipe.algorithm->stays_whole() && !has_private_lengths(*found);
    if (is_cut && recipe.parts.empty()) specs.push_back(specs.back() + ":segments=3");
  }
  return specs;
}
