// SPDX-License-Identifier: Apache-2.0
// Every algorithm of every collective, on every number of ranks from 1 to the size of the world, with one
// rank per node and on ragged nodes. (in_process/every_algorithm_test.cpp has more ranks, in one process.)
// Cases are counts 0, 1, p-1, p, p+1 and larger, in place and not, pipelined and not, unequal blocks, any
// root, and an operation that does not commute if rank order is kept. The test checks the values, that all
// ranks have the same bits, and that nothing beside the output changes. Messages go by MPI or through shared
// memory, and then some ranks may also carry calls out directly. Or some buffers of some ranks are in device
// memory, in every combination of inputs and outputs.
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/direct_execution.hpp"
#include "engine/execution/relayed_execution.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "mpi_check.hpp"
// Needs STRETTO_CHECK.
#include "cases.hpp"
#include "on_device.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

/// Which ranks carry calls out by DirectExecution.
enum class Directly : std::uint8_t { none, all, some };
Directly directly = Directly::none;

bool is_direct(int rank) {
  return directly == Directly::all || (directly == Directly::some && rank % 3 != 1);
}

class Yielding final : public Waiting {
 public:
  bool go_on(const DirectExecution& /*waits*/) override {
    std::this_thread::yield();
    return true;
  }
  [[nodiscard]] int looks() const override { return 2; }
};

/// Carries out a call in turn with none, both or one of its buffers in device memory, if there is a driver.
template <typename Value>
int run_anywhere(Execution& execution, Call call, std::vector<Value>& input, std::vector<Value>& output) {
  if (driver == nullptr) return run_to_end(execution, call);
  static unsigned calls = 0;
  const unsigned kind = (calls++ + static_cast<unsigned>(world_rank)) % 4;
  std::optional<OnDevice> input_there;
  std::optional<OnDevice> output_there;
  if (kind % 2 == 1 && !call.in_place) {
    input_there.emplace(input.data(), input.size() * sizeof(Value));
    call.input = input_there->at(call.input);
  }
  if (kind >= 2) {
    output_there.emplace(output.data(), output.size() * sizeof(Value));
    call.output = output_there->at(call.output);
    if (call.in_place) call.input = call.output;
  }
  return run_staged(execution, call);
}

/// A DirectExecution as an Execution, which has ended when its start returns.
class StartedToTheEnd final : public Execution {
 public:
  StartedToTheEnd(Schedule schedule, const Pipelining& pipelining)
      : direct_(std::move(schedule), *neighbours), pipelining_(pipelining) {}
  [[nodiscard]] std::size_t tags(const Call& /*call*/) const override { return 1; }
  void start(const Call& call, const CallResources& its_passage) override {
    forget_error();
    Yielding waiting;
    direct_.set(call, pipelining_.count(call.count, static_cast<std::size_t>(call.element.size)),
                its_passage.lane(0));
    // Ranks may differ in the copies that bypass the caches.
    ++calls_;
    check(direct_.run(call.input, call.output,
                      {.into_store = calls_ % 2 == 0, .into_output = calls_ % 3 == 0}, waiting));
  }
  void start_failed(const Call& /*call*/, const CallResources& /*resources*/, int /*error*/) override {}
  bool progress() override { return false; }
  [[nodiscard]] bool ended() const override { return true; }

 private:
  DirectExecution direct_;
  Pipelining pipelining_;
  static inline unsigned calls_ = 0;
};

void compose_all(void* in, void* inout, int* length, void* /*datatype*/) {
  for (int i = 0; i < *length; ++i) {
    Affine& right = static_cast<Affine*>(inout)[i];
    right = compose(static_cast<const Affine*>(in)[i], right);
  }
}

void run_case(Case& one, Execution& execution, MPI_Datatype pair, MPI_Op composition) {
  const Call call = one.call(find_element(pair, composition).value());
  STRETTO_CHECK(run_anywhere(execution, call, one.input(), one.output()) == MPI_SUCCESS);
  one.check();
}

void run_case(MovingCase& one, Execution& execution) {
  const Call call = one.call(find_element(mpi.uint64_t, mpi.sum).value());  // of the size of Affine
  STRETTO_CHECK(run_anywhere(execution, call, one.input(), one.output()) == MPI_SUCCESS);
  one.check();
}

/// Compares sums of floats, whose bits depend on the order. All ranks of an allreduce must have equal bits.
void compare_bits(Execution& execution, MPI_Comm comm, int rank) {
  constexpr std::size_t count = 1009;
  std::vector<float> input(count);
  std::vector<float> output(count);
  for (std::size_t i = 0; i < count; ++i)
    input[i] = 0.1F * static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 3) % 101);
  const Element element = find_element(mpi.float_, mpi.sum).value();
  STRETTO_CHECK(run_to_end(execution, Call::whole(input.data(), output.data(), count, element)) ==
                MPI_SUCCESS);
  std::vector<float> of_rank_0 = output;
  mpi.Bcast(of_rank_0.data(), static_cast<int>(count), mpi.float_, 0, comm);
  STRETTO_CHECK(std::memcmp(of_rank_0.data(), output.data(), count * sizeof(float)) == 0);
}

class RecipeTest {
 public:
  RecipeTest(const Recipe& recipe, MPI_Comm comm, const Topology& topology, int root, MPI_Datatype pair,
             MPI_Op composition)
      : recipe_(recipe), comm_(comm), topology_(topology), pair_(pair), composition_(composition) {
    mpi.Comm_rank(comm, &rank_);
    root_ = has_root(collective()) ? root : 0;
    commuting_ = is_reduction(collective()) && !keeps_order(recipe, topology, root_);
  }

