// SPDX-License-Identifier: Apache-2.0
// Every algorithm of every collective, on every number of ranks from 1 to the size of the world, with one
// rank per node and on ragged nodes. Cases are counts 0, 1, p-1, p, p+1 and larger, in place and not,
// pipelined and not, unequal blocks, any root, and an operation that does not commute if rank order is kept.
// The test checks the values, that all ranks have the same bits, and that nothing beside the output changes.
// Messages go by MPI or through shared memory, and then some ranks may also carry calls out directly. Or some
// buffers of some ranks are in device memory, in every combination of inputs and outputs.
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
#include "on_device.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

constexpr std::size_t sentinels = 9;
constexpr std::uint32_t sentinel = 0xDEADBEEF;

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

/// (a, b) stands for x → a·x + b modulo a prime. Composing such maps does not commute.
struct Affine {
  std::uint32_t a, b;
};
constexpr std::uint64_t prime = 65521;

Affine compose(Affine f, Affine g) {
  return {static_cast<std::uint32_t>(std::uint64_t{f.a} * g.a % prime),
          static_cast<std::uint32_t>((std::uint64_t{f.a} * g.b + f.b) % prime)};
}

void compose_all(void* in, void* inout, int* length, void* /*datatype*/) {
  for (int i = 0; i < *length; ++i) {
    Affine& right = static_cast<Affine*>(inout)[i];
    right = compose(static_cast<const Affine*>(in)[i], right);
  }
}

/// A rank's input. Maps x → x + b commute among themselves.
Affine affine_input(int rank, std::size_t i, bool commuting) {
  const auto a = commuting ? 1U : static_cast<std::uint32_t>(rank * 7 + static_cast<int>(i % 11) + 2);
  return {a, static_cast<std::uint32_t>(rank + static_cast<int>(i % 13))};
}

bool same(Affine left, Affine right) {
  return left.a == right.a && left.b == right.b;
}

/// One call of a collective: which rank holds which elements, and what they must be at the end.
class Case {
 public:
  Case(const Recipe& recipe, int ranks, int rank, int root, std::size_t count, bool in_place, bool commuting)
      : collective_(recipe.algorithm->collective),
        ranks_(ranks),
        rank_(rank),
        root_(root),
        in_place_(in_place && collective_ != Collective::bcast &&
                  (collective_ != Collective::reduce || rank == root)),
        commuting_(commuting),
        borders_(make_borders(count)),
        count_(has_block_of_each_rank(collective_) ? borders_.back() : count) {
    const Range all{0, count_};
    const Range own{borders_[static_cast<std::size_t>(rank)],
                    borders_[static_cast<std::size_t>(rank) + 1] - borders_[static_cast<std::size_t>(rank)]};
    input_holds_ = collective_ == Collective::allgather && !in_place_ ? own : all;
    output_holds_ = collective_ == Collective::reduce_scatter ? own : all;
    if (collective_ == Collective::reduce && rank != root) output_holds_ = {};
    if (collective_ == Collective::exscan && rank == 0) output_holds_ = {};
    memory_of_output_ = in_place_ ? std::max(input_holds_.count, output_holds_.count) : output_holds_.count;
    input_ = guarded(input_holds_.count);
    output_ = guarded(memory_of_output_);
    fill(own);
  }

  void run(Execution& execution, MPI_Datatype pair, MPI_Op composition) {
    const bool in_place = in_place_ || collective_ == Collective::bcast;
    Call call{.input = in_place ? data(output_) : data(input_),
              .output = data(output_),
              .element = find_element(pair, composition).value(),
              .count = count_,
              .input_holds = input_holds_,
              .output_holds = output_holds_,
              .in_place = in_place,
              .root = root_};
    if (has_block_of_each_rank(collective_)) call.borders = borders_;
    const std::vector<Affine> before = input_;
    STRETTO_CHECK(run_anywhere(execution, call, input_, output_) == MPI_SUCCESS);
    STRETTO_CHECK(std::memcmp(before.data(), input_.data(), before.size() * sizeof(Affine)) == 0);
    check_guards();
    for (std::size_t i = 0; i < output_holds_.count; ++i) {
      STRETTO_CHECK(same(data(output_)[i], expected(output_holds_.first + i)));
    }
  }

