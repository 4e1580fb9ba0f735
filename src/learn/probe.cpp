// SPDX-License-Identifier: Apache-2.0
#include "learn/probe.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "learn/probe_sizes.hpp"

namespace stretto {

using namespace probe_sizes;

namespace {

constexpr int stream = probe_messages;

/// Links on which a stream of `some` takes less time than this are fast: about 700 Mbit/s. On slower ones,
/// the further steps would take more than 100 ms.
constexpr double longest_fast_stream = 0.003;

/// The ranks that pass messages on to each other, in their order, and the place of this one among them.
struct Row {
  std::vector<int> ranks;
  std::size_t place = 0;
};

/// Between nodes: the ranks at the same place of each node that has such a place. Inside: a node's ranks.
Row row_of(Level level, const Topology& topology, int rank) {
  Row row;
  if (level != Level::network) {
    const std::span<const int> ranks = topology.on_node(topology.node(rank));
    row.ranks.assign(ranks.begin(), ranks.end());
    row.place = static_cast<std::size_t>(topology.place(rank));
    return row;
  }
  for (int node = 0; node < topology.nodes; ++node) {
    if (topology.place(rank) >= topology.ppn(node)) continue;
    if (node == topology.node(rank)) row.place = row.ranks.size();
    row.ranks.push_back(topology.rank_at(node, topology.place(rank)));
  }
  return row;
}

/// Rates are different if they differ by this factor: a link may have saved up some bytes.
constexpr double other_rate = 2;

/// The stream on slow links between nodes.
std::size_t find_stream(Flow flow) {
  const auto is_it = [flow](const ProbeStep& step) {
    return step.level == Level::network && step.flow == flow && step.messages > 1 && step.bytes == some &&
           !step.is_for_fast_links;
  };
  return static_cast<std::size_t>(std::ranges::find_if(probe_steps, is_it) - probe_steps.begin());
}

}  // namespace

const std::array<ProbeStep, probe_step_count> probe_steps = {{
    {Level::node, Flow::around, tiny, 1, 6, false},
    {Level::node, Flow::around, tiny, stream, 4, false},
    {Level::node, Flow::around, few, 1, 6, false},
    {Level::node, Flow::around, some, 1, 6, false},
    {Level::node, Flow::around, many, 1, 4, false},
    {Level::node, Flow::around, some, stream, 4, false},
    {Level::node, Flow::one_way, some, stream, 4, false},
    {Level::network, Flow::around, tiny, 1, 16, false},
    {Level::network, Flow::around, tiny, stream, 8, false},
    {Level::network, Flow::around, few, 1, 8, false},
    {Level::network, Flow::around, some, 1, 3, false},
    {Level::network, Flow::around, some, stream, 2, false},
    {Level::network, Flow::back, some, stream / 2, 1, false},
    {Level::network, Flow::around, some, 1, 8, true},
    {Level::network, Flow::around, some, stream, 4, true},
    {Level::network, Flow::one_way, some, stream, 4, true},
    {Level::network, Flow::around, many, 1, 4, true},
    {Level::network, Flow::around, many, stream / 2, 3, true},
    {Level::network, Flow::one_way, many, stream / 2, 3, true},
}};

bool is_measurable(const ProbeStep& step, const Topology& topology) {
  return step.level == Level::network ? topology.nodes > 1 : topology.max_ppn > 1;
}

Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank) {
  Schedule schedule(topology.ranks(), rank, 1);
  const Row row = row_of(step.level, topology, rank);
  const std::size_t ranks = row.ranks.size();
  if (ranks < 2) return schedule;
  const bool is_one_way = step.flow == Flow::one_way;
  const bool sends = !is_one_way || (row.place % 2 == 0 && row.place + 1 < ranks);
  const bool receives = !is_one_way || row.place % 2 == 1;
  int before = row.ranks[(row.place + ranks - 1) % ranks];
  int after = row.ranks[(row.place + 1) % ranks];
  if (step.flow == Flow::back) std::swap(before, after);
  if (receives) schedule.recv(output(0), before);
  if (sends) schedule.send(input(0), after);
  return schedule.end_round();
}

double probe_figure(const ProbeStep& step, std::vector<double> seconds) {
  // The last of a few long streams is the one that saved-up bytes no longer help.
  if (seconds.size() <= 2) return seconds.empty() ? 0 : seconds.back();
  seconds.erase(seconds.begin());
  // The better half: a rank that another one keeps from its core says nothing about the network.
  const auto quarter = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
  const auto half = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  const auto chosen = step.messages == 1 ? quarter : half;
  std::nth_element(seconds.begin(), chosen, seconds.end());
  return *chosen;
}

std::size_t forward_stream() {
  return find_stream(Flow::around);
}

std::size_t backward_stream() {
  return find_stream(Flow::back);
}

bool has_fast_links(const ProbeFigures& figures, const Topology& topology) {
  const double seconds = figures.at(forward_stream());
  return topology.nodes > 1 && seconds > 0 && seconds < longest_fast_stream;
}

std::vector<double> find_rates(const std::vector<double>& forward, const std::vector<double>& backward,
                               const Topology& topology) {
  const auto bytes_of = [](std::size_t step) {
    return static_cast<double>(probe_steps.at(step).call_bytes());
  };
  std::vector<double> rates(static_cast<std::size_t>(topology.nodes), 0);
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (!(forward[i] > 0) || !(backward[i] > 0)) continue;
    const int node = topology.node(rank);
    // All ranks of the node share its link.
    const double faster = topology.ppn(node) * std::max(bytes_of(forward_stream()) / forward[i],
                                                        bytes_of(backward_stream()) / backward[i]);
    double& rate = rates[static_cast<std::size_t>(node)];
    rate = std::max(rate, faster);
  }
  const auto [least, most] = std::ranges::minmax(rates);
  return least > 0 && most > other_rate * least ? rates : std::vector<double>{};
}

}  // namespace stretto
