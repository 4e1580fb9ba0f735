// SPDX-License-Identifier: Apache-2.0
// Blocks whose lengths travel before them, by every algorithm that relays blocks. A failure on one rank must
// leave no other rank waiting, and no message for the next call. By messages of the MPI library, or through
// shared memory; in_process/relayed_execution_test.cpp has more ranks.
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/relayed_execution.hpp"
#include "mpi_check.hpp"
// Needs STRETTO_CHECK.
#include "exchange.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

constexpr int failing_rank = 1;

void wait_for(Execution& execution) {
  Backoff backoff;
  while (!execution.ended()) {
    if (execution.progress()) {
      backoff.reset();
    } else {
      backoff.wait();
    }
  }
}

void run_recipe(MPI_Comm comm, const Recipe& recipe, const Topology& topology, int root, std::size_t unit) {
  const Collective collective = recipe.algorithm->collective;
  Schedule schedule = build(recipe, topology, root, world_rank);
  const int rounds = schedule.rounds();
  RelayedExecution execution(make_transport(comm), nullptr, std::move(schedule), neighbours);
  const auto run_right = [&] {
    Exchange right(collective, topology.ranks(), world_rank, root, unit, Expectation::right);
    Steps steps;
    execution.observe(&steps);
    STRETTO_CHECK(run_to_end(execution, right.call()) == MPI_SUCCESS);
    execution.observe(nullptr);
    STRETTO_CHECK(steps.ended == 2 && steps.rounds == 2 * rounds);
    STRETTO_CHECK(execution.segment_states().empty());
    right.check_output();
  };
  run_right();
  for (const auto expectation : {Expectation::some_too_long, Expectation::some_too_short}) {
    Exchange exchange(collective, topology.ranks(), world_rank, root, unit, expectation);
    STRETTO_CHECK((run_to_end(execution, exchange.call()) != MPI_SUCCESS) == exchange.must_fail());
    exchange.check_output();
    run_right();
  }
  Exchange exchange(collective, topology.ranks(), world_rank, root, unit, Expectation::right);
  if (world_rank == failing_rank) {
    Call call = exchange.call();
    call.input = call.output = nullptr;  // not to be touched
    execution.start_failed(call, resources, mpi.err_other);
    STRETTO_CHECK(execution.error() == mpi.err_other);
  } else {
    execution.start(exchange.call(), resources);
  }
  wait_for(execution);
  if (world_rank == failing_rank || exchange.must_fail(failing_rank))
    STRETTO_CHECK(execution.error() != MPI_SUCCESS);
  if (execution.error() == MPI_SUCCESS) exchange.check_output();
  run_right();
}

decltype(mpi.Irecv) real_irecv = nullptr;

int fail_once(void* /*buffer*/, int /*count*/, MPI_Datatype /*type*/, int /*source*/, int /*tag*/,
              MPI_Comm /*comm*/, MPI_Request* /*request*/) {
  mpi.Irecv = real_irecv;
  return mpi.err_other;
}

/// A rank loses lengths. No other rank reports success for blocks that it got without their lengths.
void lose_lengths(const Recipe& recipe, const Topology& topology) {
  // A message whose receiver has lost the length is never received. So these calls have a separate
  // communicator.
  MPI_Comm comm;
  comm = make_communicator(size_of(mpi.comm_world));
  RelayedExecution execution(make_transport(comm), nullptr, build(recipe, topology, 0, world_rank));
  Exchange exchange(recipe.algorithm->collective, topology.ranks(), world_rank, 0, 5, Expectation::right);
  real_irecv = mpi.Irecv;
  if (world_rank == failing_rank) mpi.Irecv = fail_once;
  const int error = run_to_end(execution, exchange.call());
  const bool has_lost = world_rank == failing_rank && mpi.Irecv == real_irecv;
  mpi.Irecv = real_irecv;
  STRETTO_CHECK(!has_lost || error != MPI_SUCCESS);
  if (error == MPI_SUCCESS) exchange.check_output();
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc > 1) share_memory();  // relayed_execution_test memory
  const int ranks = size_of(mpi.comm_world);
  std::vector<int> labels;
  for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank * rank / 3 % 2);
  MPI_Comm comm;
  comm = make_communicator(size_of(mpi.comm_world));
  mpi.Comm_set_errhandler(comm, mpi.errors_return);
  mpi.Comm_set_errhandler(mpi.comm_world, mpi.errors_return);  // MPICH reports errors of MPI_Testsome there
  int root = 0;
  for (const Topology& topology : {Topology::flat(ranks), Topology::from_labels(labels)}) {
    for (const Collective collective : collectives) {
      for (const Recipe& recipe : sample_recipes(collective)) {
        if (!recipe.algorithm->relays) continue;
        root = has_root(collective) ? (root + 1) % ranks : 0;
        // Short blocks, and blocks that are too long for libraries to buffer.
        for (const std::size_t unit : {std::size_t{5}, std::size_t{40'003}}) {
          run_recipe(comm, recipe, topology, root, unit);
        }
        if (!neighbours) lose_lengths(recipe, topology);
      }
    }
  }
  mpi.Comm_free(&comm);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
