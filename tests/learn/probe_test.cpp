// SPDX-License-Identifier: Apache-2.0
// Here the probe is measured on known machines: the walker walks its schedules in simulated time. A machine
// that is fitted to these times must choose as well as the known machine itself.
#include "learn/network/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "algorithms/short_list.hpp"
#include "learn/network/modelled.hpp"
#include "model/estimate.hpp"
#include "model/predictor.hpp"
#include "model/walker.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

Topology topology_of(const std::vector<int>& ppns) {
  std::vector<int> labels;
  for (std::size_t node = 0; node < ppns.size(); ++node) {
    labels.insert(labels.end(), static_cast<std::size_t>(ppns[node]), static_cast<int>(node));
  }
  return Topology::from_labels(labels);
}

Protocol protocol(double latency, double bandwidth, double core) {
  Protocol one;
  one.latency = latency;
  one.bandwidth = bandwidth;
  one.core = core;
  return one;
}

/// Returns a machine with TCP links of this bandwidth between nodes.
Machine machine_of(double link, double latency, double core, double message) {
  Machine machine;
  machine.name = "known";
  machine.levels[2] = {protocol(latency, link, core)};
  machine.levels[0] = machine.levels[1] = {protocol(0.3e-6, 8e9, 16e9)};
  machine.node.bandwidth = link;
  machine.engine_message = message;
  machine.reduction = {{.from = 0, .bandwidth = 1e10}, {.from = 4 * mebibyte, .bandwidth = 4e9}};
  return machine;
}

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all{
      machine_of(6.25e6 * 0.956, 20e-6, 4e9, 2e-6),   // 50 Mbit/s
      machine_of(25e6 * 0.956, 20e-6, 4e9, 2e-6),     // 200 Mbit/s
      machine_of(125e6 * 0.956, 15e-6, 4e9, 1.5e-6),  // 1 Gbit/s
      machine_of(1.25e9, 10e-6, 3e9, 1e-6),           // 10 Gbit/s: a core does both directions in turn
      machine_of(12.5e9, 10e-6, 4e9, 1e-6),           // 100 Gbit/s over TCP: cores decide
      machine_of(12.5e9, 1.5e-6, 0, 0.2e-6),          // InfiniBand
  };
  return all;
}

/// Returns the figures on which the ranks would agree.
ProbeFigures measure(const Machine& machine, const Topology& topology) {
  ProbeFigures figures{};
  // Before the long stream, links pass the bytes that they have saved up.
  Machine idle = machine;
  if (machine.node.burst > 0) idle.node = {};
  const auto measure_some = [&](bool of_fast_links) {
    for (std::size_t i = 0; i < probe_step_count; ++i) {
      const ProbeStep& step = probe_steps.at(i);
      if (step.is_for_fast_links != of_fast_links || !is_measurable(step, topology)) continue;
      const Plan plan(topology, [&](int rank) { return probe_schedule(step, topology, rank); });
      const auto seconds = [&](int times) {
        WalkedCall call{.bytes = step.call_bytes() * static_cast<std::size_t>(times),
                        .pipelining = {},
                        .element_bytes = 1};
        call.pipelining.segments = step.messages * times;
        call.pipelining.window = call.pipelining.segments;
        return walk(plan, call, i == long_stream() ? machine : idle).end().at();
      };
      figures.at(i) = i == long_stream() ? seconds(2) - seconds(1) : seconds(1);
    }
  };
  measure_some(false);
  if (has_fast_links(figures, topology)) measure_some(true);
  return figures;
}

Machine fit(const Machine& machine, const Topology& topology) {
  // All ranks measure at the same time.
  const SharedCores& shared = machine.shared_cores;
  const double crowd = shared.cores == 0 ? 1
                                         : static_cast<double>(topology.ranks()) / shared.cores *
                                               shared.nodes / topology.nodes;
  return fit_probe(measure(machine, topology),
                   {.short_seconds = crowd * machine.reduction_seconds(0),
                    .long_seconds = crowd * machine.reduction_seconds(8 * mebibyte)},
                   topology, shared, machine.node_rates);
}

TEST(Probe, EveryMessageHasItsPartner) {
  for (const std::vector<int>& ppns :
       {std::vector{1}, {2}, {1, 1}, {3, 1}, {1, 1, 1}, {2, 2, 2}, {4, 1, 2, 3}, {1, 2, 3, 4, 5}}) {
    const Topology topology = topology_of(ppns);
    for (const ProbeStep& step : probe_steps) {
      // Plan throws if a schedule is missing.
      const Plan plan(topology, [&](int rank) { return probe_schedule(step, topology, rank); });
      EXPECT_EQ(plan.steps() > 0, is_measurable(step, topology));
    }
  }
}

