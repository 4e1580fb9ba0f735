// SPDX-License-Identifier: Apache-2.0
// The plans of schedules: publications, folds, and no more scratch memory than is needed.
// every_algorithm_test checks that they give the right results.
#include "engine/execution/direct_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithms/registry.hpp"
#include "float_element.hpp"
#include "select/spec.hpp"

namespace stretto::test {
namespace {

constexpr int plan_ranks = 4;
constexpr std::size_t plan_count = 1000;
constexpr std::size_t all_others = plan_ranks - 1;

struct Shape {
  Collective collective;
  const char* spec;
  bool in_place = false;
  int rank = 1;
  int caches = 1;
};

DirectPlan plan_of(const Shape& shape) {
  const Recipe recipe = parse_spec(shape.collective, shape.spec).recipe;
  std::vector<int> l3s;
  for (int rank = 0; rank < plan_ranks; ++rank) l3s.push_back(rank * shape.caches / plan_ranks);
  const Topology topology = Topology::from_labels(std::vector<int>(plan_ranks, 0), {}, {}, l3s);
  const Schedule schedule = build(recipe, topology, 0, shape.rank);
  Neighbours neighbours;
  for (int rank = 0; rank < plan_ranks; ++rank) {
    neighbours.place_of.push_back(rank == shape.rank ? Neighbours::none : rank);
  }
  Call call = Call::whole(nullptr, nullptr, plan_count, float_sums());
  call.in_place = shape.in_place;
  std::vector<std::size_t> borders;
  for (int rank = 0; rank <= plan_ranks; ++rank)
    borders.push_back(static_cast<std::size_t>(rank) * plan_count / plan_ranks);
  const bool has_borders = has_block_of_each_rank(shape.collective);
  const Range own{borders[static_cast<std::size_t>(shape.rank)], plan_count / plan_ranks};
  if (shape.collective == Collective::reduce_scatter) call.output_holds = own;
  if (shape.collective == Collective::allgather) call.input_holds = own;
  const BlockCut blocks = has_borders
                              ? BlockCut(borders, 0, 1)
                              : BlockCut({0, plan_count}, static_cast<std::size_t>(schedule.blocks()));
  return DirectPlan::make(schedule, neighbours, call, blocks, 0);
}

std::size_t most_targets(const DirectPlan& plan) {
  std::size_t most = 0;
  for (const DirectPlan::Step& step : plan.steps) most = std::max(most, step.target_count);
  return most;
}

std::size_t operations_of(const DirectPlan& plan) {
  return plan.operations.size();
}

TEST(DirectPlan, TwoShotFoldsItsBlock) {
  for (const bool in_place : {false, true}) {
    const DirectPlan plan = plan_of({Collective::allreduce, "two_shot", in_place});
    // The block's owner folds the operands that arrive, and publishes the result.
    EXPECT_EQ(plan.rounds.size(), 2U);
    EXPECT_EQ(plan.rounds[0].operations, all_others);
    EXPECT_EQ(plan.rounds[0].fold_count, plan_count / plan_ranks);
    EXPECT_EQ(most_targets(plan), all_others);
    EXPECT_EQ(plan.scratch_bytes, 0U);
    EXPECT_EQ(plan.temporaries, 1U);
  }
}

/// A lane is a run of blocks, which is folded as one.
TEST(DirectPlan, ALaneIsFoldedAsOne) {
  for (const bool in_place : {false, true}) {
    const DirectPlan plan = plan_of({Collective::allreduce, "cache_lanes", in_place, 1, 2});
    EXPECT_EQ(plan.rounds.size(), 4U);
    EXPECT_EQ(plan.rounds[0].operations, 1U);
    EXPECT_EQ(plan.rounds[0].fold_count, plan_count / 2);
    EXPECT_EQ(plan.rounds[1].operations, 1U);
    EXPECT_EQ(plan.rounds[1].fold_count, plan_count / 4);
    EXPECT_EQ(plan.scratch_bytes, 0U);
  }
}

/// In place, its sends and its result are in the same memory, so that nothing may be folded.
TEST(DirectPlan, OneShotFoldsUnlessInPlace) {
  const char* spec = "recursive_multiplying:radix=4";
  const DirectPlan apart = plan_of({Collective::allreduce, spec, false});
  EXPECT_EQ(apart.rounds.size(), 1U);
  EXPECT_EQ(operations_of(apart), all_others);
  EXPECT_EQ(apart.scratch_bytes, 0U);
  const DirectPlan in_place = plan_of({Collective::allreduce, spec, true});
  EXPECT_EQ(operations_of(in_place), 0U);
  EXPECT_GT(in_place.scratch_bytes, 0U);
  EXPECT_EQ(most_targets(in_place), all_others);
}

TEST(DirectPlan, ReduceScatterFoldsUnlessInPlace) {
  EXPECT_EQ(operations_of(plan_of({Collective::reduce_scatter, "direct", false})), all_others + 1);
  // The result is at the beginning of the input, where blocks of other ranks also are.
  const DirectPlan in_place = plan_of({Collective::reduce_scatter, "direct", true});
  EXPECT_EQ(operations_of(in_place), 0U);
  EXPECT_GT(in_place.scratch_bytes, 0U);
}

TEST(DirectPlan, OneMessageForAllReaders) {
  EXPECT_EQ(most_targets(plan_of({Collective::bcast, "linear", true, 0})), all_others);
  EXPECT_EQ(most_targets(plan_of({Collective::allgather, "linear"})), all_others);
  EXPECT_EQ(most_targets(plan_of({Collective::allreduce, "ring"})), 1U);
  EXPECT_EQ(most_targets(plan_of({Collective::reduce_scatter, "direct"})), 1U);
}

}  // namespace
}  // namespace stretto::test
