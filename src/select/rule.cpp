// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "text/size.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// The bytes of a message in calls that are not blocking. Every library sends this length eagerly (Open MPI
/// over TCP up to 64 KiB with its header). Shorter messages fill links equally well, but each takes
/// processor time from the computation (docs/notebook.md). The models do not know that, so this is not one
/// of the derived figures.
constexpr std::size_t background_message = 56 * kibibyte;

/// For static references: it parses a text.
const Recipe& recipe_of(Collective collective, std::string_view text) {
  return make_immortal<const Recipe>(parse_spec(collective, text).recipe);
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

/// The bytes of a message that has a block for each rank. An algorithm with a round for each block needs
/// long blocks.
std::size_t bytes_of_blocks(const CallShape& shape, std::size_t block_bytes) {
  return block_bytes * static_cast<std::size_t>(shape.ranks);
}

/// The segment size at which each block is a message.
std::size_t segment_of_blocks(const CallShape& shape, const RuleConstants& rule) {
  return bytes_of_blocks(shape, rule.message);
}

Spec choose_blocking_allreduce(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& ring = recipe_of(Collective::allreduce, "ring");
  static const Recipe& lanes = recipe_of(Collective::allreduce, "multilane");
  // Inside a node the library's shared memory is fastest as long as the message fits into the caches. For
  // longer messages, a pair of ranks is faster if each reduces one half and segments stay in the cache.
  if (shape.ranks == 2 && shape.nodes == 1 && shape.bytes >= 16 * mebibyte) {
    return pipelined(ring, 256 * kibibyte);
  }
  // Between nodes a ring pays if each of its 2(p-1) rounds transfers for longer than its latency, and if
  // there are segments to fill each other's gaps. That is so for shorter messages if p is no power of two:
  // then the libraries' algorithms send the whole message once or twice more. With lanes, a node's link
  // carries the bytes for N nodes, not for p ranks.
  const bool power_of_two = is_power_of_two(shape.ranks);
  const std::size_t block = power_of_two ? rule.allreduce_power_of_two_block : rule.allreduce_block;
  const std::size_t enough =
      std::max(power_of_two ? rule.allreduce_power_of_two : rule.allreduce, bytes_of_blocks(shape, block));
  if (shape.bytes < enough || shape.nodes < 2) return {};
  return pipelined(shape.min_ppn > 1 ? lanes : ring, segment_of_blocks(shape, rule));
}

const Recipe& chain_of(Collective collective) {
  static const Recipe& bcast = recipe_of(Collective::bcast, "chain");
  static const Recipe& reduce = recipe_of(Collective::reduce, "chain");
  return collective == Collective::bcast ? bcast : reduce;
}

/// The choice for messages that are too short for a chain: they are sent in blocks, twice the message over a
/// link. A tree of the libraries sends it log2(p) times, and Open MPI's linear algorithm p-1 times. If
/// recursive doubling has extra ranks, it sends as much as a tree.
Spec choose_blocking_blocks_of_root(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& doubling = recipe_of(Collective::bcast, "scatter_recursive_doubling");
  static const Recipe& ring = recipe_of(Collective::bcast, "scatter_allgather");
  static const Recipe& reduce = recipe_of(Collective::reduce, "rabenseifner");
  const bool reduces = shape.collective == Collective::reduce;
  if (shape.max_ppn > 1 || shape.bytes < (reduces ? rule.reduce_blocks : rule.bcast_blocks)) return {};
  if (reduces) return whole(reduce);
  return whole(is_power_of_two(shape.ranks) ? doubling : ring);
}

/// A chain sends the message over each link once. It takes as long as the link needs, plus the time until
/// the last rank gets its first segment. So it needs many segments, at least two for each rank: then it
/// takes 1.5 times the message's time, less than a tree of more than two rounds.
Spec choose_blocking_chain(const CallShape& shape, const RuleConstants& rule) {
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t enough = std::max(shape.collective == Collective::bcast ? rule.bcast : rule.reduce,
                                      2 * ranks * rule.least_message);
  // Two ranks have one link between them, and any message fills it.
  if (shape.nodes < 2 || shape.ranks == 2) return {};
  if (shape.bytes < enough) return choose_blocking_blocks_of_root(shape, rule);
  const std::size_t segment = std::clamp(shape.bytes / (16 * ranks), rule.least_message, rule.message);
  return pipelined(chain_of(shape.collective), std::bit_floor(segment));
}

/// The choice for a reduce-scatter or allgather in which every block crosses the links once. With lanes, the
/// node that owns a block sends it to (or gets its parts from) all others, so if one node has most of the
/// bytes, its link is the bottleneck. Around a ring, all links carry the same.
Spec blocks_over_links(const CallShape& shape, const RuleConstants& rule) {
  static const std::array rings = {&recipe_of(Collective::reduce_scatter, "ring"),
                                   &recipe_of(Collective::allgather, "ring")};
  static const std::array lanes = {&recipe_of(Collective::reduce_scatter, "multilane"),
                                   &recipe_of(Collective::allgather, "multilane")};
  const bool is_even =
      shape.max_ppn * shape.nodes <= dominant_share * shape.ranks && !shape.has_dominant_node;
  return pipelined(
      *(shape.max_ppn > 1 && is_even ? lanes : rings).at(shape.collective == Collective::allgather ? 1 : 0),
      segment_of_blocks(shape, rule));
}

/// The bytes from which on that gains.
std::size_t enough_for_blocks(const CallShape& shape, const RuleConstants& rule) {
  if (shape.ranks == 2) return rule.blocks_of_pair;
  if (shape.collective == Collective::allgather) return rule.allgather;
  // The libraries' reduce-scatters use the links as well. Those that are not node-aware use them too often.
  return shape.max_ppn > 1 ? rule.reduce_scatter_lanes : rule.reduce_scatter;
}

Spec choose_blocking_blocks(const CallShape& shape, const RuleConstants& rule) {
  if (shape.bytes < enough_for_blocks(shape, rule) || shape.nodes < 2) return {};
  return blocks_over_links(shape, rule);
}

/// More ranks than this do not all write to all others.
constexpr int most_ranks_at_once = 16;

/// Below this, no call inside a node of so many ranks gains by shared memory that is carried out step by
/// step.
std::size_t least_in_memory(int ranks) {
  return (ranks == 2 ? 8 : 4) * kibibyte;
}

/// Every rank writes to all others, and reduces what they write: one wait.
Spec one_shot(const CallShape& shape) {
  static const Recipe& usual = recipe_of(Collective::allreduce, "recursive_multiplying");
  Recipe recipe = usual;
  recipe.radix = shape.ranks;
  return whole(recipe);
}

Spec reduce_in_memory(int ranks) {
  static const Recipe& tree = recipe_of(Collective::reduce, "binomial");
  static const Recipe& halving = recipe_of(Collective::reduce, "rabenseifner");
  return ranks <= 8 ? whole(tree) : pipelined(halving, mebibyte);
}

/// The choice for blocking calls among a few ranks that share memory, more than two. What counts is how often
/// ranks wait for each other, and how many bytes they move: messages to all are written once.
Spec choose_at_once(const CallShape& shape) {
  static const Recipe& two_shot = recipe_of(Collective::allreduce, "two_shot");
  static const Recipe& bcast = recipe_of(Collective::bcast, "linear");
  static const Recipe& reduce = recipe_of(Collective::reduce, "linear");
  static const Recipe& direct = recipe_of(Collective::reduce_scatter, "direct");
  static const Recipe& gather = recipe_of(Collective::allgather, "linear");
  switch (shape.collective) {
    case Collective::allreduce:
      return shape.bytes < 16 * kibibyte ? one_shot(shape) : whole(two_shot);
    case Collective::bcast:
      return whole(bcast);
    case Collective::reduce:
      return shape.bytes < 64 * kibibyte ? whole(reduce) : reduce_in_memory(shape.ranks);
    case Collective::reduce_scatter:
      return whole(direct);
    case Collective::allgather:
      return whole(gather);
    default:
      return {};
  }
}

/// The choice for blocking allreduces among many ranks that share memory, by the model of a node of 128
/// (docs/shared-memory.md). Long messages cross between caches as little as can be, however ranks are mapped.
/// For shorter ones, fewer messages among caches count more than fewer rounds.
Spec choose_by_cache(const CallShape& shape) {
  static const Recipe& halving = recipe_of(Collective::allreduce, "cache_lanes(rabenseifner)");
  static const Recipe& at_once = recipe_of(Collective::allreduce, "cache_lanes(two_shot)");
  return whole(shape.bytes < 64 * kibibyte ? halving : at_once);
}

/// The choice for calls that are too short for a learner.
Spec choose_short_in_memory(const CallShape& shape) {
  static const Recipe& doubling = recipe_of(Collective::allreduce, "recursive_doubling");
  if (shape.form != Form::blocking || shape.collective != Collective::allreduce) return {};
  // Many ranks would write many lines, and wait for as many.
  const bool is_few = shape.ranks > 2 && shape.ranks <= most_ranks_at_once;
  return is_few ? one_shot(shape) : whole(doubling);
}

/// The choice inside a node whose ranks share memory. Up to 16 ranks, sizes and specs are those that were
/// fastest with 2, 3, 4 and 8 ranks on two cores (docs/shared-memory.md).
Spec choose_in_memory(const CallShape& shape) {
  static const Recipe& exchange = recipe_of(Collective::allreduce, "recursive_doubling");
  static const Recipe& ring = recipe_of(Collective::allreduce, "ring");
  static const Recipe& halving = recipe_of(Collective::allreduce, "rabenseifner");
  static const Recipe& bcast = recipe_of(Collective::bcast, "binomial");
  static const Recipe& scatter_ring = recipe_of(Collective::reduce_scatter, "ring");
  static const Recipe& scatter_halving = recipe_of(Collective::reduce_scatter, "recursive_halving");
  static const Recipe& doubling = recipe_of(Collective::allgather, "recursive_doubling");
  static const Recipe& bruck = recipe_of(Collective::allgather, "bruck");
  static const Recipe& gather_ring = recipe_of(Collective::allgather, "ring");
  const bool is_pair = shape.ranks == 2;
  const bool power_of_two = is_power_of_two(shape.ranks);
  if (shape.bytes < least_in_memory(shape.ranks)) return choose_short_in_memory(shape);
  if (shape.form == Form::blocking && !is_pair && shape.ranks <= most_ranks_at_once)
    return choose_at_once(shape);
  const bool has_lanes = shape.ranks > most_ranks_at_once && shape.min_cache > 1;
  switch (shape.collective) {
    case Collective::allreduce:
      if (shape.form == Form::blocking && has_lanes) return choose_by_cache(shape);
      if (is_pair && shape.bytes < 128 * kibibyte) return whole(exchange);
      if (is_pair) return shape.bytes < 4 * mebibyte ? whole(ring) : pipelined(ring, 512 * kibibyte);
      return shape.bytes < mebibyte ? whole(halving) : pipelined(halving, mebibyte);
    case Collective::bcast:
      if (is_pair || shape.bytes < 128 * kibibyte) return whole(bcast);
      return pipelined(chain_of(Collective::bcast), 128 * kibibyte);
    case Collective::reduce:
      return reduce_in_memory(shape.ranks);
    case Collective::reduce_scatter:
      return whole(power_of_two && !is_pair ? scatter_halving : scatter_ring);
    case Collective::allgather:
      if (is_pair || shape.bytes >= mebibyte) return whole(gather_ring);
      return whole(power_of_two ? doubling : bruck);
    default:
      return {};
  }
}

// Alltoall and barrier. The figures were measured on emulated clusters (docs/notebook.md).

/// The most bytes that a rank sends to another node at once as long as the start of messages counts most.
constexpr std::size_t most_gathered = 16 * kibibyte;

/// Blocks among few ranks that share memory all go at once. Long ones the library moves with one copy.
Spec choose_alltoall_in_memory(const CallShape& shape, std::size_t block, const Recipe& directly) {
  const bool pays = shape.shares_memory && shape.form == Form::blocking && shape.ranks <= most_ranks_at_once;
  return pays && block <= 32 * kibibyte ? whole(directly) : Spec{};
}

/// Short blocks cross the network together: those of all pairs of ranks of two nodes, or of a lane. Long ones
/// go directly, in segments, one partner at a time: no rank is sent to by several.
Spec choose_alltoall(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& directly = recipe_of(Collective::alltoall, "linear");
  static const Recipe& leaders = recipe_of(Collective::alltoall, "smp");
  static const Recipe& lanes = recipe_of(Collective::alltoall, "multilane");
  static const Recipe& wide_lanes = recipe_of(Collective::alltoall, "multilane(linear:radix=257)");
  static const Recipe& bruck = recipe_of(Collective::alltoall, "bruck");
  static const Recipe& pairwise = recipe_of(Collective::alltoall, "pairwise");
  constexpr int enough_ranks_for_bruck = 8;
  const std::size_t block = shape.bytes / static_cast<std::size_t>(shape.ranks);
  if (shape.bytes == 0) return {};
  if (shape.nodes == 1) return choose_alltoall_in_memory(shape, block, directly);
  const auto ppn = static_cast<std::size_t>(shape.max_ppn);
  // One leader of many ranks has too much to do (in simulation, from 8 ranks a node on).
  if (ppn > 1 && ppn <= 4 && ppn * ppn * block <= most_gathered) return whole(leaders);
  if (ppn > 1 && ppn * block <= most_gathered) {
    // Many short messages meet at a receiver without harm, and a wait for some of them costs more (in
    // simulation, on 64 nodes).
    return whole(ppn * block <= kibibyte ? wide_lanes : lanes);
  }
  if (ppn == 1 && shape.ranks >= enough_ranks_for_bruck && block <= 2 * kibibyte) return whole(bruck);
  if (block < 4 * most_gathered) return {};
  return pipelined(pairwise, segment_of_blocks(shape, rule));
}

/// The node-aware algorithms walk twice, first with lengths, so they gain only where a node has many messages
/// to send. Long blocks go to two ranks at a time: while one waits for its turn, the other fills the link.
Spec choose_alltoall_of_lengths(const CallShape& shape) {
  static const Recipe& directly = recipe_of(Collective::alltoallv, "linear");
  static const Recipe& leaders = recipe_of(Collective::alltoallv, "smp");
  static const Recipe& lanes = recipe_of(Collective::alltoallv, "multilane");
  static const Recipe& two_at_once = recipe_of(Collective::alltoallv, "linear:radix=3");
  const std::size_t block = shape.bytes / static_cast<std::size_t>(shape.ranks);
  if (shape.nodes == 1) return choose_alltoall_in_memory(shape, block, directly);
  const auto ppn = static_cast<std::size_t>(shape.max_ppn);
  if (ppn > 2 && ppn <= 4 && ppn * ppn * block <= most_gathered) return whole(leaders);
  if (ppn > 4 && ppn * block <= most_gathered) return whole(lanes);
  return block < 4 * most_gathered ? Spec{} : whole(two_at_once);
}

Spec choose_barrier(const CallShape& shape) {
  static const Recipe& leaders = recipe_of(Collective::barrier, "smp:radix=4");
  static const Recipe& at_once = recipe_of(Collective::barrier, "dissemination");
  if (shape.form != Form::blocking || !shape.shares_memory) return {};
  if (shape.nodes > 1) return shape.max_ppn > 1 ? whole(leaders) : Spec{};
  // Few ranks all tell each other at once.
  Recipe all = at_once;
  if (shape.ranks > 2 && shape.ranks <= most_ranks_at_once) all.radix = shape.ranks;
  return whole(all);
}

Spec choose_blocking(const CallShape& shape, const RuleConstants& rule) {
  if (shape.collective == Collective::alltoall) return choose_alltoall(shape, rule);
  if (shape.collective == Collective::barrier) return choose_barrier(shape);
  if (shape.nodes == 1 && shape.shares_memory) return choose_in_memory(shape);
  switch (shape.collective) {
    case Collective::allreduce:
      return choose_blocking_allreduce(shape, rule);
    case Collective::bcast:
    case Collective::reduce:
      return choose_blocking_chain(shape, rule);
    case Collective::reduce_scatter:
    case Collective::allgather:
      return choose_blocking_blocks(shape, rule);
    default:
      return {};
  }
}

// Non-blocking and persistent calls. For these the libraries use simpler algorithms that are not node-aware,
// so Stretto gains from much shorter messages on. The blocking rule applies to longer messages.

Spec choose_background_allreduce(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& doubling = recipe_of(Collective::allreduce, "recursive_doubling");
  static const Recipe& halving = recipe_of(Collective::allreduce, "rabenseifner");
  static const Recipe& ring = recipe_of(Collective::allreduce, "ring");
  static const Recipe& lanes = recipe_of(Collective::allreduce, "multilane(rabenseifner)");
  if (shape.nodes == 1 && shape.ranks == 2) {
    return shape.bytes < 32 * kibibyte ? whole(doubling) : pipelined(ring, 256 * kibibyte);
  }
  if (shape.nodes == 1) {
    return shape.bytes < 256 * kibibyte ? Spec{} : pipelined(halving, mebibyte);
  }
  const bool power_of_two = is_power_of_two(shape.ranks);
  const std::size_t long_enough =
      power_of_two ? rule.background_doubling_power_of_two : rule.background_doubling;
  if (shape.bytes < long_enough) return shape.max_ppn == 1 ? whole(doubling) : Spec{};
  if (shape.min_ppn > 1) return pipelined(lanes, mebibyte);
  const bool short_blocks = shape.bytes < bytes_of_blocks(shape, rule.background_ring_block);
  return short_blocks || power_of_two ? pipelined(halving, mebibyte)
                                      : pipelined(ring, segment_of_blocks(shape, rule));
}

/// Between nodes a chain is faster than a tree if there are enough segments: the time of its p-2 further
/// rounds must be less than that of the tree's log p messages.
Spec choose_background_tree(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& bcast = recipe_of(Collective::bcast, "binomial");
  static const Recipe& reduce = recipe_of(Collective::reduce, "binomial");
  static const Recipe& halving = recipe_of(Collective::reduce, "rabenseifner");
  const bool reduces = shape.collective == Collective::reduce;
  if (shape.nodes == 1) {
    return reduces && shape.bytes >= 64 * kibibyte ? pipelined(halving, mebibyte) : Spec{};
  }
  if (shape.bytes < (reduces ? rule.background_reduce : rule.background_bcast) || shape.ranks == 2) return {};
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t segments = (ranks - 2) / static_cast<std::size_t>(std::bit_width(ranks - 1));
  if (shape.bytes >= std::max<std::size_t>(segments, 1) * rule.background_chain) {
    return pipelined(chain_of(shape.collective), rule.least_message);
  }
  return whole(reduces ? reduce : bcast);
}

Spec choose_background_reduce_scatter(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& ring = recipe_of(Collective::reduce_scatter, "ring");
  static const Recipe& halving = recipe_of(Collective::reduce_scatter, "recursive_halving");
  if (shape.nodes == 1) {
    const std::size_t enough = (shape.ranks == 2 ? 1 : 256) * kibibyte;
    return shape.bytes < enough ? Spec{} : pipelined(ring, 256 * kibibyte);
  }
  if (shape.bytes < rule.background_reduce_scatter) return {};
  const std::size_t enough =
      bytes_of_blocks(shape, shape.max_ppn > 1 ? rule.background_reduce_scatter_lanes_block
                                               : rule.background_reduce_scatter_block);
  return shape.bytes < enough ? whole(halving) : blocks_over_links(shape, rule);
}

Spec choose_background_allgather(const CallShape& shape, const RuleConstants& rule) {
  static const Recipe& doubling = recipe_of(Collective::allgather, "recursive_doubling");
  static const Recipe& bruck = recipe_of(Collective::allgather, "bruck");
  if (shape.nodes == 1) return {};
  const std::size_t enough = bytes_of_blocks(
      shape, shape.max_ppn > 1 ? rule.background_allgather_lanes_block : rule.background_allgather_block);
  if (shape.bytes >= enough) return blocks_over_links(shape, rule);
  return whole(is_power_of_two(shape.ranks) ? doubling : bruck);
}

Spec choose_background(const CallShape& shape, const RuleConstants& rule) {
  switch (shape.collective) {
    case Collective::allreduce:
      return choose_background_allreduce(shape, rule);
    case Collective::bcast:
    case Collective::reduce:
      return choose_background_tree(shape, rule);
    case Collective::reduce_scatter:
      return choose_background_reduce_scatter(shape, rule);
    case Collective::allgather:
      return choose_background_allgather(shape, rule);
    default:
      return {};
  }
}

}  // namespace