TEST(Probe, TheFirstCallDoesNotCount) {
  const ProbeStep step{.calls = 6};
  EXPECT_EQ(probe_figure(step, {9, 1, 1, 1, 1, 1}), 1);
  EXPECT_EQ(probe_figure(step, {1, 2}), 2);
  EXPECT_EQ(probe_figure(step, {}), 0);
}

TEST(Probe, SlowLinksAreNotMeasuredFurther) {
  const Topology topology = topology_of({1, 1, 1});
  EXPECT_FALSE(has_fast_links(measure(machines()[0], topology), topology));
  EXPECT_TRUE(has_fast_links(measure(machines()[3], topology), topology));
  EXPECT_FALSE(has_fast_links({}, topology));
}

TEST(Probe, SeveralConnectionsMustBeMuchFaster) {
  EXPECT_EQ(streams_worth(0.032, 4, 0.009), 4);
  EXPECT_EQ(streams_worth(0.010, 4, 0.0101), 1);
  EXPECT_EQ(streams_worth(0.010, 4, 0.009), 1);
  EXPECT_EQ(streams_worth(0, 4, 0.009), 1);
  EXPECT_EQ(streams_worth(0.010, 4, 0), 1);
}

TEST(Probe, ConnectionsMustBeFasterFromSomeLengthOn) {
  ProbeFigures figures{};
  const auto [shorter, longer] = streams_by_connections(figures, 1);
  EXPECT_LT(shorter.bytes, longer.bytes);
  EXPECT_LT(streams_by_connections(figures, 4)[1].messages, longer.messages);
  figures.at(long_stream()) = 0.002;
  EXPECT_LT(streams_by_connections(figures, 1)[1].messages, longer.messages);
  EXPECT_EQ(connections_worth({1, 10}, {0.5, 5}), shorter.bytes);
  EXPECT_EQ(connections_worth({1, 10}, {0.95, 5}), longer.bytes);
  EXPECT_EQ(connections_worth({1, 10}, {0.5, 10.2}), shorter.bytes);
  EXPECT_EQ(connections_worth({1, 10}, {0.5, 11}), 0U);
  EXPECT_EQ(connections_worth({1, 10}, {1.2, 5}), longer.bytes);
  EXPECT_EQ(connections_worth({1, 10}, {1, 10}), 0U);
  EXPECT_EQ(connections_worth({1, 10}, {0, 0}), 0U);
  EXPECT_EQ(connections_worth({0, 0}, {1, 10}), 0U);
}

TEST(Probe, NetworksBelowTcpsLatencyNeedNoConnections) {
  ProbeFigures figures{};
  EXPECT_FALSE(is_faster_than_tcp(figures));
  for (std::size_t i = 0; i < probe_step_count; ++i) {
    const ProbeStep& step = probe_steps.at(i);
    if (step.level == Level::network && step.messages == 1 && step.bytes < 100) figures.at(i) = 2e-6;
  }
  EXPECT_TRUE(is_faster_than_tcp(figures));
  for (double& seconds : figures) seconds *= 10;
  EXPECT_FALSE(is_faster_than_tcp(figures));
}

TEST(Probe, FindsTheNodeWithTheSlowLink) {
  const double bytes = static_cast<double>(2 * probe_steps.at(long_stream()).call_bytes());
  for (const std::size_t nodes : {3, 4, 8}) {
    const Topology topology = topology_of(std::vector<int>(nodes, 1));
    for (std::size_t slow = 0; slow < nodes; ++slow) {
      // This node receives slowly, and so does the next node.
      std::vector<double> received(nodes, bytes / 25e6);
      received[slow] = received[(slow + 1) % nodes] = bytes / 5e6;
      const std::vector<double> rates = find_rates(received, topology);
      ASSERT_EQ(rates.size(), nodes);
      for (std::size_t node = 0; node < nodes; ++node) EXPECT_NEAR(rates[node], node == slow ? 5e6 : 25e6, 1);
    }
    EXPECT_TRUE(find_rates(std::vector<double>(nodes, bytes / 25e6), topology).empty());
  }
}

