// SPDX-License-Identifier: Apache-2.0
#include "model/closed_forms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace stretto {
namespace {

struct Rounds {
  double powers;  // floor(log2 p)
  double extra;   // messages of ranks beyond the largest power of two: one before and one after the rounds
};

Rounds rounds_of(int ranks) {
  const auto p = static_cast<unsigned>(ranks);
  return {static_cast<double>(std::bit_width(p) - 1), std::has_single_bit(p) ? 0.0 : 2.0};
}

double ceil_log2(int ranks) {
  return static_cast<double>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

double ranks_of(const FormulaCall& call) {
  return static_cast<double>(call.nodes) * call.ppn;
}

/// The share of the message that belongs to other ranks.
double other_blocks(double ranks) {
  return (ranks - 1) / ranks;
}

Cost recursive_doubling(const FormulaCall& call) {
  const auto [between, extra] = rounds_of(call.nodes);
  const auto [within, extra_within] = rounds_of(call.ppn);
  const double n = call.bytes;
  return {.messages = between + extra,
          .bytes = (between + extra) * n,
          .node_messages = within + extra_within,
          .node_bytes = (within + extra_within) * n,
          .reduced_bytes = (between + within + (extra + extra_within) / 2) * n,
          .active_ranks = static_cast<double>(call.ppn)};
}

Cost rabenseifner(const FormulaCall& call) {
  const auto [powers, extra] = rounds_of(call.nodes * call.ppn);
  const double part = other_blocks(std::exp2(powers));
  const double n = call.bytes;
  return {.messages = 2 * powers + extra,
          .bytes = (2 * part + extra) * n,
          .node_messages = 0,
          .node_bytes = 0,
          .reduced_bytes = (part + extra / 2) * n};
}

Cost linear(const FormulaCall& call) {
  const double others = ranks_of(call) - 1;
  return {.messages = 2 * others,
          .bytes = 2 * others * call.bytes,
          .node_messages = 0,
          .node_bytes = 0,
          .reduced_bytes = others * call.bytes};
}

Cost ring(const FormulaCall& call) {
  const double p = ranks_of(call);
  return {.messages = 2 * (p - 1),
          .bytes = 2 * call.bytes * other_blocks(p),
          .node_messages = 0,
          .node_bytes = 0,
          .reduced_bytes = call.bytes * other_blocks(p)};
}

Cost chain_and_ring(const FormulaCall& call) {
  const double p = ranks_of(call);
  const double s = call.segments;
  return {.messages = 2 * p + s - 3,
          .bytes = (p + s - 2) * call.bytes / s + call.bytes * other_blocks(p),
          .node_messages = 0,
          .node_bytes = 0,
          .reduced_bytes = (p + s - 2) * call.bytes / s};
}

Cost binomial(const FormulaCall& call) {
  const double rounds = ceil_log2(call.nodes * call.ppn);
  return {.messages = 2 * rounds,
          .bytes = 2 * rounds * call.bytes,
          .node_messages = 0,
          .node_bytes = 0,
          .reduced_bytes = rounds * call.bytes};
}

Cost smp(const FormulaCall& call) {
  const auto [between, extra] = rounds_of(call.nodes);
  const double within = ceil_log2(call.ppn);
  const double n = call.bytes;
  return {.messages = between + extra,
          .bytes = (between + extra) * n,
          .node_messages = 2 * within,
          .node_bytes = 2 * within * n,
          .reduced_bytes = (between + extra / 2 + within) * n};
}

Cost nap(const FormulaCall& call) {
  if (call.ppn < 2) return recursive_doubling(call);
  // The number of steps between nodes after which groups of ppn, ppn^2, ... nodes hold all nodes.
  double steps = 0;
  for (double group = 1; group < call.nodes; group *= call.ppn) ++steps;
  const double within = ceil_log2(call.ppn) * (steps + 1);
  return {.messages = steps,
          .bytes = steps * call.bytes,
          .node_messages = within,
          .node_bytes = within * call.bytes,
          .reduced_bytes = (steps + within) * call.bytes,
          .active_ranks = static_cast<double>(call.ppn)};
}

constexpr std::string_view both_papers = "CNN-training paper, Table 1; pipelined paper, Table 1";
constexpr std::array forms{
    ClosedForm{"recursive_doubling", "RDB", "both Tables 1; node-aware paper, equation 4",
               recursive_doubling},
    ClosedForm{"rabenseifner", "RSA", both_papers, rabenseifner},
    ClosedForm{"linear", "LIN", "CNN-training paper, Table 1", linear},
    ClosedForm{"ring", "RNG", both_papers, ring},
    ClosedForm{"segmented_ring", "SRG", "CNN-training paper, Table 1", chain_and_ring},
    ClosedForm{"reduce_broadcast", "BIN", "pipelined paper, Table 1", binomial},
    ClosedForm{"smp", "SMP", "node-aware paper, equation 5", smp},
    ClosedForm{"nap", "NAP", "node-aware paper, equation 6", nap},
};

double per_message(const Machine& machine, Level level, double messages, double bytes) {
  if (messages == 0) return 0;
  const double length = bytes / messages;
  return messages * machine.protocol(level, static_cast<std::size_t>(length)).latency;
}

}  // namespace

std::span<const ClosedForm> closed_forms() {
  return forms;
}

double seconds(const Cost& cost, double message_bytes, const Machine& machine) {
  const auto speed = [&](Level level, double messages, double bytes) {
    return machine.protocol(level, static_cast<std::size_t>(messages > 0 ? bytes / messages : 0)).bandwidth;
  };
  const double rank = speed(Level::network, cost.messages, cost.bytes);
  const double injection = machine.node.bandwidth > 0 ? machine.node.bandwidth / cost.active_ranks : rank;
  const double inside = speed(Level::node, cost.node_messages, cost.node_bytes);
  return per_message(machine, Level::network, cost.messages, cost.bytes) +
         cost.bytes / std::min(rank, injection) +
         per_message(machine, Level::node, cost.node_messages, cost.node_bytes) + cost.node_bytes / inside +
         cost.reduced_bytes * machine.reduction_seconds(static_cast<std::size_t>(message_bytes));
}

}  // namespace stretto
