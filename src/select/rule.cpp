// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

namespace stretto {
namespace {

constexpr std::size_t kibibyte = 1024;

/// Messages of a pipelined ring. Small enough that every library sends them eagerly, without waiting for the
/// receiver (Open MPI's limit over TCP is 64 KiB), large enough that the cost of a message is small against
/// its time.
constexpr std::size_t ring_message_bytes = 32 * kibibyte;

}  // namespace

Spec choose_allreduce(const CallShape& shape) {
  // Inside a node the library's shared memory is at its best, and below the floor it is the latency that
  // counts.
  if (shape.bytes < allreduce_native_floor() || shape.nodes < 2 || !shape.commutative) return {};
  static const Algorithm* ring = find_algorithm(Collective::allreduce, "ring");
  const std::size_t segment_bytes = ring_message_bytes * static_cast<std::size_t>(shape.ranks);
  return {.algorithm = ring, .pipelining = {.segment_bytes = segment_bytes}};
}

std::size_t allreduce_native_floor() {
  return 256 * kibibyte;
}

}  // namespace stretto
