// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "learn/network/probe.hpp"
#include "learn/network/probe_sizes.hpp"
#include "text/size.hpp"

namespace stretto {

using namespace probe_sizes;

namespace {

/// The measurements at one level of the machine.
class Measured {
 public:
  Measured(const ProbeFigures& figures, Level level) : figures_(figures), level_(level) {}

  /// Returns the seconds of a call in the last such step that was measured; 0 if there is none.
  [[nodiscard]] double seconds(Flow flow, std::size_t bytes, bool of_stream) const {
    double found = 0;
    for (std::size_t i = 0; i < probe_step_count; ++i) {
      const ProbeStep& step = probe_steps.at(i);
      const bool is_same = step.level == level_ && step.flow == flow && step.bytes == bytes &&
                           (step.messages > 1) == of_stream;
      if (is_same && figures_.at(i) > 0) found = figures_.at(i);
    }
    return found;
  }
  [[nodiscard]] double single(std::size_t bytes) const { return seconds(Flow::around, bytes, false); }
  /// Returns the seconds between two messages of a stream.
  [[nodiscard]] double gap(Flow flow, std::size_t bytes) const {
    const double all = seconds(flow, bytes, true);
    const auto messages = static_cast<double>(messages_of(bytes));
    const double first = single(bytes);
    // Each message of a stream leaves after the one before it; the first also takes the latency.
    const double after_first = (all - first) / (messages - 1);
    return std::max(after_first, all / messages / 2);
  }

 private:
  [[nodiscard]] std::size_t messages_of(std::size_t bytes) const {
    for (const ProbeStep& step : probe_steps) {
      if (step.level == level_ && step.bytes == bytes && step.messages > 1)
        return static_cast<std::size_t>(step.messages);
    }
    return 1;
  }