Spec choose(const CallShape& shape, const RuleConstants& rule) {
  if (!shape.commutative || shape.ranks == 1) return {};
  if (shape.form == Form::blocking) return choose_blocking(shape, rule);
  RuleConstants in_background = rule;
  in_background.message = background_message;
  const Spec spec = choose_blocking(shape, in_background);
  return spec.is_native() ? choose_background(shape, in_background) : spec;
}

Spec choose_for_lengths(const CallShape& shape) {
  return shape.collective == Collective::alltoallv ? choose_alltoall_of_lengths(shape) : Spec{};
}

Spec choose_own(const CallShape& shape) {
  static const Recipe& bcast = recipe_of(Collective::bcast, "binomial");
  static const Recipe& bruck = recipe_of(Collective::allgather, "bruck");
  static const Recipe& ring = recipe_of(Collective::allgather, "ring");
  static const std::array directly = {
      &recipe_of(Collective::alltoall, "linear"),      &recipe_of(Collective::alltoallv, "linear"),
      &recipe_of(Collective::gather, "linear"),        &recipe_of(Collective::gatherv, "linear"),
      &recipe_of(Collective::scatter, "linear"),       &recipe_of(Collective::scatterv, "linear"),
      &recipe_of(Collective::barrier, "dissemination")};
  if (Spec spec = choose(shape); !spec.is_native()) return spec;
  if (is_reduction(shape.collective)) return choose_reproducible(shape);
  if (shape.collective == Collective::bcast) return whole(bcast);
  for (const Recipe* recipe : directly) {
    if (recipe->algorithm->collective == shape.collective) return whole(*recipe);
  }
  return shape.bytes < bytes_of_blocks(shape, 8 * kibibyte)
             ? whole(bruck)
             : pipelined(ring, segment_of_blocks(shape, rule_constants));
}

