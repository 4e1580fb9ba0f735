// SPDX-License-Identifier: Apache-2.0
#include "learn/network/probe.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "learn/network/links.hpp"
#include "learn/network/probe_sizes.hpp"
#include "threads/core_time.hpp"

namespace stretto {

using namespace probe_sizes;

namespace {

constexpr int stream = probe_messages;

/// Links on which a stream of `some` takes less time than this are fast: about 700 Mbit/s. On slower ones,
/// the further steps would take more than 100 ms.
constexpr double longest_fast_stream = 0.003;

/// The ranks that pass messages on to each other, in their order, and this rank's place among them.
struct Row {
  std::vector<int> ranks;
  std::size_t place = 0;
};

/// Between nodes, the same number of ranks of each node send: otherwise a node with few ranks would seem to
/// have a slow link.
bool sends_between_nodes(const Topology& topology, int rank) {
  return topology.place(rank) < topology.min_ppn;
}

/// Returns the row of a rank. Between nodes, it consists of the ranks at the same place of each node, if all
/// nodes have such a place. Inside a node, it consists of the node's ranks.
Row row_of(Level level, const Topology& topology, int rank) {
  Row row;
  if (level != Level::network) {
    const std::span<const int> ranks = topology.on_node(topology.node(rank));
    row.ranks.assign(ranks.begin(), ranks.end());
    row.place = static_cast<std::size_t>(topology.place(rank));
    return row;
  }
  if (!sends_between_nodes(topology, rank)) return row;
  for (int node = 0; node < topology.nodes; ++node) {
    if (node == topology.node(rank)) row.place = row.ranks.size();
    row.ranks.push_back(topology.rank_at(node, topology.place(rank)));
  }
  return row;
}

/// Rates are different if they differ by more than this factor.
constexpr double other_rate = 1.7;

}  // namespace

const std::array<ProbeStep, probe_step_count> probe_steps = {{
    {Level::node, Flow::around, tiny, 1, 6, false},
    {Level::node, Flow::around, tiny, stream, 4, false},
    {Level::node, Flow::around, little, 1, 6, false},
    {Level::node, Flow::around, few, 1, 6, false},
    {Level::node, Flow::around, some, 1, 6, false},
    {Level::node, Flow::around, many, 1, 4, false},
    {Level::node, Flow::around, some, stream, 4, false},
    {Level::node, Flow::one_way, some, stream, 4, false},
    {Level::network, Flow::around, tiny, 1, 16, false},
    {Level::network, Flow::around, tiny, stream, 8, false},
    {Level::network, Flow::around, little, 1, 8, false},
    {Level::network, Flow::around, few, 1, 8, false},
    {Level::network, Flow::around, some, 1, 3, false},
    {Level::network, Flow::around, some, stream, 1, false},
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

namespace {

Schedule make_schedule(const ProbeStep& step, const Topology& topology, int rank, bool with_sends,
                       bool with_receives) {
  Schedule schedule(topology.ranks(), rank, step.blocks());
  const Row row = row_of(step.level, topology, rank);
  const std::size_t ranks = row.ranks.size();
  if (ranks < 2) return schedule;
  const bool is_one_way = step.flow == Flow::one_way;
  const bool sends = !is_one_way || (row.place % 2 == 0 && row.place + 1 < ranks);
  const bool receives = !is_one_way || row.place % 2 == 1;
  const int previous = row.ranks[(row.place + ranks - 1) % ranks];
  const int next = row.ranks[(row.place + 1) % ranks];
  if (step.flow == Flow::reduced) {
    schedule.recv_reduce(output(0), input(0), previous, Side::right).send(input(1), next).end_round();
    schedule.recv(output(1), previous).send(output(0), next);
    return schedule.end_round();
  }
  if (receives && with_receives) schedule.recv(output(0), previous);
  if (sends && with_sends) schedule.send(input(0), next);
  return schedule.end_round();
}

}  // namespace

Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank) {
  return make_schedule(step, topology, rank, true, true);
}

Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank, Half half) {
  return make_schedule(step, topology, rank, half == Half::sends, half == Half::receives);
}

double probe_figure(const ProbeStep& step, std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  if (seconds.size() == 1) return seconds.front();
  seconds.erase(seconds.begin());
  // The faster half counts: a rank that another one keeps from its core says nothing about the network.
  const auto quarter = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 4);
  const auto half = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  const auto chosen = step.messages == 1 ? quarter : half;
  std::nth_element(seconds.begin(), chosen, seconds.end());
  return *chosen;
}

void Lateness::add(const ProbeStep& step, std::span<const double> seconds) {
  if (step.messages > 1 || seconds.size() < 2) return;
  const double figure = probe_figure(step, {seconds.begin(), seconds.end()});
  const std::span<const double> counted = seconds.subspan(1);
  const auto calls = static_cast<double>(counted.size());
  const double all = std::accumulate(counted.begin(), counted.end(), 0.0);
  seconds_ += std::max(all - calls * figure, 0.0);
  rounds_ += calls * step.blocks();
}

namespace {

/// Returns the first step between nodes for which `is_it` holds.
std::size_t first_between_nodes(const auto& is_it) {
  const auto found = std::ranges::find_if(
      probe_steps, [&](const ProbeStep& step) { return step.level == Level::network && is_it(step); });
  return static_cast<std::size_t>(found - probe_steps.begin());
}

}  // namespace

std::size_t long_stream() {
  return first_between_nodes([](const ProbeStep& step) { return step.calls == 1 && step.messages > 1; });
}

namespace {
/// The time that further long streams may take, and their number.
constexpr double most_of_long_streams = 0.05;
constexpr double most_long_streams = 6;
/// The same for those that confirm the rates of the nodes' links.
constexpr double most_of_confirmations = 0.15;
constexpr double most_confirmations = 2;
}  // namespace