 private:
  /// Returns the borders of blocks: unequal ones for reduce_scatter, some of them empty; equal for allgather.
  [[nodiscard]] std::vector<std::size_t> make_borders(std::size_t count) const {
    std::vector<std::size_t> borders{0};
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::size_t even = count / static_cast<std::size_t>(ranks_);
      const auto more = static_cast<std::size_t>(rank % 3);
      borders.push_back(borders.back() +
                        (collective_ == Collective::reduce_scatter ? even * more + more : even + 1));
    }
    return borders;
  }

  static std::vector<Affine> guarded(std::size_t count) {
    return std::vector<Affine>(count + 2 * sentinels, Affine{sentinel, sentinel});
  }
  static Affine* data(std::vector<Affine>& buffer) { return buffer.data() + sentinels; }

  void fill(const Range& own) {
    if (collective_ == Collective::bcast) {
      if (rank_ != root_) return;
      for (std::size_t i = 0; i < count_; ++i) data(output_)[i] = affine_input(root_, i, commuting_);
      return;
    }
    std::vector<Affine>& target = in_place_ ? output_ : input_;
    const Range filled = collective_ == Collective::allgather ? own : input_holds_;
    const std::size_t shift = in_place_ ? 0 : input_holds_.first;
    for (std::size_t i = 0; i < filled.count; ++i) {
      data(target)[filled.first + i - shift] = affine_input(rank_, filled.first + i, commuting_);
    }
  }

  [[nodiscard]] Affine expected(std::size_t i) const {
    if (collective_ == Collective::bcast) return affine_input(root_, i, commuting_);
    if (collective_ == Collective::allgather) {
      int owner = 0;
      while (borders_[static_cast<std::size_t>(owner) + 1] <= i) ++owner;
      return affine_input(owner, i, commuting_);
    }
    const int end = collective_ == Collective::scan     ? rank_ + 1
                    : collective_ == Collective::exscan ? rank_
                                                        : ranks_;
    Affine all = affine_input(0, i, commuting_);
    for (int rank = 1; rank < end; ++rank) all = compose(all, affine_input(rank, i, commuting_));
    return all;
  }

  void check_guards() const {
    for (std::size_t i = 0; i < sentinels; ++i) {
      STRETTO_CHECK(output_[i].a == sentinel && output_[sentinels + memory_of_output_ + i].a == sentinel);
    }
  }

  Collective collective_;
  int ranks_;
  int rank_;
  int root_;
  bool in_place_;
  bool commuting_;
  std::vector<std::size_t> borders_;
  std::size_t count_;
  Range input_holds_;
  Range output_holds_;
  std::size_t memory_of_output_ = 0;
  std::vector<Affine> input_;
  std::vector<Affine> output_;
};

/// One call of a collective that moves a block for each rank, from a root, to a root or from all to all. If
/// only the sender and the receiver know the length of a block, blocks have any lengths, and some are empty.
class MovingCase {
 public:
  MovingCase(const Recipe& recipe, int ranks, int rank, int root, std::size_t count, bool in_place)
      : collective_(recipe.algorithm->collective),
        ranks_(ranks),
        rank_(rank),
        root_(root),
        count_(count),
        in_place_(in_place && !is_alltoall(collective_) && rank == root),
        input_borders_(borders(true)),
        output_borders_(borders(false)) {}