Spec choose_reproducible(const CallShape& shape) {
  static const Recipe& doubling = recipe_of(Collective::allreduce, "recursive_doubling");
  static const Recipe& pairwise = recipe_of(Collective::allreduce, "pairwise");
  static const Recipe& halving = recipe_of(Collective::allreduce, "rabenseifner");
  static const Recipe& tree = recipe_of(Collective::reduce, "binomial");
  static const Recipe& halving_to_root = recipe_of(Collective::reduce, "rabenseifner");
  static const Recipe& pairwise_blocks = recipe_of(Collective::reduce_scatter, "pairwise");
  static const Recipe& scan = recipe_of(Collective::scan, "recursive_doubling");
  static const Recipe& exscan = recipe_of(Collective::exscan, "recursive_doubling");
  const bool small = shape.bytes < 8 * kibibyte;
  switch (shape.collective) {
    case Collective::allreduce: {
      if (small) return whole(doubling);
      // Pairwise sends the fewest bytes for any p, in many rounds. But if a node has several ranks, each
      // sends these bytes over its link.
      const bool long_and_alone = shape.bytes >= native_floor(shape.collective) && shape.max_ppn == 1;
      return pipelined(long_and_alone ? pairwise : halving, segment_of_blocks(shape, rule_constants));
    }
    case Collective::reduce:
      return small ? whole(tree) : pipelined(halving_to_root, segment_of_blocks(shape, rule_constants));
    case Collective::reduce_scatter:
      return pipelined(pairwise_blocks, segment_of_blocks(shape, rule_constants));
    case Collective::scan:
      return whole(scan);
    case Collective::exscan:
      return whole(exscan);
    default:
      return {};
  }
}