/// The same number of ranks of each node sends. The other ranks wait for no message.
TEST(Probe, NodesOfFewRanksHaveNoOtherLinks) {
  const double bytes = static_cast<double>(2 * probe_steps.at(long_stream()).call_bytes());
  for (const std::vector<int>& ppns : {std::vector{5, 3, 8}, {8, 1, 8}, {1, 8, 2, 3}}) {
    const Topology topology = topology_of(ppns);
    const int senders = topology.min_ppn;
    for (int slow = -1; slow < topology.nodes; ++slow) {
      std::vector<double> received;
      for (int rank = 0; rank < topology.ranks(); ++rank) {
        const int node = topology.node(rank);
        const bool is_slow = slow >= 0 && (node == slow || node == (slow + 1) % topology.nodes);
        const double rate = (is_slow ? 5e6 : 25e6) / senders;
        const Schedule schedule = probe_schedule(probe_steps.at(long_stream()), topology, rank);
        const bool sends = topology.place(rank) < senders;
        EXPECT_EQ(schedule.actions().size(), sends ? 2U : 0U);
        received.push_back(sends ? bytes / rate : 1e-7);
      }
      const std::vector<double> rates = find_rates(received, topology);
      ASSERT_EQ(rates.empty(), slow < 0);
      for (std::size_t node = 0; node < rates.size(); ++node)
        EXPECT_NEAR(rates[node], static_cast<int>(node) == slow ? 5e6 : 25e6, 1);
    }
  }
}

/// A rank that has to wait for its core does so for each segment, so segments must take longer than the wait.
TEST(Probe, WhereRanksWaitForTheirCoresSegmentsAreLong) {
  const Topology topology = topology_of({1, 1, 1, 1});
  const auto any = [](const Spec& /*spec*/) { return true; };
  constexpr std::size_t bytes = 16 * mebibyte;
  for (const double late : {0.001, 0.003}) {
    for (const Machine& machine : machines()) {
      for (const Collective collective : {Collective::allreduce, Collective::bcast, Collective::allgather}) {
        const Machine fitted = fit_probe(measure(machine, topology), {}, topology, {}, {}, late);
        const Spec best =
            find_fastest(shape_of(collective, bytes, topology), topology, fitted, 1, any)[0].spec;
        const WalkedCall call{.bytes = bytes, .pipelining = best.pipelining, .element_bytes = 1};
        const auto segments = static_cast<double>(call.segments());
        const double seconds = bytes / segments / fitted.protocol(Level::network, bytes).bandwidth;
        EXPECT_TRUE(segments == 1 || seconds >= late) << to_string(best) << " " << name_of(collective);
      }
    }
  }
}

TEST(Probe, OnlySingleMessagesAreLate) {
  Lateness all;
  EXPECT_EQ(all.of_round(), 0);
  all.add({.calls = 5}, std::vector<double>{9, 1, 1, 4, 1});
  EXPECT_EQ(all.of_round(), 0.75);
  all.add({.messages = 8, .calls = 3}, std::vector<double>{9, 9, 90});
  EXPECT_EQ(all.of_round(), 0.75);
  all.add({.calls = 5}, std::vector<double>{9, 1, 1, 1, 1});
  EXPECT_EQ(all.of_round(), 0.375);
}

/// Other programs keep ranks from their cores for some milliseconds, which is as long as a stream takes.
TEST(Probe, RanksThatWaitForTheirCoresHaveNoOtherLinks) {
  std::mt19937 random(1);
  const auto bytes = static_cast<double>(2 * probe_steps.at(long_stream()).call_bytes());
  const Topology topology = topology_of({1, 1, 1, 1});
  ProbeFigures figures{};
  figures.at(long_stream()) = bytes / 2 / 125e6;
  EXPECT_EQ(more_long_streams(figures, 0, topology), 0);
  const int streams = 1 + more_long_streams(figures, 0.5, topology);
  int wrong_by_one = 0;
  int wrong = 0;
  for (int job = 0; job < 200; ++job) {
    for (const bool has_slow : {false, true}) {
      std::vector<double> first;
      std::vector<double> received;
      for (int rank = 0; rank < topology.ranks(); ++rank) {
        LongStreams all;
        for (int stream = 0; stream < streams; ++stream) {
          const double seconds = bytes / (has_slow && rank < 2 ? 12.5e6 : 125e6);
          const double lost = random() % 2 == 0 ? 0 : 0.003 * static_cast<double>(1 + random() % 3);
          all.add(seconds / 2 + lost, seconds + lost);
          if (stream == 0) first.push_back(all.received());
        }
        received.push_back(all.received());
      }
      if (!has_slow && !find_rates(first, topology).empty()) ++wrong_by_one;
      if (find_rates(received, topology).empty() == has_slow) ++wrong;
    }
  }
  EXPECT_GT(wrong_by_one, 40);
  EXPECT_LE(wrong, 2);
  // Where a stream takes much longer than a program has the core, one is enough, and another one to confirm
  // the rates of several nodes' links.
  figures.at(long_stream()) = bytes / 2 / 3e6;
  EXPECT_EQ(more_long_streams(figures, 0.9, topology_of({1, 1})), 0);
  EXPECT_EQ(more_long_streams(figures, 0, topology), 1);
  figures.at(long_stream()) = bytes / 2 / 25e6;
  EXPECT_EQ(more_long_streams(figures, 0, topology), 2);
}