  const ProbeFigures& figures_;
  Level level_;
};

/// If sending and receiving at once takes this many times as long as only one of them, a core does them in
/// turn.
constexpr double in_turn = 1.25;
/// Where cores are the limit, links are taken to be this many times faster.
constexpr double spare = 4;
constexpr double least_latency = 50e-9;
/// Shorter messages take as long as this one.
constexpr std::size_t least_row = 256;

struct Costs {
  double message = 0;         // seconds of a core for a message at each end
  double core = 0;            // bytes per second; 0: no limit
  double bandwidth = 0;       // bytes per second of a rank
  bool core_decides = false;  // the core, not the link, limits what a rank sends and receives at once
};

/// Returns the time of a core for a tiny message, at each end. A stream of m messages takes m times as long
/// for sending. If that hides the latency, it takes m times as long once more for receiving; else it takes
/// the latency, too.
double message_seconds(const Measured& measured) {
  const auto messages = static_cast<double>(probe_messages);
  const double all = measured.seconds(Flow::around, tiny, true);
  const double after_first = (all - measured.single(tiny)) / (messages - 1);
  return std::max(std::min(after_first, all / messages / 2), least_latency);
}

/// `longest` is the longest message of which streams were measured both ways.
Costs costs_of(const Measured& measured, std::size_t longest, bool has_one_way) {
  Costs costs;
  costs.message = message_seconds(measured);
  const auto bytes = static_cast<double>(longest);
  const double both = measured.gap(Flow::around, longest);
  const double one = has_one_way ? measured.gap(Flow::one_way, longest) : both;
  if (has_one_way && both > in_turn * one) {
    const double of_core = std::max(both / 2 - costs.message, 0.1 * both);
    costs.core = bytes / of_core;
    costs.core_decides = true;
    const bool link_waits_for_core = one < 1.1 * (costs.message + of_core);
    costs.bandwidth = (link_waits_for_core ? spare : 1) * bytes / one;
    return costs;
  }
  costs.bandwidth = bytes / both;
  // In a stream the link hides the work of the cores, but a single message takes all of it, unless links have
  // saved up bytes that pass at once.
  if (has_one_way) {
    const auto length = static_cast<double>(some);
    const double of_cores =
        (measured.single(some) - measured.single(tiny) - length / costs.bandwidth) / 2 / length;
    const double most = std::max(both / 2 - costs.message, 0.0) / bytes;
    const double seconds = std::min(of_cores, most);
    if (seconds > 0) costs.core = 1 / seconds;
  }
  return costs;
}

/// Returns the seconds of a single message of any length, interpolated between the lengths that were
/// measured.
double interpolated(const Measured& measured, std::size_t bytes) {
  std::size_t below = tiny;
  for (const std::size_t above : {little, few, some, many}) {
    if (!(measured.single(above) > 0)) break;
    if (bytes <= above) {
      const double share =
          static_cast<double>(bytes - std::min(below, bytes)) / static_cast<double>(above - below);
      return measured.single(below) + share * (measured.single(above) - measured.single(below));
    }
    below = above;
  }
  return measured.single(below);
}

/// Returns a row for each power of two, so that the time does not jump at any length. `longer` are the costs
/// of messages whose length is nearer to `many` than to `some`. `sharing` ranks used the link at once, and
/// `crowd` ranks were at work on each core.
std::vector<Protocol> rows_of(const Measured& measured, const Costs& shorter, const Costs& longer,
                              int sharing, double crowd) {
  std::vector<Protocol> rows;
  const std::size_t longest = measured.single(many) > 0 ? many : some;
  for (std::size_t bytes = least_row; bytes <= longest; bytes *= 2) {
    const Costs& costs = bytes > 2 * some ? longer : shorter;
    Protocol row{.from = bytes == least_row ? 0 : bytes * 3 / 4, .bandwidth = costs.bandwidth};
    row.core = costs.core;
    const auto length = static_cast<double>(bytes);
    const double accounted =
        2 * crowd * (costs.message + row.core_seconds(length)) + sharing * length / costs.bandwidth;
    const double least = rows.empty() ? least_latency : rows.front().latency / 2;
    row.latency = std::max(interpolated(measured, bytes) - accounted, least);
    rows.push_back(row);
  }
  return rows;
}

/// Inside a node, only the cores at both ends move bytes: the time by which a message takes longer than a
/// tiny one keeps them busy.
std::vector<Protocol> rows_inside(const Measured& measured, double crowd) {
  std::vector<Protocol> rows;
  const double tiny_seconds = measured.single(tiny);
  const double message = message_seconds(measured);
  for (std::size_t bytes = least_row; bytes <= many; bytes *= 2) {
    const auto length = static_cast<double>(bytes);
    const double of_core = std::max((interpolated(measured, bytes) - tiny_seconds) / 2, least_latency);
    Protocol row{.from = bytes == least_row ? 0 : bytes * 3 / 4,
                 .latency = std::max(tiny_seconds - 2 * message, least_latency),
                 .bandwidth = spare * length / of_core};
    row.core = crowd * length / of_core;
    rows.push_back(row);
  }
  return rows;
}

/// Converts costs to those of a rank with a core of its own: all ranks were at work at once, so they took
/// `crowd` times as long.
void relieve(Costs& costs, double crowd) {
  costs.message /= crowd;
  costs.core *= crowd;
}

/// Returns how many ranks share a core, at least 1.
double crowd_of(const SharedCores& shared, const Topology& topology) {
  if (shared.cores == 0) return 1;
  const double nodes = std::min(shared.nodes, topology.nodes);
  return std::max(nodes / topology.nodes * topology.ranks() / shared.cores, 1.0);
}

/// Whether a single message passes much faster than the messages of a long stream, at `bandwidth` bytes per
/// second. If so, the link saves up bytes.
bool saves_up(const Measured& measured, double bandwidth) {
  return measured.single(some) < some / bandwidth / 2;
}

/// Adds the rates of the nodes' links. The bandwidth so far is that of the slowest link.
void add_rates(const std::vector<double>& rates, Machine& machine) {
  if (rates.empty() || !(machine.node.bandwidth > 0)) return;
  const auto [least, most] = std::ranges::minmax(rates);
  for (const double rate : rates) machine.node_rates.push_back(rate / least * machine.node.bandwidth);
  for (Protocol& row : machine.levels.at(static_cast<std::size_t>(Level::network))) {
    row.bandwidth *= most / least;
  }
}

}  // namespace

Machine fit_probe(const ProbeFigures& figures, const ProbeReduction& reduction, const Topology& topology,
                  const SharedCores& shared, const std::vector<double>& rates, double late) {
  Machine machine;
  const double crowd = crowd_of(shared, topology);
  machine.engine_round = late / crowd;
  if (crowd > 1) machine.shared_cores = shared;
  machine.name = "probed";
  const auto at = [&](Level level) -> std::vector<Protocol>& {
    return machine.levels.at(static_cast<std::size_t>(level));
  };
  if (topology.max_ppn > 1) {
    const Measured inside(figures, Level::node);
    machine.engine_message = message_seconds(inside) / crowd;
    at(Level::node) = rows_inside(inside, crowd);
  }
  if (topology.nodes > 1) {
    const Measured between(figures, Level::network);
    const bool is_fast = has_fast_links(figures, topology);
    Costs shorter = costs_of(between, some, is_fast);
    if (!is_fast) {
      // The first messages of the stream may have passed at once, because the link had saved up their bytes.
      shorter.bandwidth =
          static_cast<double>(some * probe_messages) / between.seconds(Flow::around, some, true);
    }
    Costs longer = is_fast ? costs_of(between, many, true) : shorter;
    // Several ranks of a node sent at once, so each had its share of the link.
    const int sharing = longer.core_decides ? 1 : topology.min_ppn;
    if (!longer.core_decides) {
      shorter.message -= std::min(shorter.message / 2, tiny / longer.bandwidth);
      machine.node.bandwidth = longer.bandwidth * sharing;
      longer.bandwidth *= sharing;
      shorter.bandwidth *= sharing;
    }
    if (!is_fast && saves_up(between, shorter.bandwidth / sharing)) {
      machine.node.burst = saved;
      shorter.bandwidth = some / std::max(between.single(some) - between.single(tiny), least_latency);
      longer = shorter;
    }
    longer.message = shorter.message;
    relieve(shorter, crowd);
    relieve(longer, crowd);
    machine.engine_message = std::max(machine.engine_message, shorter.message);
    at(Level::network) = rows_of(between, shorter, longer, machine.node.burst > 0 ? 1 : sharing, crowd);
  } else {
    at(Level::network) = at(Level::node);
  }
  add_rates(rates, machine);
  if (at(Level::node).empty()) at(Level::node) = at(Level::network);
  at(Level::socket) = at(Level::node);
  if (reduction.short_seconds > 0 && reduction.long_seconds > 0) {
    machine.reduction = {{.from = 0, .bandwidth = crowd / reduction.short_seconds},
                         {.from = 2 * mebibyte, .bandwidth = crowd / reduction.long_seconds}};
  }
  return machine;
}

}  // namespace stretto