std::size_t native_floor(Collective collective, Form form, int sharing_ranks) {
  constexpr RuleConstants rule = rule_constants;
  const bool blocking = form == Form::blocking;
  const auto least = [=](std::size_t of_blocking, std::size_t of_others) {
    const std::size_t floor = blocking ? of_blocking : std::min(of_blocking, of_others);
    return sharing_ranks > 0 ? std::min(floor, least_in_memory(sharing_ranks)) : floor;
  };
  switch (collective) {
    case Collective::allreduce:
      if (blocking && sharing_ranks > 0) return 1;
      return least(std::min(rule.allreduce, rule.allreduce_power_of_two), 0);
    case Collective::bcast:
      return least(std::min(rule.bcast, rule.bcast_blocks), rule.background_bcast);
    case Collective::reduce:
      return least(std::min(rule.reduce, rule.reduce_blocks), rule.background_reduce);
    case Collective::reduce_scatter:
      return least(std::min({rule.reduce_scatter, rule.reduce_scatter_lanes, rule.blocks_of_pair}), kibibyte);
    case Collective::allgather:
      return least(std::min(rule.allgather, rule.blocks_of_pair), 0);
    case Collective::alltoall:
      return 1;
    case Collective::barrier:
      return 0;
    default:
      return SIZE_MAX;
  }
}

std::size_t learning_floor(Collective collective, int sharing_ranks) {
  const bool moves_short_blocks = collective == Collective::alltoall;
  const std::size_t floor = moves_short_blocks ? SIZE_MAX : native_floor(collective);
  return sharing_ranks > 0 ? std::min(floor, least_in_memory(sharing_ranks)) : floor;
}

}  // namespace stretto
