// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stretto {

/// The sizes, in bytes, at which the built-in rule (rule.cpp) changes its choice. scripts/derive-rule writes
/// these figures: those with which, by the schedule walker, the rule loses least against the best spec on
/// the machines in python/stretto/model/machines (docs/models.md).
struct RuleConstants {
  /// The bytes of a message in pipelined schedules of blocking calls. Short enough for every library to send
  /// it eagerly, and long enough that the overhead of a message is small against its time.
  std::size_t message = 16384;
  std::size_t least_message = 8192;

  // Blocking calls between nodes, from this size of the whole message on, or of a block if there is one for
  // each rank: an algorithm of Stretto.
  std::size_t allreduce = 32768;
  std::size_t allreduce_block = 8192;
  std::size_t allreduce_power_of_two = 65536;
  std::size_t allreduce_power_of_two_block = 65536;
  std::size_t bcast = 65536;
  /// In blocks, until there are enough segments for a chain.
  std::size_t bcast_blocks = 65536;
  std::size_t reduce = 32768;
  std::size_t reduce_blocks = 131072;
  std::size_t reduce_scatter = 524288;
  std::size_t reduce_scatter_lanes = 131072;
  std::size_t allgather = 524288;
  /// Two ranks exchange one message with any algorithm; only very long ones gain by segments.
  std::size_t blocks_of_pair = 131072;

  // Non-blocking and persistent calls.
  std::size_t background_doubling = 65536;  // allreduce: below, recursive doubling
  std::size_t background_doubling_power_of_two = 32768;
  std::size_t background_ring_block = 1024;  // allreduce: from here on a ring
  /// For each message by which a chain is deeper than a tree.
  std::size_t background_chain = 32768;
  std::size_t background_bcast = 65536;
  std::size_t background_reduce = 512;
  std::size_t background_reduce_scatter = 524288;
  std::size_t background_reduce_scatter_block = 1024;
  std::size_t background_reduce_scatter_lanes_block = 4096;
  std::size_t background_allgather_block = 32768;
  std::size_t background_allgather_lanes_block = 512;
};

inline constexpr RuleConstants rule_constants{};

/// The figures by their names.
inline constexpr std::array<std::pair<std::string_view, std::size_t RuleConstants::*>, 25> rule_figures = {{
    {"message", &RuleConstants::message},
    {"least_message", &RuleConstants::least_message},
    {"allreduce", &RuleConstants::allreduce},
    {"allreduce_block", &RuleConstants::allreduce_block},
    {"allreduce_power_of_two", &RuleConstants::allreduce_power_of_two},
    {"allreduce_power_of_two_block", &RuleConstants::allreduce_power_of_two_block},
    {"bcast", &RuleConstants::bcast},
    {"bcast_blocks", &RuleConstants::bcast_blocks},
    {"reduce", &RuleConstants::reduce},
    {"reduce_blocks", &RuleConstants::reduce_blocks},
    {"reduce_scatter", &RuleConstants::reduce_scatter},
    {"reduce_scatter_lanes", &RuleConstants::reduce_scatter_lanes},
    {"allgather", &RuleConstants::allgather},
    {"blocks_of_pair", &RuleConstants::blocks_of_pair},
    {"background_doubling", &RuleConstants::background_doubling},
    {"background_doubling_power_of_two", &RuleConstants::background_doubling_power_of_two},
    {"background_chain", &RuleConstants::background_chain},
    {"background_ring_block", &RuleConstants::background_ring_block},
    {"background_bcast", &RuleConstants::background_bcast},
    {"background_reduce", &RuleConstants::background_reduce},
    {"background_reduce_scatter", &RuleConstants::background_reduce_scatter},
    {"background_reduce_scatter_block", &RuleConstants::background_reduce_scatter_block},
    {"background_reduce_scatter_lanes_block", &RuleConstants::background_reduce_scatter_lanes_block},
    {"background_allgather_block", &RuleConstants::background_allgather_block},
    {"background_allgather_lanes_block", &RuleConstants::background_allgather_lanes_block},
}};

}  // namespace stretto