  void run(const Pipelining& wanted, const std::vector<std::size_t>& counts) {
    if (recipe_.algorithm->relays) {
      RelayedExecution execution(make_transport(comm_), nullptr, build(recipe_, topology_, root_, rank_),
                                 neighbours);
      return run(execution, counts);
    }
    const bool uncut = has_block_of_each_rank(collective()) && recipe_.algorithm->moves_runs;
    Pipelining pipelining = uncut ? Pipelining{} : wanted;
    const bool has_borders = has_block_of_each_rank(collective());
    const bool may_be_direct = directly != Directly::none && (pipelining.segments <= 1 || !has_borders);
    // All ranks, direct or not, carry out one segment after the other.
    if (may_be_direct) pipelining.window = 1;
    if (may_be_direct && is_direct(rank_)) {
      StartedToTheEnd execution(build(recipe_, topology_, root_, rank_), pipelining);
      return run(execution, counts);
    }
    ScheduleExecution execution(make_transport(comm_), nullptr, build(recipe_, topology_, root_, rank_),
                                pipelining, Keep::nothing, neighbours);
    run(execution, counts);
  }

 private:
  void run(Execution& execution, const std::vector<std::size_t>& counts) {
    if (collective() == Collective::barrier) return run_barrier(execution);
    for (const std::size_t count : counts) {
      for (const bool in_place : {false, true}) {
        if (MovingCase::covers(collective())) {
          MovingCase one(recipe_, topology_.ranks(), rank_, root_, count, in_place);
          run_case(one, execution);
          continue;
        }
        Case one(recipe_, topology_.ranks(), rank_, root_, count, in_place, commuting_);
        run_case(one, execution, pair_, composition_);
      }
    }
    if (collective() == Collective::allreduce) compare_bits(execution, comm_, rank_);
  }

  /// Checks that a barrier ends. The proof (src/verify) shows that no rank leaves it early.
  static void run_barrier(Execution& execution) {
    const std::byte byte{};
    const Call call{.input = &byte,
                    .element = find_element(mpi.byte, mpi.bor).value(),
                    .count = 1,
                    .input_holds = {0, 1},
                    .output_holds = {}};
    STRETTO_CHECK(run_to_end(execution, call) == MPI_SUCCESS);
  }

  [[nodiscard]] Collective collective() const { return recipe_.algorithm->collective; }

  const Recipe& recipe_;
  MPI_Comm comm_;
  const Topology& topology_;
  MPI_Datatype pair_;
  MPI_Op composition_;
  int rank_ = 0;
  int root_ = 0;
  bool commuting_ = false;
};

void run_everything(MPI_Comm comm, MPI_Datatype pair, MPI_Op composition) {
  const int p = size_of(comm);
  const auto ranks = static_cast<std::size_t>(p);
  calls_so_far = 0;
  std::vector<int> labels;
  for (int rank = 0; rank < p; ++rank) labels.push_back(rank * rank / 7 % 5);
  const Topology flat = Topology::flat(p);
  const Topology ragged = Topology::from_labels(labels);
  const Topology caches = Topology::from_labels(std::vector<int>(ranks, 0), {}, {}, labels);
  int root = 0;
  for (const Collective collective : collectives) {
    for (const Recipe& recipe : sample_recipes(collective)) {
      root = (root + 1) % p;
      // Every algorithm runs on every number of ranks. Combinations of two algorithms run only on some.
      if (recipe != usual_recipe(*recipe.algorithm) && p % 6 != 1 && p != 3) continue;
      RecipeTest(recipe, comm, flat, root, pair, composition)
          .run({}, {0, 1, ranks - 1, ranks, ranks + 1, 1009});
      RecipeTest(recipe, comm, flat, root, pair, composition)
          .run({.segments = 5, .window = 2}, {1009, 10007});
      RecipeTest(recipe, comm, ragged, root, pair, composition).run({}, {ranks + 1});
      // Only these algorithms depend on caches.
      if (recipe.algorithm->name.starts_with("cache_")) {
        RecipeTest(recipe, comm, caches, root, pair, composition).run({}, {1, ranks + 1, 10007});
      }
    }
  }
}

/// A barrier for more ranks than cores: MPICH's own spins and starves ranks that still work.
void wait_asleep() {
  MPI_Request request;
  mpi.Ibarrier(mpi.comm_world, &request);
  for (int done = 0; done == 0;) {
    mpi.Test(&request, &done, mpi.status_ignore);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  // every_algorithm_test [memory [all|some] | device STAND_IN | connections]
  const bool has_devices = argc > 2 && std::string(argv[1]) == "device";
  if (has_devices) load_driver(argv[2]);
  const bool has_connections = argc > 1 && std::string(argv[1]) == "connections";
  if (has_connections) connect();
  if (argc > 1 && !has_devices && !has_connections) share_memory();
  if (argc > 2 && !has_devices) directly = std::string(argv[2]) == "all" ? Directly::all : Directly::some;
  MPI_Datatype pair;
  MPI_Op composition;
  mpi.Type_contiguous(2, mpi.uint32_t, &pair);
  mpi.Type_commit(&pair);
  mpi.Op_create(&compose_all, 0, &composition);
  std::vector<MPI_Comm> comms;
  for (int ranks = 1; ranks <= size_of(mpi.comm_world); ++ranks) {
    MPI_Comm comm;
    comm = make_communicator(ranks);
    if (comm != mpi.comm_null) comms.push_back(comm);
  }
  for (MPI_Comm comm : comms) run_everything(comm, pair, composition);
  wait_asleep();
  if (has_connections) disconnect();
  for (MPI_Comm& comm : comms) mpi.Comm_free(&comm);
  mpi.Op_free(&composition);
  mpi.Type_free(&pair);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
