// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <algorithm>
#include <bit>

namespace stretto {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

/// Messages of a pipelined schedule. Small enough that every library sends them eagerly, without waiting for
/// the receiver (Open MPI's limit over TCP is 64 KiB), large enough that the cost of a message is small
/// against its time.
constexpr std::size_t message_bytes = 32 * kibibyte;
constexpr std::size_t least_message_bytes = 8 * kibibyte;

Recipe recipe_of(Collective collective, std::string_view name) {
  return usual_recipe(*find_algorithm(collective, name));
}

Spec pipelined(const Recipe& recipe, std::size_t segment_bytes) {
  return {.recipe = recipe,
          .pipelining = {.segment_bytes = std::min(segment_bytes, Pipelining::most_segment_bytes)}};
}

bool is_power_of_two(int ranks) {
  return std::has_single_bit(static_cast<unsigned>(ranks));
}

/// As many blocks as there are ranks, each a message.
std::size_t segment_of_blocks(const CallShape& shape) {
  return message_bytes * static_cast<std::size_t>(shape.ranks);
}

Spec choose_allreduce(const CallShape& shape) {
  static const Recipe ring = recipe_of(Collective::allreduce, "ring");
  static const Recipe lanes = recipe_of(Collective::allreduce, "multilane");
  // Inside a node the library's shared memory is at its best, until the message leaves the caches: from there
  // on a pair of ranks is faster when each reduces one half and segments stay in the cache.
  if (shape.ranks == 2 && shape.nodes == 1 && shape.bytes >= 16 * mebibyte) {
    return pipelined(ring, 256 * kibibyte);
  }
  // Between nodes a ring pays once each of its 2(p-1) rounds is worth more than its latency, and once there
  // are segments to fill the gaps of each other: sooner when p is no power of two, where the libraries'
  // algorithms send the whole message once or twice more. With lanes a node's link carries what N nodes need,
  // not what p ranks do.
  const std::size_t segment_bytes = segment_of_blocks(shape);
  const std::size_t enough =
      std::max(native_floor(Collective::allreduce), segment_bytes) * (is_power_of_two(shape.ranks) ? 2 : 1);
  if (shape.bytes < enough || shape.nodes < 2) return {};
  return pipelined(shape.min_ppn > 1 ? lanes : ring, segment_bytes);
}

/// A chain sends the message over each link once; it takes as long as the link needs, and the time until the
/// last rank gets its first segment. So there must be many segments, two a rank at least: then that is 1.5
/// times the message's time, and less than in a tree of any more than two rounds.
Spec choose_chain(const CallShape& shape) {
  static const Recipe bcast = recipe_of(Collective::bcast, "chain");
  static const Recipe reduce = recipe_of(Collective::reduce, "chain");
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t enough = std::max(native_floor(shape.collective), 2 * ranks * least_message_bytes);
  // Two ranks have one link between them, which any message fills.
  if (shape.bytes < enough || shape.nodes < 2 || shape.ranks == 2) return {};
  const std::size_t segment = std::clamp(shape.bytes / (16 * ranks), least_message_bytes, message_bytes);
  return pipelined(shape.collective == Collective::bcast ? bcast : reduce, std::bit_floor(segment));
}

/// From where on it is measured to gain.
std::size_t enough_for_blocks(const CallShape& shape) {
  // Two ranks exchange one message, whatever the algorithm; only very large ones gain by segments.
  if (shape.ranks == 2) return 8 * mebibyte;
  // Of reduce-scatters the libraries' own use the links as well; those that know no nodes use them too often.
  const bool lanes = shape.max_ppn > 1;
  if (shape.collective == Collective::reduce_scatter && !lanes) return 512 * kibibyte;
  return native_floor(shape.collective);
}

/// Reduce-scatter and allgather: every block crosses the links once.
Spec choose_blocks(const CallShape& shape) {
  if (shape.bytes < enough_for_blocks(shape) || shape.nodes < 2) return {};
  return pipelined(recipe_of(shape.collective, shape.max_ppn > 1 ? "multilane" : "ring"),
                   segment_of_blocks(shape));
}

}  // namespace

Spec choose(const CallShape& shape) {
  if (!shape.commutative) return {};
  switch (shape.collective) {
    case Collective::allreduce:
      return choose_allreduce(shape);
    case Collective::bcast:
    case Collective::reduce:
      return choose_chain(shape);
    case Collective::reduce_scatter:
    case Collective::allgather:
      return choose_blocks(shape);
  }
  return {};
}

Spec choose_reproducible(const CallShape& shape) {
  const bool small = shape.bytes < 8 * kibibyte;
  switch (shape.collective) {
    case Collective::allreduce: {
      if (small) return {.recipe = recipe_of(Collective::allreduce, "recursive_doubling"), .pipelining = {}};
      // Pairwise sends the least bytes for any p, in many rounds; but of several ranks a node each sends
      // these over its link.
      const bool pairwise = shape.bytes >= native_floor(shape.collective) && shape.max_ppn == 1;
      return pipelined(recipe_of(Collective::allreduce, pairwise ? "pairwise" : "rabenseifner"),
                       segment_of_blocks(shape));
    }
    case Collective::reduce:
      if (small) return {.recipe = recipe_of(Collective::reduce, "binomial"), .pipelining = {}};
      return pipelined(recipe_of(Collective::reduce, "rabenseifner"), segment_of_blocks(shape));
    case Collective::reduce_scatter:
      return pipelined(recipe_of(Collective::reduce_scatter, "pairwise"), segment_of_blocks(shape));
    case Collective::bcast:
    case Collective::allgather:
      break;
  }
  return {};
}

std::size_t native_floor(Collective collective, bool /*non_blocking*/) {
  return (collective == Collective::bcast ? 128 : 256) * kibibyte;
}

}  // namespace stretto
