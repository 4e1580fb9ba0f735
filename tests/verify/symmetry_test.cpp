// SPDX-License-Identifier: Apache-2.0
#include "verify/symmetry.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/barrier/barrier.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Topology nodes_of(int nodes, int ppn) {
  std::vector<int> labels;
  for (int rank = 0; rank < nodes * ppn; ++rank) labels.push_back(rank / ppn);
  return Topology::from_labels(labels);
}

std::vector<Topology> even_topologies() {
  std::vector<Topology> all;
  for (int ranks = 2; ranks <= 17; ++ranks) all.push_back(nodes_of(ranks, 1));
  for (const int ppn : {2, 3, 4, 8}) {
    for (const int nodes : {1, 2, 3, 4, 5, 8}) all.push_back(nodes_of(nodes, ppn));
  }
  all.push_back(
      Topology::from_labels({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  return all;
}

void expect_same_traffic(const Traffic& one, const Traffic& other) {
  EXPECT_EQ(one.messages, other.messages);
  EXPECT_EQ(one.blocks, other.blocks);
}

TEST(Symmetry, StandInsProveWhatAllRanksProve) {
  std::set<std::string> found;
  for (const Collective collective : collectives) {
    for (const Recipe& recipe : sample_recipes(collective)) {
      for (const Topology& topology : even_topologies()) {
        const auto symmetry = find_symmetry(recipe, topology);
        if (!symmetry) continue;
        SCOPED_TRACE(to_string(recipe) + " on " + std::to_string(topology.ranks()) + " ranks, " +
                     std::to_string(topology.nodes) + " nodes");
        const Proof all = verify(recipe, topology);
        const Proof some = verify(recipe, topology, *symmetry);
        // Where sides change, ranks that compute the same expression each for itself are refused.
        if (symmetry->changes_sides && !some.holds()) continue;
        found.insert(std::string(name_of(collective)) + " " + to_string(recipe));
        EXPECT_EQ(some.error, "");
        EXPECT_EQ(some.carried_out, symmetry->period);
        EXPECT_EQ(some.compared, topology.ranks() - symmetry->period);
        EXPECT_FALSE(some.is_sample);
        EXPECT_EQ(all.carried_out, topology.ranks());
        EXPECT_EQ(some.relays, all.relays);
        EXPECT_EQ(some.blocks, all.blocks);
        EXPECT_EQ(some.rounds, all.rounds);
        EXPECT_EQ(some.depth, all.depth);
        EXPECT_EQ(some.messages, all.messages);
        expect_same_traffic(some.between_nodes, all.between_nodes);
        expect_same_traffic(some.within_node, all.within_node);
        expect_same_traffic(some.link, all.link);
      }
    }
  }
  for (const std::string name : {"allreduce ring", "allreduce smp(ring)", "allreduce multilane(ring)",
                                 "reduce_scatter ring", "allgather ring", "allgather neighbor_exchange",
                                 "alltoall pairwise", "barrier dissemination:radix=2"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
}

TEST(Symmetry, DifferentNodesHaveNone) {
  const Recipe ring = usual_recipe(*find_algorithm(Collective::allgather, "ring"));
  EXPECT_TRUE(find_symmetry(ring, nodes_of(4, 2)));
  EXPECT_FALSE(find_symmetry(ring, Topology::from_labels({0, 0, 0, 1, 1, 2, 2, 2})));
  EXPECT_FALSE(find_symmetry(ring, Topology::from_labels({0, 1, 0, 1, 2, 3, 2, 3})));
  EXPECT_FALSE(find_symmetry(ring, Topology::from_labels({0, 0, 1, 1}, {0, 1, 2, 2})));
  EXPECT_FALSE(find_symmetry(usual_recipe(*find_algorithm(Collective::bcast, "chain")), nodes_of(4, 1)));
}

/// Proves an allgather whose schedules are these, and in which all ranks should behave alike.
std::string error_of(Schedule (*build)(const Task& task, int rank), bool is_symmetric = true) {
  Algorithm row = *find_algorithm(Collective::allgather, "ring");
  row.build = build;
  Recipe recipe;
  recipe.algorithm = &row;
  const Topology topology = nodes_of(8, 1);
  const auto symmetry = find_symmetry(recipe, topology);
  EXPECT_EQ(symmetry.has_value(), is_symmetric);
  if (!symmetry) return "";
  EXPECT_EQ(symmetry->period, 1);
  return verify(recipe, topology, *symmetry).error;
}

/// The ring of an allgather; `sent` says how many places ago the block of a step began.
Schedule ring(int p, int rank, int steps, int (*sent)(int step)) {
  const auto back = [&](int places) { return (rank + 2 * p - places) % p; };
  Schedule schedule(p, rank, p);
  schedule.copy(output(rank), input(rank)).end_round();
  for (int step = 0; step < steps; ++step) {
    schedule.send(output(back(sent(step))), back(-1)).recv(output(back(step + 1)), back(1)).end_round();
  }
  return schedule;
}

void expect_contains(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << "found instead: \"" << text << '"';
}

int in_order(int step) {
  return step;
}

TEST(Symmetry, WrongSchedulesOfAllRanksAreRefused) {
  EXPECT_EQ(error_of([](const Task& task, int rank) { return ring(task.ranks(), rank, 7, in_order); }), "");
  expect_contains(error_of([](const Task& task, int rank) { return ring(task.ranks(), rank, 6, in_order); }),
                  "rank 0: block 1 of the output is never written");
  expect_contains(
      error_of([](const Task& task, int rank) {
        return ring(task.ranks(), rank, 7, [](int step) { return step == 3 ? 2 : step; });
      }),
      "rank 0, round 4: recv b4←7 expects block 4, but send b6→1 of rank 0 in round 4 has block 5");
  // A send ends when its receive has begun, and all ranks send first.
  expect_contains(error_of([](const Task& task, int rank) {
                    const int p = task.ranks();
                    Schedule schedule(p, rank, p);
                    schedule.send(input(rank), (rank + 1) % p).end_round();
                    schedule.recv(output((rank + p - 1) % p), (rank + p - 1) % p).end_round();
                    return schedule;
                  }),
                  "deadlock: rank 0, round 0: send in0→1 waits");
  expect_contains(error_of([](const Task& task, int rank) {
                    const int p = task.ranks();
                    Schedule schedule(p, rank, p);
                    schedule.send(input(rank), (rank + 1) % p).recv(output(rank), (rank + 1) % p).end_round();
                    return schedule;
                  }),
                  "does not expect");
}

TEST(Symmetry, OneDifferentRankIsFound) {
  error_of(
      [](const Task& task, int rank) {
        return ring(task.ranks(), rank, rank == 5 ? 6 : 7, [](int step) { return step; });
      },
      false);
}

int idle_rank = 0;

/// A row with a dissemination in which one rank does nothing.
Algorithm row_with_idle_rank() {
  Algorithm row = *find_algorithm(Collective::barrier, "dissemination");
  row.build = [](const Task& task, int rank) {
    return rank == idle_rank ? Schedule(task.ranks(), rank, 1) : barrier::dissemination(task, rank);
  };
  return row;
}

TEST(Symmetry, OneDifferentRankOfManyIsFoundWhereverItIs) {
  const Algorithm row = row_with_idle_rank();
  const Topology topology = nodes_of(256, 4);
  for (idle_rank = 0; idle_rank < topology.ranks(); idle_rank += 31) {
    EXPECT_FALSE(find_symmetry(usual_recipe(row), topology)) << "rank " << idle_rank;
  }
  idle_rank = topology.ranks();
  const auto symmetry = find_symmetry(usual_recipe(row), topology);
  ASSERT_TRUE(symmetry);
  EXPECT_EQ(symmetry->compared, 1023);
}

TEST(Symmetry, OneDifferentRankOfAMillionIsRefused) {
  const Algorithm row = row_with_idle_rank();
  idle_rank = 777'777;
  EXPECT_THROW(static_cast<void>(verify(usual_recipe(row), nodes_of(65536, 16))), std::invalid_argument);
}

TEST(Symmetry, ASampleIsNoProof) {
  const Recipe recipe = usual_recipe(*find_algorithm(Collective::allgather, "ring"));
  const Topology topology = nodes_of(200, 1);
  const auto actions = std::ssize(build(recipe, topology, 0, 0).actions());
  const auto proof_by = [&](std::int64_t most_actions) {
    return verify(recipe, topology, *find_symmetry(recipe, topology, most_actions));
  };
  EXPECT_EQ(proof_by(200 * actions).compared, 199);
  EXPECT_FALSE(proof_by(200 * actions).is_sample);
  const Proof sample = proof_by(199 * actions);
  EXPECT_EQ(sample.error, "");
  EXPECT_EQ(sample.compared, 16);
  EXPECT_TRUE(sample.is_sample);

  const Algorithm wrong = row_with_idle_rank();
  idle_rank = 777;
  const auto symmetry = find_symmetry(usual_recipe(wrong), nodes_of(4096, 1), 0);
  ASSERT_TRUE(symmetry);
  const Proof missed = verify(usual_recipe(wrong), nodes_of(4096, 1), *symmetry);
  EXPECT_TRUE(missed.error.empty() && missed.is_sample);
}

TEST(Symmetry, ContributionsThatTurnInACircleAreCounted) {
  // Each rank adds the contribution of its neighbour to its own, twice: 2 of 4, the one of them twice.
  Algorithm row = *find_algorithm(Collective::allreduce, "ring");
  row.build = [](const Task& task, int rank) {
    const int p = task.ranks();
    Schedule schedule(p, rank, 1);
    const int next = (rank + 1) % p;
    const int previous = (rank + p - 1) % p;
    for (const Slice& sent : {input(0), output(0)}) {
      const Slice into = sent == input(0) ? output(0) : scratch(schedule.add_scratch(0));
      schedule.send(sent, next).recv_reduce(into, sent, previous, Side::left).end_round();
      if (into.buffer == Buffer::scratch) schedule.copy(output(0), into).end_round();
    }
    return schedule;
  };
  Recipe recipe;
  recipe.algorithm = &row;
  const auto symmetry = find_symmetry(recipe, nodes_of(4, 1));
  ASSERT_TRUE(symmetry);
  expect_contains(verify(recipe, nodes_of(4, 1), *symmetry).error, "may be a different expression");
}

TEST(Symmetry, LargeJobsAreProvenByOneRank) {
  const auto proof_of = [](Collective collective, std::string_view name, const Topology& topology) {
    return verify(usual_recipe(*find_algorithm(collective, name)), topology);
  };
  const Proof ring = proof_of(Collective::allreduce, "ring", nodes_of(320, 16));
  EXPECT_EQ(ring.error, "");
  EXPECT_EQ(ring.carried_out, 1);
  EXPECT_EQ(ring.compared, 5119);
  EXPECT_EQ(ring.rounds, 2 * 5119);
  EXPECT_EQ(ring.link.messages, 2 * 5119);
  const Proof barrier = proof_of(Collective::barrier, "dissemination", nodes_of(16384, 16));
  EXPECT_EQ(barrier.error, "");
  EXPECT_EQ(barrier.carried_out, 1);
  EXPECT_FALSE(barrier.is_sample);
  EXPECT_EQ(barrier.rounds, 18);
}

}  // namespace
}  // namespace stretto
