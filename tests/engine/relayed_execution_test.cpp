// SPDX-License-Identifier: Apache-2.0
// Blocks whose lengths travel before them, by every algorithm that relays blocks. A failure on one rank must
// leave no other rank waiting, and no message for the next call.
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/relayed_execution.hpp"
#include "mpi_check.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

constexpr auto sentinel = std::byte{0xAB};
constexpr int failing_rank = 1;

/// How receivers differ from senders in what they expect.
enum class Expectation : std::uint8_t { right, some_too_long, some_too_short };

std::byte value(int from, int to, std::size_t i) {
  return static_cast<std::byte>(from * 31 + to * 7 + static_cast<int>(i % 113));
}

class Exchange {
 public:
  Exchange(Collective collective, int ranks, int root, std::size_t unit, Expectation expectation)
      : collective_(collective), ranks_(ranks), root_(root), unit_(unit), expectation_(expectation) {
    input_borders_.push_back(0);
    output_borders_.push_back(0);
    for (int block = 0; block < ranks; ++block) {
      const int to = is_gather(collective) ? root : block;
      if (is_gather(collective) ? block == world_rank : exists(world_rank, to)) {
        for (std::size_t i = 0; i < length(world_rank, to); ++i) input_.push_back(value(world_rank, to, i));
      }
      input_borders_.push_back(input_.size());
      const int from = source_of(block);
      output_borders_.push_back(output_borders_.back() + (from < 0 ? 0 : expected(from, world_rank)));
    }
    output_.assign(output_borders_.back(), sentinel);
  }

  [[nodiscard]] Call call() {
    Call call{.input = input_.data(),
              .output = output_.data(),
              .element = byte_element(),
              .input_holds = {0, input_.size()},
              .output_holds = {0, output_.size()}};
    call.borders = input_borders_;
    call.output_borders = output_borders_;
    call.root = root_;
    return call;
  }

  /// Whether some block is longer than this rank expects, or comes from a rank that has failed.
  [[nodiscard]] bool must_fail(bool one_has_failed) const {
    bool fails = false;
    for_each_arriving([&](int from, std::size_t /*at*/) {
      fails = fails || length(from, world_rank) > expected(from, world_rank) ||
              (one_has_failed && from == failing_rank && length(from, world_rank) > 0);
    });
    return fails;
  }

  void check_output() const {
    for_each_arriving([&](int from, std::size_t at) {
      const std::size_t all = expected(from, world_rank);
      for (std::size_t i = 0; i < all; ++i) {
        STRETTO_CHECK(output_[at + i] ==
                      (i < length(from, world_rank) ? value(from, world_rank, i) : sentinel));
      }
    });
  }

 private:
  [[nodiscard]] bool exists(int from, int to) const {
    if (is_gather(collective_)) return to == root_;
    return !is_scatter(collective_) || from == root_;
  }

  /// The rank from which a block of the output comes, or -1.
  [[nodiscard]] int source_of(int block) const {
    const int from = is_scatter(collective_) ? root_ : block;
    const bool is_here = !is_scatter(collective_) || block == world_rank;
    return is_here && exists(from, world_rank) ? from : -1;
  }

  template <typename Visit>
  void for_each_arriving(Visit visit) const {
    for (int block = 0; block < ranks_; ++block) {
      if (source_of(block) >= 0) visit(source_of(block), output_borders_[static_cast<std::size_t>(block)]);
    }
  }

  [[nodiscard]] std::size_t length(int from, int to) const {
    return unit_ * static_cast<std::size_t>((from + 2 * to) % 4) + static_cast<std::size_t>(from * to % 3);
  }

  [[nodiscard]] std::size_t expected(int from, int to) const {
    const bool differs = (from + to) % 3 == 1;
    const std::size_t sent = length(from, to);
    if (!differs || expectation_ == Expectation::right) return sent;
    return expectation_ == Expectation::some_too_long ? sent + 3 : sent / 2;
  }

  Collective collective_;
  int ranks_;
  int root_;
  std::size_t unit_;
  Expectation expectation_;
  std::vector<std::size_t> input_borders_;
  std::vector<std::size_t> output_borders_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

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

class Steps final : public Observer {
 public:
  void segment_begins(std::size_t flight, std::size_t segment) override {
    STRETTO_CHECK(flight == 0 && segment == begun++ && begun == ended + 1);
  }
  void round_ends(std::size_t /*flight*/, int /*round*/) override { ++rounds; }
  void segment_ends(std::size_t /*flight*/) override { ++ended; }

  std::size_t begun = 0;
  std::size_t ended = 0;
  int rounds = 0;
};

void run_recipe(MPI_Comm comm, const Recipe& recipe, const Topology& topology, int root, std::size_t unit) {
  const Collective collective = recipe.algorithm->collective;
  Schedule schedule = build(recipe, topology, root, world_rank);
  const int rounds = schedule.rounds();
  RelayedExecution execution(make_transport(comm), nullptr, std::move(schedule), neighbours);
  const auto run_right = [&] {
    Exchange right(collective, topology.ranks(), root, unit, Expectation::right);
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
    Exchange exchange(collective, topology.ranks(), root, unit, expectation);
    STRETTO_CHECK((run_to_end(execution, exchange.call()) != MPI_SUCCESS) == exchange.must_fail(false));
    exchange.check_output();
    run_right();
  }
  Exchange exchange(collective, topology.ranks(), root, unit, Expectation::right);
  if (world_rank == failing_rank) {
    Call call = exchange.call();
    call.input = call.output = nullptr;  // not to be touched
    execution.start_failed(call, resources, mpi.err_other);
    STRETTO_CHECK(execution.error() == mpi.err_other);
  } else {
    execution.start(exchange.call(), resources);
  }
  wait_for(execution);
  if (world_rank == failing_rank || exchange.must_fail(true)) STRETTO_CHECK(execution.error() != MPI_SUCCESS);
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
  Exchange exchange(recipe.algorithm->collective, topology.ranks(), 0, 5, Expectation::right);
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