TEST(Probe, TheFigureOfLongStreamsIsTheirMedian) {
  LongStreams all;
  EXPECT_EQ(all.figure(), 0);
  all.add(2, 5);
  EXPECT_EQ(all.figure(), 2);
  all.add(9, 12);
  all.add(0.1, 4);
  EXPECT_EQ(all.figure(), 2);
  EXPECT_EQ(all.received(), 4);
}

TEST(Probe, FindsBandwidthAndLatency) {
  const Topology topology = topology_of({1, 1});
  const Machine slow = fit(machines()[1], topology);
  EXPECT_NEAR(slow.protocol(Level::network, mebibyte).bandwidth / 25e6 / 0.956, 1, 0.05);
  const Machine fast = fit(machines()[5], topology);
  EXPECT_NEAR(fast.protocol(Level::network, 8).latency / 1.5e-6, 1, 0.2);
  EXPECT_NEAR(fast.protocol(Level::network, mebibyte).bandwidth / 12.5e9, 1, 0.2);
  EXPECT_NEAR(fast.engine_message / 0.2e-6, 1, 0.3);
  const Machine cores = fit(machines()[4], topology);
  EXPECT_NEAR(cores.protocol(Level::network, mebibyte).core / 4e9, 1, 0.2);
}

std::vector<Spec> candidates_of(Collective collective, const Topology& topology) {
  std::vector<Spec> all;
  for (const ShortListed& one : short_list(collective)) {
    if (one.needs_shared_nodes && topology.max_ppn < 2) continue;
    if (one.whole) all.push_back({.recipe = one.recipe, .pipelining = {}});
    if (one.recipe.algorithm->stays_whole()) continue;
    for (const std::size_t segment : {32 * kibibyte, 128 * kibibyte, 512 * kibibyte, 2 * mebibyte}) {
      all.push_back({.recipe = one.recipe, .pipelining = {.segment_bytes = segment}});
    }
  }
  return all;
}

/// Returns the time of the choice on the true machine, as a multiple of the best candidate's.
double regret(const Machine& machine, const Topology& topology, Collective collective, std::size_t bytes) {
  const auto seconds = [&](const Spec& spec) {
    const WalkedCall call{.collective = collective, .bytes = bytes, .pipelining = spec.pipelining};
    // In a row of calls, the bytes that links have saved up are soon used up.
    if (machine.node.burst > 0) return estimate_seconds(Plan(spec.recipe, topology, 0), call, machine);
    return Predictor(spec.recipe, topology).predict(call, machine).end.at();
  };
  const CallShape shape = shape_of(collective, bytes, topology);
  const auto any = [](const Spec& /*spec*/) { return true; };
  double chosen = 1e9;
  for (const Finding& one : find_fastest(shape, topology, fit(machine, topology), 3, any)) {
    chosen = std::min(chosen, seconds(one.spec));
  }
  double best = chosen;
  for (const Spec& spec : candidates_of(collective, topology)) best = std::min(best, seconds(spec));
  return chosen / best;
}

/// The regrets of calls of several lengths, each below `most`.
class Regrets {
 public:
  explicit Regrets(double most) : most_(most) {}
  void add(const Machine& machine, const Topology& topology, Collective collective) {
    for (const std::size_t bytes : {kibibyte, 32 * kibibyte, 512 * kibibyte, 8 * mebibyte}) {
      const double one = regret(machine, topology, collective, bytes);
      EXPECT_LT(one, most_) << name_of(collective) << " of " << bytes << " bytes, " << topology.ranks()
                            << " ranks on " << topology.nodes << " nodes, " << machine.node.bandwidth / 1e6
                            << " MB/s";
      sum_ += one;
      ++count_;
    }
  }
  [[nodiscard]] double mean() const { return sum_ / count_; }