int more_long_streams(const ProbeFigures& figures, double busy, const Topology& topology) {
  const double seconds = 2 * figures.at(long_stream());
  if (!(seconds > 0)) return 0;
  const bool has_rates = topology.nodes > 2 && !has_fast_links(figures, topology);
  const double confirmations =
      has_rates ? std::clamp(most_of_confirmations / seconds, 1.0, most_confirmations) : 0;
  const double repetitions =
      busy < busy_from ? 0 : std::min(most_of_long_streams / seconds, most_long_streams);
  return static_cast<int>(std::max(confirmations, repetitions));
}

void LongStreams::add(double second, double received) {
  received_ = seconds_.empty() ? received : std::min(received_, received);
  seconds_.push_back(second);
}

double LongStreams::figure() const {
  if (seconds_.empty()) return 0;
  std::vector<double> sorted = seconds_;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

const ProbeStep stream_of_streams{
    .level = Level::network, .flow = Flow::around, .bytes = many, .messages = stream, .calls = 1};

int streams_worth(double by_one, int several, double by_several) {
  constexpr double worth = 1.4;
  return by_several > 0 && by_one > worth * by_several ? several : 1;
}

bool is_faster_than_tcp(const ProbeFigures& figures) {
  constexpr double least_by_tcp = 4e-6;
  const double seconds = figures.at(
      first_between_nodes([](const ProbeStep& step) { return step.bytes == tiny && step.messages == 1; }));
  return seconds > 0 && seconds < least_by_tcp;
}

namespace {
constexpr std::array<std::size_t, 2> lengths_by_connections{some, many};
}  // namespace

std::array<ProbeStep, 2> streams_by_connections(const ProbeFigures& figures, int ppn) {
  constexpr int most_messages = 32;
  constexpr double quick = 0.8e-3;  // a long stream at some 2.5 Gbit/s
  const bool is_quick = figures.at(long_stream()) < quick;
  const int messages = is_quick ? std::max(most_messages / ppn, stream) : stream;
  constexpr auto level = Level::network;
  constexpr auto flow = Flow::reduced;
  const auto [shorter, longer] = lengths_by_connections;
  return {{{.level = level, .flow = flow, .bytes = shorter, .messages = stream, .calls = 4},
           {.level = level, .flow = flow, .bytes = longer, .messages = messages, .calls = 2}}};
}

std::size_t connections_worth(const std::array<double, 2>& by_library,
                              const std::array<double, 2>& by_connections) {
  constexpr double worth = 1.1;
  constexpr double as_fast = 0.95;
  std::size_t from = 0;
  for (std::size_t i = by_library.size(); i > 0; --i) {
    const double seconds = by_connections.at(i - 1);
    const double gain = seconds > 0 ? by_library.at(i - 1) / seconds : 0;
    if (gain < as_fast) break;
    if (gain > worth) from = lengths_by_connections.at(i - 1);
  }
  return from;
}

bool has_fast_links(const ProbeFigures& figures, const Topology& topology) {
  const double seconds = figures.at(long_stream());
  return topology.nodes > 1 && seconds > 0 && seconds < longest_fast_stream;
}

std::vector<double> find_rates(const std::vector<double>& received, const Topology& topology) {
  const auto bytes = static_cast<double>(2 * probe_steps.at(long_stream()).call_bytes());
  const auto nodes = static_cast<std::size_t>(topology.nodes);
  std::vector<double> in(nodes, 0);
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    const double seconds = received[static_cast<std::size_t>(rank)];
    if (!(seconds > 0) || !sends_between_nodes(topology, rank)) continue;
    const int node = topology.node(rank);
    // The ranks of the node that receive share its link.
    double& rate = in[static_cast<std::size_t>(node)];
    rate = std::max(rate, topology.min_ppn * bytes / seconds);
  }
  std::vector<double> rates;
  for (std::size_t node = 0; node < nodes; ++node)
    rates.push_back(std::max(in[node], in[(node + 1) % nodes]));
  // The time of a stream varies: some bytes were saved up, others were lost and sent again. So only two kinds
  // of links are told apart, and the fast ones count as alike.
  const double least = least_fast_rate(rates, other_rate);
  if (!(least > 0)) return {};
  std::vector<double> fast = rates;
  std::erase_if(fast, [&](double rate) { return rate < least; });
  std::ranges::sort(fast);
  const double usual = fast[fast.size() * 3 / 4];
  for (double& rate : rates) {
    if (rate >= least) rate = usual;
  }
  return rates;
}

SharedCores find_shared_cores(const std::vector<Host>& hosts, const Topology& topology) {
  if (hosts[0].kernel == 0) return {};
  // All hosts must be like the first one: the same number of nodes in a row, with the same number of ranks.
  const auto kernel_of = [&](int rank) { return hosts[static_cast<std::size_t>(rank)].kernel; };
  int nodes = 0;
  while (nodes < topology.nodes && kernel_of(topology.rank_at(nodes, 0)) == hosts[0].kernel) ++nodes;
  std::bitset<512> used;
  int ranks = 0;
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    const int first = topology.node(rank) / nodes * nodes;
    if (kernel_of(rank) != kernel_of(topology.rank_at(first, 0))) return {};
    if (first != 0) continue;
    used |= hosts[static_cast<std::size_t>(rank)].processors;
    ++ranks;
  }
  const auto cores = static_cast<int>(used.count());
  return cores > 0 && cores < ranks ? SharedCores{.nodes = nodes, .cores = cores} : SharedCores{};
}

}  // namespace stretto
