// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <algorithm>
#include <bit>

namespace stretto {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

/// Messages of a pipelined ring. Small enough that every library sends them eagerly, without waiting for the
/// receiver (Open MPI's limit over TCP is 64 KiB), large enough that the cost of a message is small against
/// its time.
constexpr std::size_t ring_message_bytes = 32 * kibibyte;

}  // namespace

Spec choose_allreduce(const CallShape& shape) {
  static const Algorithm* ring = find_algorithm(Collective::allreduce, "ring");
  // Inside a node the library's shared memory is at its best, until the message leaves the caches: from there
  // on a pair of ranks is faster when each reduces one half and segments stay in the cache.
  if (shape.ranks == 2 && shape.nodes == 1 && shape.bytes >= 16 * mebibyte) {
    return {.algorithm = ring, .pipelining = {.segment_bytes = 256 * kibibyte}};
  }
  // Between nodes a ring pays once each of its 2(p-1) rounds is worth more than its latency, and once there
  // are segments to fill the gaps of each other: sooner when p is no power of two, where the libraries'
  // algorithms send the whole message once or twice more.
  const std::size_t segment_bytes = ring_message_bytes * static_cast<std::size_t>(shape.ranks);
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(shape.ranks));
  const std::size_t enough = std::max(allreduce_native_floor(), segment_bytes) * (power_of_two ? 2 : 1);
  if (shape.bytes < enough || shape.nodes < 2 || !shape.commutative) return {};
  return {.algorithm = ring,
          .pipelining = {.segment_bytes = std::min(segment_bytes, Pipelining::most_segment_bytes)}};
}

std::size_t allreduce_native_floor() {
  return 256 * kibibyte;
}

}  // namespace stretto