 private:
  double most_;
  double sum_ = 0;
  int count_ = 0;
};

TEST(Probe, WhatIsFittedChoosesAsTheMachineItself) {
  Regrets regrets(1.35);
  for (const std::vector<int>& ppns : {std::vector{1, 1}, {1, 1, 1}, std::vector<int>(8, 1), {2, 2, 2, 2}}) {
    const Topology topology = topology_of(ppns);
    for (const Machine& machine : machines()) {
      for (const Collective collective : collectives) regrets.add(machine, topology, collective);
    }
  }
  EXPECT_LT(regrets.mean(), 1.03);
}

TEST(Probe, WhatIsFittedToSharedCoresChoosesAsTheMachineItself) {
  Regrets regrets(2.2);
  for (const std::vector<int>& ppns : {std::vector{1, 1, 1}, std::vector<int>(8, 1), {4, 4, 4, 4}}) {
    const Topology topology = topology_of(ppns);
    for (Machine machine : machines()) {
      machine.shared_cores = {.nodes = topology.nodes, .cores = 2};
      // Waiting for a core takes a while.
      machine.engine_message *= 5;
      for (const Collective collective : collectives) regrets.add(machine, topology, collective);
    }
  }
  EXPECT_LT(regrets.mean(), 1.05);
}

TEST(Probe, WhatIsFittedToASlowLinkChoosesAsTheMachineItself) {
  Regrets regrets(1.35);
  for (const std::size_t nodes : {4, 8}) {
    const Topology topology = topology_of(std::vector<int>(nodes, 1));
    for (Machine machine : {machines()[0], machines()[1], machines()[2]}) {
      machine.node_rates.assign(nodes, 4 * machine.node.bandwidth);
      machine.node_rates.back() = machine.node.bandwidth;
      machine.levels[2][0].bandwidth *= 4;
      regrets.add(machine, topology, Collective::allreduce);
    }
  }
  EXPECT_LT(regrets.mean(), 1.03);
}

TEST(Probe, WhatIsFittedToTokenBucketsChoosesAsTheMachineItself) {
  Regrets regrets(1.35);
  for (const std::size_t nodes : {3, 8}) {
    const Topology topology = topology_of(std::vector<int>(nodes, 1));
    for (Machine machine : {machines()[0], machines()[1]}) {
      // The bytes that a link has saved up pass at 10 Gbit/s.
      machine.levels[2][0].bandwidth = 1.25e9;
      machine.node.burst = 256 * kibibyte;
      EXPECT_GT(fit(machine, topology).node.burst, 0);
      regrets.add(machine, topology, Collective::allreduce);
    }
  }
  EXPECT_LT(regrets.mean(), 1.03);
}

TEST(Probe, CoresAreSharedByNodesOfOneKernel) {
  const auto host = [](std::uint64_t kernel, std::size_t first, std::size_t processors) {
    Host one{.kernel = kernel, .processors = {}};
    for (std::size_t i = 0; i < processors; ++i) one.processors.set(first + i);
    return one;
  };
  const Topology four = topology_of({1, 1, 1, 1});
  const SharedCores all = find_shared_cores(std::vector(4, host(7, 0, 2)), four);
  EXPECT_EQ(all.nodes, 4);
  EXPECT_EQ(all.cores, 2);
  // Each rank is bound to a core of its own.
  EXPECT_EQ(find_shared_cores({host(7, 0, 1), host(7, 1, 1), host(7, 2, 1), host(7, 3, 1)}, four).cores, 0);
  const SharedCores pairs =
      find_shared_cores({host(7, 0, 1), host(7, 0, 1), host(8, 0, 1), host(8, 0, 1)}, four);
  EXPECT_EQ(pairs.nodes, 2);
  EXPECT_EQ(pairs.cores, 1);
  EXPECT_EQ(find_shared_cores({host(7, 0, 1), host(8, 0, 1), host(7, 0, 1), host(8, 0, 1)}, four).cores, 0);
  EXPECT_EQ(find_shared_cores(std::vector(4, host(0, 0, 2)), four).cores, 0);
  const SharedCores crowded = find_shared_cores(std::vector(8, host(7, 0, 2)), topology_of({4, 4}));
  EXPECT_EQ(crowded.nodes, 2);
  EXPECT_EQ(crowded.cores, 2);
}

