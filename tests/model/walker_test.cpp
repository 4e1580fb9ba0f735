// SPDX-License-Identifier: Apache-2.0
#include "model/walker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/closed_forms.hpp"
#include "model/predictor.hpp"
#include "select/spec.hpp"

namespace stretto {
namespace {

/// One protocol, the same at all levels, and arithmetic: the postal model.
Machine postal_machine() {
  Machine machine;
  const std::vector<Protocol> rows{{.from = 0, .latency = 2e-6, .bandwidth = 10e9, .synchronous = false}};
  machine.levels.fill(rows);
  machine.reduction = {{.from = 0, .bandwidth = 32e9}};
  return machine;
}

Topology nodes_of(int nodes, int ppn) {
  std::vector<int> labels;
  for (int node = 0; node < nodes; ++node) labels.insert(labels.end(), static_cast<std::size_t>(ppn), node);
  return Topology::from_labels(labels);
}

Walk walk_spec(const std::string& text, const Topology& topology, std::size_t bytes, const Machine& machine,
               const WalkOptions& options = {}, Collective collective = Collective::allreduce) {
  const Spec spec = parse_spec(collective, text);
  const Plan plan(spec.recipe, topology, 0);
  return walk(plan, {.collective = collective, .bytes = bytes, .pipelining = spec.pipelining}, machine,
              options);
}

double seconds_of(const std::string& text, const Topology& topology, std::size_t bytes,
                  const Machine& machine, const WalkOptions& options = {}) {
  return walk_spec(text, topology, bytes, machine, options).end().at();
}

struct Formula {
  const char* algorithm;
  std::vector<int> ranks;
  double tolerance = 1e-9;
};

class ClosedForms : public testing::TestWithParam<Formula> {};

// If nothing is shared and all messages cost the same, the walker equals the papers' formulas.
TEST_P(ClosedForms, AreWhatTheWalkerSays) {
  const Machine machine = postal_machine();
  for (const int ranks : GetParam().ranks) {
    const Topology topology = Topology::flat(ranks);
    // A multiple of all numbers of blocks, so that no division leaves a remainder.
    const std::size_t bytes = std::size_t{4} * 64 * 64 * 9 * 5 * 7 * 11;
    const auto form = std::ranges::find(closed_forms(), GetParam().algorithm, &ClosedForm::algorithm);
    ASSERT_NE(form, closed_forms().end());
    const Recipe recipe = parse_spec(Collective::allreduce, GetParam().algorithm).recipe;
    const int segments = build(recipe, topology, 0, 0).blocks();
    const auto length = static_cast<double>(bytes);
    const double formula = seconds(form->cost({length, ranks, 1, segments}), length, machine);
    EXPECT_NEAR(seconds_of(GetParam().algorithm, topology, bytes, machine) / formula, 1.0,
                GetParam().tolerance)
        << GetParam().algorithm << " on " << ranks << " ranks";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, ClosedForms,
    testing::Values(Formula{"recursive_doubling", {2, 4, 8, 16, 64}},
                    Formula{"rabenseifner", {2, 4, 8, 16, 64}}, Formula{"ring", {2, 3, 5, 7, 8, 9, 11, 16}},
                    // The arithmetic of some steps is hidden: not all ranks have a segment to reduce in each.
                    Formula{"segmented_ring", {4, 8}, 0.02}, Formula{"reduce_broadcast", {2, 4, 8, 16, 64}}),
    [](const auto& param) { return std::string(param.param.algorithm); });

// Each rank sends to the others in an order of its own; the rank that posts its receives last is no
// exception.
TEST(Walker, SynchronousMessagesLeaveInTheOrderOfTheirSends) {
  Machine machine = postal_machine();
  const auto linear = [&] {
    return walk_spec("linear", Topology::flat(8), 8 << 20, machine, {}, Collective::allgather).end().at();
  };
  const double eager = linear();
  for (auto& rows : machine.levels) rows[0].synchronous = true;
  EXPECT_NEAR(linear() / eager, 1.0, 1e-9);
}

// Seven messages at each of eight ports; the ports share nothing.
TEST(Walker, MessagesThatWaitForTheirPortsKeepNothingFromOthers) {
  Machine machine = postal_machine();
  machine.reduction.clear();
  const Protocol& protocol = machine.levels[0][0];
  const std::size_t block = 1 << 20;
  const double port = 7 * static_cast<double>(block) / protocol.bandwidth;
  const auto linear = [&](const Topology& topology) {
    return walk_spec("linear", topology, 8 * block, machine, {}, Collective::allgather).end().at();
  };
  EXPECT_NEAR(linear(nodes_of(1, 8)), port + protocol.latency, 1e-9);
  machine.node.bandwidth = 8 * protocol.bandwidth;
  EXPECT_NEAR(linear(nodes_of(2, 4)), port + protocol.latency, 0.2 * port);
}

TEST(Walker, PartsAddUp) {
  Machine machine = postal_machine();
  machine.node = {.bandwidth = 5e9, .message_rate = 1e6, .burst = 65536};
  machine.memory.bandwidth = 20e9;
  machine.fabric = {.bandwidth = 15e9, .message_rate = 3e6, .burst = 0};
  for (auto& rows : machine.levels) rows[0].duplex = rows[0].exchange = 0.7;
  machine.engine_message = 3e-7;
  machine.engine_round = 1e-7;
  for (const char* spec : {"ring:segments=5", "rabenseifner:segments=3", "smp(ring)", "multilane", "nap",
                           "knomial:radix=4", "swing", "pairwise:segments=2:window=1"}) {
    for (const std::size_t bytes : {4, 1000, 100'000, 5'000'000}) {
      for (const Instant& end : walk_spec(spec, nodes_of(5, 3), bytes, machine).ends) {
        double sum = 0;
        for (const Part part : {Part::latency, Part::wire, Part::reduction, Part::overhead, Part::waiting}) {
          EXPECT_GE(end.part(part), -1e-12) << spec;
          sum += end.part(part);
        }
        EXPECT_NEAR(sum, end.at(), 1e-9 * end.at() + 1e-15) << spec << " " << bytes;
        EXPECT_GT(end.at(), 0);
      }
    }
  }
}

// The wire time is at least that of the busiest link, and pipelining brings a ring close to it.
TEST(Walker, NoFasterThanTheLink) {
  Machine machine = postal_machine();
  machine.node.bandwidth = 1e9;
  const std::size_t bytes = 16 << 20;
  for (const int nodes : {2, 5, 8, 9}) {
    const double least = 2.0 * (nodes - 1) / nodes * static_cast<double>(bytes) / 1e9;
    for (const char* spec : {"ring", "ring:segments=8", "rabenseifner:segments=4", "swing", "pairwise"}) {
      EXPECT_GE(seconds_of(spec, Topology::flat(nodes), bytes, machine), least * 0.999) << spec;
    }
    EXPECT_LE(seconds_of("ring:segments=16", Topology::flat(nodes), bytes, machine), least * 1.05);
  }
}

TEST(Walker, SegmentsHideTheArithmetic) {
  const Machine machine = postal_machine();
  const Topology topology = Topology::flat(8);
  const std::size_t bytes = 64 << 20;
  const auto hidden_part = [&](const char* spec) {
    const double with = seconds_of(spec, topology, bytes, machine);
    const double without = seconds_of(spec, topology, bytes, machine, {.arithmetic = false});
    return (with - without) / with;
  };
  // Pipelined paper, Fig. 4: pipelining reduces the share of arithmetic that is not overlapped.
  EXPECT_GT(hidden_part("ring"), 0.10);
  EXPECT_LT(hidden_part("ring:segments=4"), 0.06);
}

TEST(Walker, WithoutOverlapAnExchangeTakesTwiceAsLong) {
  const Machine machine = postal_machine();
  const std::size_t bytes = 64 << 20;
  const WalkOptions both{.overlap = Overlap::full, .arithmetic = false};
  const WalkOptions none{.overlap = Overlap::none, .arithmetic = false};
  const double full = seconds_of("recursive_doubling", Topology::flat(8), bytes, machine, both);
  EXPECT_NEAR(seconds_of("recursive_doubling", Topology::flat(8), bytes, machine, none) / full, 2.0, 0.01);
  // A rank that only sends or only receives in its rounds loses no time.
  const double tree = seconds_of("reduce_broadcast", Topology::flat(2), bytes, machine, both);
  EXPECT_NEAR(seconds_of("reduce_broadcast", Topology::flat(2), bytes, machine, none) / tree, 1.0, 0.01);
}

TEST(Walker, LimitsAreShared) {
  Machine machine = postal_machine();
  const std::size_t bytes = 1 << 20;
  const Topology topology = nodes_of(2, 4);
  const double free = seconds_of("recursive_doubling", topology, bytes, machine);
  machine.node.bandwidth = 10e9;  // as fast as one rank; four of them exchange over it
  const double limited = seconds_of("recursive_doubling", topology, bytes, machine);
  EXPECT_NEAR(limited - free, 3.0 * static_cast<double>(bytes) / 10e9, 0.02 * limited);
  // The postal and node-aware models have no limit.
  EXPECT_NEAR(seconds_of("recursive_doubling", topology, bytes, machine, {.model = CostModel::postal}), free,
              1e-12);
  EXPECT_NEAR(seconds_of("recursive_doubling", topology, bytes, machine, {.model = CostModel::node_aware}),
              free, 1e-12);
}

TEST(Walker, SavedUpBytesPassAtOnce) {
  Machine machine = postal_machine();
  machine.node = {.bandwidth = 1e7, .message_rate = 0, .burst = 0};
  const auto once = [&] {
    return seconds_of("reduce_broadcast", Topology::flat(2), 100'000, machine, {.arithmetic = false});
  };
  EXPECT_NEAR(once(), 2 * 0.01, 0.0002);
  machine.node.burst = 50'000;
  // The link out of rank 1 is idle while it receives; the link out of rank 0 had saved nothing.
  EXPECT_NEAR(once(), 0.01 + 0.005, 0.0002);
}

TEST(Walker, ASynchronousSendWaitsForItsReceive) {
  Machine machine = postal_machine();
  for (auto& rows : machine.levels) rows[0].synchronous = true;
  // A single message costs the same; the closed forms apply to either.
  EXPECT_NEAR(seconds_of("ring", Topology::flat(7), 7 << 20, machine),
              seconds_of("ring", Topology::flat(7), 7 << 20, postal_machine()), 1e-12);
}

Machine sharing_machine() {
  Machine machine = postal_machine();
  machine.engine_message = 1e-5;  // cost of a message by the MPI library, which does not count here
  machine.shared = SharedMemory{.latency = 3e-7,
                                .piece = 1e-7,
                                .write = {{.from = 0, .bandwidth = 20e9}},
                                .read = {{.from = 0, .bandwidth = 10e9}},
                                .reduce = {{.from = 0, .bandwidth = 8e9}}};
  return machine;
}

TEST(Walker, InSharedMemoryCoresWriteAndReadInTurns) {
  const Machine machine = sharing_machine();
  const std::size_t bytes = 1 << 20;  // 32 pieces
  const double n = 1 << 20;
  const double of_pieces = 32 * 1e-7;
  // Both ranks write the vector, and then fold the other's, which is there by then, straight from memory.
  EXPECT_NEAR(seconds_of("recursive_doubling", nodes_of(1, 2), bytes, machine),
              2 * of_pieces + n / 20e9 + n / 8e9, 1e-12);
  // A ring reduces straight from the other one's memory.
  EXPECT_NEAR(seconds_of("ring", nodes_of(1, 2), bytes, machine),
              2 * of_pieces + n / 20e9 + n / 2 / 8e9 + n / 2 / 10e9, 1e-12);
  EXPECT_NEAR(seconds_of("ring", nodes_of(1, 2), bytes, machine, {.arithmetic = false}),
              2 * of_pieces + n / 20e9 + n / 10e9, 1e-12);
  // The reader works while the writer continues, and is busy from the first piece to the end.
  const double first = 1e-7 + 32768 / 20e9 + 3e-7;
  EXPECT_NEAR(walk_spec("binomial", nodes_of(1, 2), bytes, machine, {}, Collective::bcast).end().at(),
              first + of_pieces + n / 10e9, 1e-12);
  // A slow writer: the last piece comes last.
  Machine slow = machine;
  slow.shared->write = {{.from = 0, .bandwidth = 2e9}};
  EXPECT_NEAR(walk_spec("binomial", nodes_of(1, 2), bytes, slow, {}, Collective::bcast).end().at(),
              of_pieces + n / 2e9 + 3e-7 + 32768 / 10e9, 1e-12);
}

TEST(Walker, WhatGoesToSeveralRanksIsWrittenOnce) {
  const Machine machine = sharing_machine();
  const double n = 4096;  // one piece
  // The root writes once, and a line for each reader; the last one sees its line last.
  EXPECT_NEAR(walk_spec("linear", nodes_of(1, 5), 4096, machine, {}, Collective::bcast).end().at(),
              4 * 1e-7 + n / 20e9 + 3e-7 + 1e-7 + n / 10e9, 1e-12);
  // One shot: all publish, and fold what three others have published.
  EXPECT_NEAR(seconds_of("recursive_multiplying:radix=4", nodes_of(1, 4), 4096, machine),
              3 * 1e-7 + n / 20e9 + 3e-7 + 3 * (1e-7 + n / 8e9), 1e-12);
}

TEST(Walker, OnlyACallOfOneNodeWithoutAWindowIsDirect) {
  const Machine machine = sharing_machine();
  const double n = 1 << 20;
  // With a window, pieces are first received and then reduced separately: two segments of 16 pieces.
  EXPECT_GT(seconds_of("recursive_doubling:segments=2", nodes_of(1, 2), 1 << 20, machine),
            64 * 1e-7 + n / 20e9 + n / 10e9 + n / 32e9 - 1e-12);
  EXPECT_LT(seconds_of("recursive_doubling:segments=2:window=1", nodes_of(1, 2), 1 << 20, machine),
            64 * 1e-7 + n / 20e9 + n / 8e9 + 2 * 3e-7);
}

TEST(Walker, LinesCostByDistance) {
  Machine machine = sharing_machine();
  machine.shared->lines = {Lines{.latency = 1e-8, .bandwidth = 0}, Lines{.latency = 1e-7, .bandwidth = 64e7},
                           std::nullopt};
  const auto seconds = [&](const Topology& topology) {
    return seconds_of("recursive_doubling", topology, 8, machine);
  };
  const std::vector<int> same{0, 0};
  const std::vector<int> apart{0, 1};
  const double work = 2e-7 + 8 / 20e9;
  EXPECT_NEAR(seconds(Topology::from_labels(same)), work + 1e-8 + 8 / 8e9, 1e-15);
  EXPECT_NEAR(seconds(Topology::from_labels(same, {}, {}, apart)), work + 1e-7 + 1e-7, 1e-15);
  EXPECT_NEAR(seconds(Topology::from_labels(same, apart)), work + 3e-7 + 8 / 8e9, 1e-15);
}

TEST(Walker, LongVectorsShareTheMemoryOfANode) {
  Machine machine = sharing_machine();
  machine.memory = {.bandwidth = 1e9, .from = 1 << 20};
  const double n = 1 << 20;
  // A two-shot of four ranks copies 4 n into stores, and 3 n out of them; each copy is half a message.
  EXPECT_NEAR(seconds_of("two_shot", nodes_of(1, 4), 1 << 20, machine) / (3.5 * n / 1e9), 1, 0.1);
  EXPECT_LT(seconds_of("two_shot", nodes_of(1, 4), 1 << 19, machine), 0.2 * n / 1e9);
}

TEST(Walker, NetworkMessagesAndThePostalModelKnowNoSharedMemory) {
  const Machine machine = sharing_machine();
  Machine by_library = machine;
  by_library.shared.reset();
  EXPECT_EQ(seconds_of("ring", nodes_of(4, 1), 1 << 20, machine),
            seconds_of("ring", nodes_of(4, 1), 1 << 20, by_library));
  const WalkOptions postal{.model = CostModel::postal};
  EXPECT_EQ(seconds_of("ring", nodes_of(2, 2), 1 << 20, machine, postal),
            seconds_of("ring", nodes_of(2, 2), 1 << 20, by_library, postal));
  const Walk walked = walk_spec("ring", nodes_of(2, 2), 1 << 20, machine);
  double sum = 0;
  for (const Part part : {Part::latency, Part::wire, Part::reduction, Part::overhead, Part::waiting}) {
    sum += walked.end().part(part);
  }
  EXPECT_NEAR(sum, walked.end().at(), 1e-15);
}

TEST(Walker, EveryRecipeOfEveryCollectiveEnds) {
  Machine machine = postal_machine();
  machine.levels[2].push_back({.from = 4096, .latency = 5e-6, .bandwidth = 9e9, .synchronous = true});
  for (const Collective collective : collectives) {
    for (const Recipe& recipe : sample_recipes(collective)) {
      for (const Topology& topology : {Topology::flat(1), Topology::flat(7), nodes_of(3, 4)}) {
        const Plan plan(recipe, topology, topology.ranks() / 2);
        for (const std::size_t bytes : {0, 4, 40'000}) {
          const WalkedCall call{
              .collective = collective, .bytes = bytes, .pipelining = {.segments = 3, .window = 2}};
          const Walk walked = walk(plan, call, machine);
          EXPECT_GE(walked.end().at(), 0);
          if (bytes == 40'000 && topology.ranks() > 1) {
            EXPECT_GT(walked.end().at(), 2e-6);
          }
        }
      }
    }
  }
}

TEST(Predictor, DrawsOutSegments) {
  const Machine machine = postal_machine();
  const Spec spec = parse_spec(Collective::allreduce, "ring:segments=400");
  const WalkedCall call{.bytes = std::size_t{64} << 20, .pipelining = spec.pipelining};
  Predictor all(spec.recipe, Topology::flat(8), 0, 10'000'000);
  Predictor some(spec.recipe, Topology::flat(8), 0, 20'000);
  const Prediction exact = all.predict(call, machine);
  const Prediction drawn = some.predict(call, machine);
  EXPECT_FALSE(exact.extrapolated);
  EXPECT_TRUE(drawn.extrapolated);
  EXPECT_NEAR(drawn.end.at() / exact.end.at(), 1.0, 0.01);
}

TEST(Predictor, DrawsOutNodes) {
  Machine machine = postal_machine();
  machine.node.bandwidth = 12e9;
  for (const char* text : {"ring", "multilane", "ring:segments=4", "pairwise"}) {
    const Spec spec = parse_spec(Collective::allreduce, text);
    const WalkedCall call{.bytes = std::size_t{64} << 20, .pipelining = spec.pipelining};
    Predictor all(spec.recipe, nodes_of(64, 2), 0, 100'000'000);
    Predictor some(spec.recipe, nodes_of(64, 2), 0, 20'000);
    const Prediction exact = all.predict(call, machine);
    const Prediction drawn = some.predict(call, machine);
    EXPECT_FALSE(exact.extrapolated);
    EXPECT_TRUE(drawn.extrapolated) << text;
    EXPECT_NEAR(drawn.end.at() / exact.end.at(), 1.0, 0.03) << text;
  }
}

TEST(Predictor, DrawsOutRounds) {
  Machine machine = postal_machine();
  machine.node.bandwidth = 12e9;
  for (const char* text :
       {"recursive_doubling", "rabenseifner", "swing", "knomial:radix=4", "nap", "multilane(rabenseifner)"}) {
    const Spec spec = parse_spec(Collective::allreduce, text);
    for (const int nodes : {256, 320}) {
      Predictor all(spec.recipe, nodes_of(nodes, 4), 0, 100'000'000);
      Predictor some(spec.recipe, nodes_of(nodes, 4), 0, 30'000);
      for (const std::size_t bytes : {std::size_t{4096}, std::size_t{64} << 20}) {
        const WalkedCall call{.bytes = bytes, .pipelining = {}};
        const Prediction exact = all.predict(call, machine);
        const Prediction drawn = some.predict(call, machine);
        EXPECT_FALSE(exact.extrapolated);
        EXPECT_TRUE(drawn.extrapolated) << text;
        EXPECT_NEAR(drawn.end.at() / exact.end.at(), 1.0, 0.1) << text << " " << nodes << " " << bytes;
      }
    }
  }
}

TEST(Predictor, DrawsOutAChainInsideATree) {
  const Spec spec = parse_spec(Collective::allreduce, "reduce_broadcast(chain,binomial)");
  const WalkedCall call{.bytes = 4096, .pipelining = {}};
  Predictor all(spec.recipe, nodes_of(512, 2), 0, 100'000'000);
  Predictor some(spec.recipe, nodes_of(512, 2), 0, 5'000);
  EXPECT_NEAR(some.predict(call, postal_machine()).end.at() / all.predict(call, postal_machine()).end.at(),
              1.0, 0.05);
}

TEST(Predictor, WalksLittleOnAMillionRanks) {
  const Topology many = nodes_of(65536, 16);
  for (const Collective collective : collectives) {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.collective != collective || is_alltoall(collective)) continue;
      const Recipe recipe = usual_recipe(algorithm);
      const Topology some = nodes_of(4, 2);
      if (!algorithm.why_unsupported(task_of(recipe, some)).empty()) continue;
      Predictor predictor(recipe, many);
      const Prediction found =
          predictor.predict({.collective = collective, .bytes = 1 << 20, .pipelining = {}}, postal_machine());
      EXPECT_GT(found.end.at(), 0) << to_string(recipe);
      EXPECT_TRUE(found.extrapolated) << to_string(recipe);
    }
  }
}

}  // namespace
}  // namespace stretto
