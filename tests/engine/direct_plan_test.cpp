// SPDX-License-Identifier: Apache-2.0
// The plans of schedules: publications, folds, and no more scratch memory than is needed.
// every_algorithm_test checks that they give the right results.
#include "engine/execution/direct_plan.hpp"

#include <vector>

#include "algorithms/registry.hpp"
#include "mpi_check.hpp"
#include "select/spec.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

constexpr int ranks = 4;
constexpr std::size_t count = 1000;

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
  for (int rank = 0; rank < ranks; ++rank) l3s.push_back(rank * shape.caches / ranks);
  const Topology topology = Topology::from_labels(std::vector<int>(ranks, 0), {}, {}, l3s);
  const Schedule schedule = build(recipe, topology, 0, shape.rank);
  Neighbours neighbours;
  for (int rank = 0; rank < ranks; ++rank) {
    neighbours.place_of.push_back(rank == shape.rank ? Neighbours::none : rank);
  }
  Call call = Call::whole(nullptr, nullptr, count, find_element(mpi.float_, mpi.sum).value());
  call.in_place = shape.in_place;
  std::vector<std::size_t> borders;
  for (int rank = 0; rank <= ranks; ++rank) borders.push_back(static_cast<std::size_t>(rank) * count / ranks);
  const bool has_borders = has_block_of_each_rank(shape.collective);
  const Range own{borders[static_cast<std::size_t>(shape.rank)], count / ranks};
  if (shape.collective == Collective::reduce_scatter) call.output_holds = own;
  if (shape.collective == Collective::allgather) call.input_holds = own;
  const BlockCut blocks = has_borders ? BlockCut(borders, 0, 1)
                                      : BlockCut({0, count}, static_cast<std::size_t>(schedule.blocks()));
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

void check_two_shot() {
  for (const bool in_place : {false, true}) {
    const DirectPlan plan = plan_of({Collective::allreduce, "two_shot", in_place});
    // The block's owner folds the operands that arrive, and publishes the result.
    STRETTO_CHECK(plan.rounds.size() == 2);
    STRETTO_CHECK(plan.rounds[0].operations == ranks - 1);
    STRETTO_CHECK(plan.rounds[0].fold_count == count / ranks);
    STRETTO_CHECK(most_targets(plan) == ranks - 1);
    STRETTO_CHECK(plan.scratch_bytes == 0);
    STRETTO_CHECK(plan.temporaries == 1);
  }
}

/// A lane is a run of blocks, which is folded as one.
void check_cache_lanes() {
  for (const bool in_place : {false, true}) {
    const DirectPlan plan = plan_of({Collective::allreduce, "cache_lanes", in_place, 1, 2});
    STRETTO_CHECK(plan.rounds.size() == 4);
    STRETTO_CHECK(plan.rounds[0].operations == 1 && plan.rounds[0].fold_count == count / 2);
    STRETTO_CHECK(plan.rounds[1].operations == 1 && plan.rounds[1].fold_count == count / 4);
    STRETTO_CHECK(plan.scratch_bytes == 0);
  }
}

/// In place, its sends and its result are in the same memory, so that nothing may be folded.
void check_one_shot() {
  const char* spec = "recursive_multiplying:radix=4";
  const DirectPlan apart = plan_of({Collective::allreduce, spec, false});
  STRETTO_CHECK(apart.rounds.size() == 1 && operations_of(apart) == ranks - 1 && apart.scratch_bytes == 0);
  const DirectPlan in_place = plan_of({Collective::allreduce, spec, true});
  STRETTO_CHECK(operations_of(in_place) == 0 && in_place.scratch_bytes > 0);
  STRETTO_CHECK(most_targets(in_place) == ranks - 1);
}

void check_reduce_scatter() {
  STRETTO_CHECK(operations_of(plan_of({Collective::reduce_scatter, "direct", false})) == ranks);
  // The result is at the beginning of the input, where blocks of other ranks also are.
  const DirectPlan in_place = plan_of({Collective::reduce_scatter, "direct", true});
  STRETTO_CHECK(operations_of(in_place) == 0 && in_place.scratch_bytes > 0);
}

void check_publications() {
  STRETTO_CHECK(most_targets(plan_of({Collective::bcast, "linear", true, 0})) == ranks - 1);
  STRETTO_CHECK(most_targets(plan_of({Collective::allgather, "linear"})) == ranks - 1);
  STRETTO_CHECK(most_targets(plan_of({Collective::allreduce, "ring"})) == 1);
  STRETTO_CHECK(most_targets(plan_of({Collective::reduce_scatter, "direct"})) == 1);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  check_two_shot();
  check_cache_lanes();
  check_one_shot();
  check_reduce_scatter();
  check_publications();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