TEST(Modelled, HoldsItselfToWhatFits) {
  const Topology topology = topology_of({1, 1, 1});
  const CallShape shape{.bytes = mebibyte, .ranks = 3, .nodes = 3};
  const auto only_ring = [](const Spec& spec) { return spec.recipe.algorithm->name == "ring"; };
  const auto found = find_fastest(shape, topology, machines()[1], 4, only_ring);
  ASSERT_GE(found.size(), 1);
  for (const Finding& one : found) EXPECT_EQ(one.spec.recipe.algorithm->name, "ring");
  EXPECT_GT(found[0].seconds, 0);
}

TEST(Modelled, NoSpecUndercutsWhatTheLinksMustCarry) {
  const auto any = [](const Spec& /*spec*/) { return true; };
  int near = 0;
  for (const std::vector<int>& ppns :
       {std::vector<int>{1, 1}, {1, 1, 1}, {4, 4}, {3, 1, 2}, std::vector<int>(9, 1)}) {
    const Topology topology = topology_of(ppns);
    std::vector<Machine> all = machines();
    all.push_back(machines()[1]);
    all.back().node_rates.assign(ppns.size(), 25e6);
    all.back().node_rates.back() = 6e6;
    // Cores are the limit: no bandwidth of a node was seen.
    all.push_back(machines()[3]);
    all.back().node.bandwidth = 0;
    for (const Machine& machine : all) {
      for (const Collective collective : collectives) {
        for (const std::size_t bytes : {64 * kibibyte, 16 * mebibyte}) {
          const CallShape shape = shape_of(collective, bytes, topology);
          const double least = least_seconds(shape, machine);
          const std::vector<Finding> found = find_fastest(shape, topology, machine, 1, any);
          if (found.empty()) continue;
          EXPECT_LE(least, found[0].seconds * 1.001)
              << name_of(collective) << " of " << bytes << " bytes, " << topology.ranks() << " ranks";
          if (collective == Collective::allreduce && least > found[0].seconds / 1.1) ++near;
        }
      }
    }
  }
  EXPECT_GE(near, 10);  // it says something
}

/// A message of more than 1 MiB waits for an answer of its receiver, which may compute meanwhile.
TEST(Modelled, WithoutALibraryMessagesNeedNoAnswerOnSlowLinks) {
  const Topology topology = topology_of({1, 1, 1, 1});
  for (const std::size_t bytes : {8 * mebibyte, 64 * mebibyte}) {
    const CallShape shape{.bytes = bytes, .ranks = 4, .nodes = 4};
    const auto found = find_fastest_without_library(shape, topology, machines()[1]);
    ASSERT_FALSE(found.empty());
    const Spec& spec = found[0].spec;
    const Schedule schedule = build(spec.recipe, topology, 0, 0);
    EXPECT_GT(spec.pipelining.segment_bytes, 0);
    EXPECT_LE(spec.pipelining.segment_bytes, 512 * kibibyte * static_cast<std::size_t>(schedule.blocks()));
  }
}

TEST(Modelled, AnswersForLargeClusters) {
  const Topology topology = topology_of(std::vector<int>(512, 1));
  const CallShape shape{.bytes = 64 * mebibyte, .ranks = 512, .nodes = 512};
  const auto any = [](const Spec& /*spec*/) { return true; };
  const auto found = find_fastest(shape, topology, machines()[3], 2, any);
  ASSERT_EQ(found.size(), 2);
  // Only algorithms that send each byte about twice come near the link's bound.
  EXPECT_LT(found[0].seconds, 3 * 64e6 * 1.05 / 1.25e9);
}

TEST(Estimate, IsNearThePrediction) {
  for (const std::vector<int>& ppns : {std::vector<int>(8, 1), {2, 2, 2}}) {
    const Topology topology = topology_of(ppns);
    for (const Machine& machine : machines()) {
      for (const Spec& spec : candidates_of(Collective::allreduce, topology)) {
        for (const std::size_t bytes : {4 * kibibyte, 256 * kibibyte, 8 * mebibyte}) {
          const WalkedCall call{.bytes = bytes, .pipelining = spec.pipelining};
          const double predicted = Predictor(spec.recipe, topology).predict(call, machine).end.at();
          const double estimated = estimate_seconds(Plan(spec.recipe, topology, 0), call, machine);
          EXPECT_LT(std::max(estimated / predicted, predicted / estimated), 1.5)
              << to_string(spec) << " of " << bytes << " bytes on " << topology.ranks() << " ranks";
        }
      }
    }
  }
}

}  // namespace
}  // namespace stretto
