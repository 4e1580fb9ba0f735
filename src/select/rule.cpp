// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

namespace stretto {

Spec choose_allreduce(const CallShape& shape) {
  if (shape.bytes < allreduce_native_floor() || shape.nodes < 2 || !shape.commutative) return {};
  static const Algorithm* ring = find_algorithm(Collective::allreduce, "ring");
  return {.algorithm = ring, .pipelining = {.segments = 16, .segment_bytes = 0, .window = 8}};
}

std::size_t allreduce_native_floor() {
  return std::size_t{256} << 10;
}

}  // namespace stretto
