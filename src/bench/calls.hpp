// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cases.hpp"
#include "pattern.hpp"

namespace stretto::bench {

/// A collective on MPI_COMM_WORLD by one spec, as a program would call it: by `native` the library's own, by
/// `auto` the one in front of it, both without the work of reading a spec.
class Call {
 public:
  Call(const Role& role, Element element, std::string spec);

  /// Returns MPI's error code. `input` counts for nothing where this rank's call is in place, and where the
  /// collective has none.
  int operator()(const void* input, void* output) const;

 private:
  template <typename Plain, typename BySpec, typename... Arguments>
  int call(Plain native, Plain automatic, BySpec by_spec, Arguments... arguments) const;

  Role role_;
  Element element_;
  std::string spec_;
  bool native_;
  bool automatic_;
  std::vector<int> block_counts_;
};

}  // namespace stretto::bench
