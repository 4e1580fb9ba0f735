// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <algorithm>
#include <array>
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

/// Reads a text, so not to be done for each call.
Recipe recipe_of(Collective collective, std::string_view text) {
  return parse_spec(collective, text).recipe;
}

Spec whole(const Recipe& recipe) {
  return {.recipe = recipe, .pipelining = {}};
}

Spec pipelined(const Recipe& recipe, std::size_t segment_bytes) {
  return {.recipe = recipe,
          .pipelining = {.segment_bytes = std::min(segment_bytes, Pipelining::most_segment_bytes)}};
}

bool is_power_of_two(int ranks) {
  return std::has_single_bit(static_cast<unsigned>(ranks));
}

/// As many blocks as there are ranks. What takes a round for each block must have long ones.
std::size_t bytes_of_blocks(const CallShape& shape, std::size_t block_bytes) {
  return block_bytes * static_cast<std::size_t>(shape.ranks);
}

/// Each block a message.
std::size_t segment_of_blocks(const CallShape& shape) {
  return bytes_of_blocks(shape, message_bytes);
}

Spec choose_blocking_allreduce(const CallShape& shape) {
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

const Recipe& chain_of(Collective collective) {
  static const Recipe bcast = recipe_of(Collective::bcast, "chain");
  static const Recipe reduce = recipe_of(Collective::reduce, "chain");
  return collective == Collective::bcast ? bcast : reduce;
}

/// A chain sends the message over each link once; it takes as long as the link needs, and the time until the
/// last rank gets its first segment. So there must be many segments, two a rank at least: then that is 1.5
/// times the message's time, and less than in a tree of any more than two rounds.
Spec choose_blocking_chain(const CallShape& shape) {
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t enough = std::max(native_floor(shape.collective), 2 * ranks * least_message_bytes);
  // Two ranks have one link between them, which any message fills.
  if (shape.bytes < enough || shape.nodes < 2 || shape.ranks == 2) return {};
  const std::size_t segment = std::clamp(shape.bytes / (16 * ranks), least_message_bytes, message_bytes);
  return pipelined(chain_of(shape.collective), std::bit_floor(segment));
}

/// Reduce-scatter and allgather: every block crosses the links once.
Spec blocks_over_links(const CallShape& shape) {
  static const std::array rings = {recipe_of(Collective::reduce_scatter, "ring"),
                                   recipe_of(Collective::allgather, "ring")};
  static const std::array lanes = {recipe_of(Collective::reduce_scatter, "multilane"),
                                   recipe_of(Collective::allgather, "multilane")};
  return pipelined((shape.max_ppn > 1 ? lanes : rings).at(shape.collective == Collective::allgather ? 1 : 0),
                   segment_of_blocks(shape));
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

Spec choose_blocking_blocks(const CallShape& shape) {
  if (shape.bytes < enough_for_blocks(shape) || shape.nodes < 2) return {};
  return blocks_over_links(shape);
}

Spec choose_blocking(const CallShape& shape) {
  switch (shape.collective) {
    case Collective::allreduce:
      return choose_blocking_allreduce(shape);
    case Collective::bcast:
    case Collective::reduce:
      return choose_blocking_chain(shape);
    case Collective::reduce_scatter:
    case Collective::allgather:
      return choose_blocking_blocks(shape);
  }
  return {};
}

// Calls that are not blocking. For these the libraries take simpler algorithms, and know no nodes; so
// Stretto's gain from much shorter messages on. Where one ends below, the blocking rule's begins. Measured:
// docs/performance.md.

Spec choose_background_allreduce(const CallShape& shape) {
  static const Recipe doubling = recipe_of(Collective::allreduce, "recursive_doubling");
  static const Recipe halving = recipe_of(Collective::allreduce, "rabenseifner");
  static const Recipe ring = recipe_of(Collective::allreduce, "ring");
  static const Recipe lanes = recipe_of(Collective::allreduce, "multilane(rabenseifner)");
  if (shape.nodes == 1 && shape.ranks == 2) {
    return shape.bytes < 32 * kibibyte ? whole(doubling) : pipelined(ring, 256 * kibibyte);
  }
  if (shape.nodes == 1) {
    return shape.bytes < 256 * kibibyte ? Spec{} : pipelined(halving, mebibyte);
  }
  if (shape.bytes < 8 * kibibyte) return shape.max_ppn == 1 ? whole(doubling) : Spec{};
  if (shape.min_ppn > 1) return pipelined(lanes, mebibyte);
  const bool short_blocks = shape.bytes < bytes_of_blocks(shape, kibibyte);
  return short_blocks || is_power_of_two(shape.ranks) ? pipelined(halving, mebibyte)
                                                      : pipelined(ring, segment_of_blocks(shape));
}

/// Between nodes a chain is faster than a tree from so many segments on that the time of its p-2 further
/// rounds is less than that of the tree's log p messages.
Spec choose_background_tree(const CallShape& shape) {
  static const Recipe bcast = recipe_of(Collective::bcast, "binomial");
  static const Recipe reduce = recipe_of(Collective::reduce, "binomial");
  static const Recipe halving = recipe_of(Collective::reduce, "rabenseifner");
  const bool reduces = shape.collective == Collective::reduce;
  if (shape.nodes == 1) {
    return reduces && shape.bytes >= 64 * kibibyte ? pipelined(halving, mebibyte) : Spec{};
  }
  if (shape.bytes < native_floor(shape.collective, shape.face) || shape.ranks == 2) return {};
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t segments = (ranks - 2) / static_cast<std::size_t>(std::bit_width(ranks - 1));
  if (shape.bytes >= std::max<std::size_t>(segments, 1) * least_message_bytes) {
    return pipelined(chain_of(shape.collective), least_message_bytes);
  }
  return whole(reduces ? reduce : bcast);
}

Spec choose_background_reduce_scatter(const CallShape& shape) {
  static const Recipe ring = recipe_of(Collective::reduce_scatter, "ring");
  if (shape.nodes == 1) {
    const std::size_t enough = (shape.ranks == 2 ? 1 : 256) * kibibyte;
    return shape.bytes < enough ? Spec{} : pipelined(ring, 256 * kibibyte);
  }
  const std::size_t enough = bytes_of_blocks(shape, (shape.max_ppn > 1 ? 2 : 1) * kibibyte);
  return shape.bytes < std::max(enough, 8 * kibibyte) ? Spec{} : blocks_over_links(shape);
}

Spec choose_background_allgather(const CallShape& shape) {
  static const Recipe doubling = recipe_of(Collective::allgather, "recursive_doubling");
  static const Recipe bruck = recipe_of(Collective::allgather, "bruck");
  if (shape.nodes == 1) return {};
  const std::size_t enough = bytes_of_blocks(shape, shape.max_ppn > 1 ? 512 : 8 * kibibyte);
  if (shape.bytes >= enough) return blocks_over_links(shape);
  return whole(is_power_of_two(shape.ranks) ? doubling : bruck);
}

Spec choose_background(const CallShape& shape) {
  switch (shape.collective) {
    case Collective::allreduce:
      return choose_background_allreduce(shape);
    case Collective::bcast:
    case Collective::reduce:
      return choose_background_tree(shape);
    case Collective::reduce_scatter:
      return choose_background_reduce_scatter(shape);
    case Collective::allgather:
      return choose_background_allgather(shape);
  }
  return {};
}

}  // namespace

Spec choose(const CallShape& shape) {
  if (!shape.commutative || shape.ranks == 1) return {};
  const Spec blocking = choose_blocking(shape);
  return shape.face == Face::blocking || !blocking.is_native() ? blocking : choose_background(shape);
}

Spec choose_own(const CallShape& shape) {
  static const Recipe bcast = recipe_of(Collective::bcast, "binomial");
  static const Recipe bruck = recipe_of(Collective::allgather, "bruck");
  static const Recipe ring = recipe_of(Collective::allgather, "ring");
  if (Spec spec = choose(shape); !spec.is_native()) return spec;
  if (is_reduction(shape.collective)) return choose_reproducible(shape);
  if (shape.collective == Collective::bcast) return whole(bcast);
  return shape.bytes < bytes_of_blocks(shape, 8 * kibibyte) ? whole(bruck)
                                                            : pipelined(ring, segment_of_blocks(shape));
}

Spec choose_reproducible(const CallShape& shape) {
  static const Recipe doubling = recipe_of(Collective::allreduce, "recursive_doubling");
  static const Recipe pairwise = recipe_of(Collective::allreduce, "pairwise");
  static const Recipe halving = recipe_of(Collective::allreduce, "rabenseifner");
  static const Recipe tree = recipe_of(Collective::reduce, "binomial");
  static const Recipe halving_to_root = recipe_of(Collective::reduce, "rabenseifner");
  static const Recipe pairwise_blocks = recipe_of(Collective::reduce_scatter, "pairwise");
  const bool small = shape.bytes < 8 * kibibyte;
  switch (shape.collective) {
    case Collective::allreduce: {
      if (small) return whole(doubling);
      // Pairwise sends the least bytes for any p, in many rounds; but of several ranks a node each sends
      // these over its link.
      const bool long_and_alone = shape.bytes >= native_floor(shape.collective) && shape.max_ppn == 1;
      return pipelined(long_and_alone ? pairwise : halving, segment_of_blocks(shape));
    }
    case Collective::reduce:
      return small ? whole(tree) : pipelined(halving_to_root, segment_of_blocks(shape));
    case Collective::reduce_scatter:
      return pipelined(pairwise_blocks, segment_of_blocks(shape));
    case Collective::bcast:
    case Collective::allgather:
      break;
  }
  return {};
}

std::size_t native_floor(Collective collective, Face face) {
  if (face == Face::blocking) return (collective == Collective::bcast ? 128 : 256) * kibibyte;
  switch (collective) {
    case Collective::allreduce:
    case Collective::allgather:
      return 0;
    case Collective::bcast:
      return 8 * kibibyte;
    case Collective::reduce:
      return 512;
    case Collective::reduce_scatter:
      return 1 * kibibyte;
  }
  return 0;
}

}  // namespace stretto