  void run(Execution& execution) {
    const auto own = static_cast<std::size_t>(rank_);
    const bool is_root = rank_ == root_;
    const Range own_input{input_borders_[own], input_borders_[own + 1] - input_borders_[own]};
    const Range own_output{output_borders_[own], output_borders_[own + 1] - output_borders_[own]};
    Range input_holds{0, input_borders_.back()};
    Range output_holds{0, output_borders_.back()};
    if (is_gather(collective_)) {
      input_holds = own_input;
      if (!is_root) output_holds = {};
    }
    if (is_scatter(collective_)) {
      output_holds = own_output;
      if (!is_root) input_holds = {};
    }
    // In place, the root's own block is already in the other buffer, where it stays.
    if (in_place_) input_holds = output_holds = {0, std::max(input_borders_.back(), output_borders_.back())};
    std::vector<Affine> input(input_holds.count + 2 * sentinels, Affine{sentinel, sentinel});
    std::vector<Affine> output(output_holds.count + 2 * sentinels, Affine{sentinel, sentinel});
    std::vector<Affine>& source = in_place_ ? output : input;
    for (int to = 0; to < ranks_; ++to) {
      const auto i = static_cast<std::size_t>(to);
      if (is_gather(collective_) ? to != rank_ : (is_scatter(collective_) && !is_root)) continue;
      const auto& at = is_gather(collective_) && in_place_ ? output_borders_ : input_borders_;
      for (std::size_t k = at[i]; k < at[i + 1]; ++k) {
        source[sentinels + k - input_holds.first] =
            value(rank_, is_gather(collective_) ? root_ : to, k - at[i]);
      }
    }
    Call call{.input = source.data() + sentinels,
              .output = output.data() + sentinels,
              .element = find_element(mpi.uint64_t, mpi.sum).value(),  // of the size of Affine
              .count = has_private_lengths(collective_) ? 0 : input_borders_.back(),
              .input_holds = input_holds,
              .output_holds = output_holds,
              .in_place = in_place_,
              .borders = input_borders_,
              .root = root_};
    if (has_private_lengths(collective_)) call.output_borders = output_borders_;
    const std::vector<Affine> before = input;
    STRETTO_CHECK(run_anywhere(execution, call, input, output) == MPI_SUCCESS);
    STRETTO_CHECK(std::memcmp(before.data(), input.data(), before.size() * sizeof(Affine)) == 0);
    for (std::size_t i = 0; i < sentinels; ++i) {
      STRETTO_CHECK(output[i].a == sentinel && output[output.size() - 1 - i].a == sentinel);
    }
    if (is_gather(collective_) && !is_root) return;
    for (int from = 0; from < ranks_; ++from) {
      if (is_scatter(collective_) && from != rank_) continue;
      const auto i = static_cast<std::size_t>(from);
      const int source_rank = is_scatter(collective_) ? root_ : from;
      for (std::size_t k = output_borders_[i]; k < output_borders_[i + 1]; ++k) {
        STRETTO_CHECK(same(output[sentinels + k - output_holds.first],
                           value(source_rank, rank_, k - output_borders_[i])));
      }
    }
  }

 private:
  /// Returns the length of block number `block` in the input or the output of this rank.
  [[nodiscard]] std::size_t length(bool of_input, int block) const {
    const std::size_t even = count_ / static_cast<std::size_t>(ranks_) + 1;
    if (!has_private_lengths(collective_)) return even;
    int from = of_input ? rank_ : block;
    int to = of_input ? block : rank_;
    if (is_gather(collective_)) {
      // Only the root knows the lengths of other ranks' blocks.
      if (rank_ != root_ && block != rank_) return 0;
      from = block;
      to = root_;
    }
    if (is_scatter(collective_)) {
      if (rank_ != root_ && block != rank_) return 0;
      from = root_;
      to = block;
    }
    return even * static_cast<std::size_t>((from + 2 * to) % 3) + static_cast<std::size_t>(from * to % 2);
  }

  [[nodiscard]] std::vector<std::size_t> borders(bool of_input) const {
    std::vector<std::size_t> borders{0};
    for (int block = 0; block < ranks_; ++block) borders.push_back(borders.back() + length(of_input, block));
    return borders;
  }

  static Affine value(int from, int to, std::size_t i) {
    return {static_cast<std::uint32_t>(from * 1000 + to), static_cast<std::uint32_t>(i)};
  }

  Collective collective_;
  int ranks_;
  int rank_;
  int root_;
  std::size_t count_;
  bool in_place_;
  std::vector<std::size_t> input_borders_;
  std::vector<std::size_t> output_borders_;
};

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
      RelayedExecution execution(comm_, nullptr, build(recipe_, topology_, root_, rank_), neighbours);
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
    ScheduleExecution execution(comm_, nullptr, build(recipe_, topology_, root_, rank_), pipelining,
                                Keep::nothing, neighbours);
    run(execution, counts);
  }

 private:
  void run(Execution& execution, const std::vector<std::size_t>& counts) {
    if (collective() == Collective::barrier) return run_barrier(execution);
    for (const std::size_t count : counts) {
      for (const bool in_place : {false, true}) {
        if (is_alltoall(collective()) || is_gather(collective()) || is_scatter(collective())) {
          MovingCase(recipe_, topology_.ranks(), rank_, root_, count, in_place).run(execution);
          continue;
        }
        Case(recipe_, topology_.ranks(), rank_, root_, count, in_place, commuting_)
            .run(execution, pair_, composition_);
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
      if (recipe != usual_recipe(*recipe.algorithm) && p % 6 != 1) continue;
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
