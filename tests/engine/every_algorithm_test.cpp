// SPDX-License-Identifier: Apache-2.0
// Every algorithm on every number of ranks from 1 to that of the world: counts 0, 1, p-1, p, p+1 and large,
// in place and not, pipelined and not, with a commutative operation and, where rank order is kept, one that
// is not. Checks the values, that all ranks have the same bits, and that nothing beside the output changes.
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution.hpp"
#include "mpi_check.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

constexpr std::size_t sentinels = 9;
constexpr std::uint32_t sentinel = 0xDEADBEEF;

/// (a, b) stands for x → a·x + b modulo a prime; composing such maps does not commute.
struct Affine {
  std::uint32_t a, b;
};
constexpr std::uint64_t prime = 65521;

Affine compose(Affine f, Affine g) {
  return {static_cast<std::uint32_t>(std::uint64_t{f.a} * g.a % prime),
          static_cast<std::uint32_t>((std::uint64_t{f.a} * g.b + f.b) % prime)};
}

void compose_all(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  for (int i = 0; i < *length; ++i) {
    Affine& right = static_cast<Affine*>(inout)[i];
    right = compose(static_cast<const Affine*>(in)[i], right);
  }
}

Affine affine_input(int rank, std::size_t i) {
  return {static_cast<std::uint32_t>(rank * 7 + i % 11 + 2), static_cast<std::uint32_t>(rank + i % 13)};
}

template <typename T>
class Run {
 public:
  Run(Execution& execution, const Element& element, std::size_t count, bool in_place)
      : execution_(execution),
        element_(element),
        count_(count),
        in_place_(in_place),
        input_(count + 2 * sentinels),
        output_(count + 2 * sentinels) {
    for (auto* buffer : {&input_, &output_}) {
      auto* words = reinterpret_cast<std::uint32_t*>(buffer->data());
      for (std::size_t i = 0; i < buffer->size() * sizeof(T) / 4; ++i) words[i] = sentinel;
    }
  }

  T* input() { return (in_place_ ? output_ : input_).data() + sentinels; }
  T* output() { return output_.data() + sentinels; }

  void go() {
    const std::vector<T> before = input_;
    const Call call{.input = input(), .output = output(), .count = count_, .element = element_};
    STRETTO_CHECK(execution_.run(call) == MPI_SUCCESS);
    STRETTO_CHECK(std::memcmp(before.data(), input_.data(), before.size() * sizeof(T)) == 0);
    for (const auto* edge : {output_.data(), output_.data() + sentinels + count_}) {
      const auto* words = reinterpret_cast<const std::uint32_t*>(edge);
      for (std::size_t i = 0; i < sentinels * sizeof(T) / 4; ++i) STRETTO_CHECK(words[i] == sentinel);
    }
  }

 private:
  Execution& execution_;
  Element element_;
  std::size_t count_;
  bool in_place_;
  std::vector<T> input_;
  std::vector<T> output_;
};

class Case {
 public:
  Case(MPI_Comm comm, const Algorithm& algorithm, const Pipelining& pipelining, MPI_Datatype pair,
       MPI_Op composition)
      : ranks_(size_of(comm)),
        ordered_(algorithm.keeps_order(Topology::flat(ranks_))),
        pair_(pair),
        composition_(composition),
        execution_(comm, build(comm, algorithm), pipelining) {
    mpi.Comm_rank(comm, &rank_);
  }

  void run_all() {
    const auto p = static_cast<std::size_t>(ranks_);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1, std::size_t{10007}}) {
      for (const bool in_place : {false, true}) {
        sum_floats(count, in_place);
        if (ordered_) compose(count, in_place);
      }
    }
  }

  /// Stands for the bits of all results: equal on all ranks if (and, but for luck, only if) those are.
  [[nodiscard]] double digest() const { return digest_; }

 private:
  static Schedule build(MPI_Comm comm, const Algorithm& algorithm) {
    int rank = 0;
    mpi.Comm_rank(comm, &rank);
    return algorithm.build(Topology::flat(size_of(comm)), rank);
  }

  void sum_floats(std::size_t count, bool in_place) {
    Run<float> run(execution_, find_element(MPI_FLOAT, MPI_SUM).value(), count, in_place);
    const auto value = [](int rank, std::size_t i) {
      return 0.1F * static_cast<float>((i * 7 + 3 * static_cast<std::size_t>(rank)) % 101);
    };
    for (std::size_t i = 0; i < count; ++i) run.input()[i] = value(rank_, i);
    run.go();
    for (std::size_t i = 0; i < count; ++i) {
      double expected = 0;
      for (int rank = 0; rank < ranks_; ++rank) expected += value(rank, i);
      STRETTO_CHECK(std::abs(run.output()[i] - expected) <= 1e-5 * (1 + expected));
      digest_ += run.output()[i] * static_cast<double>(i % 1009 + 1);
    }
  }

  void compose(std::size_t count, bool in_place) {
    Run<Affine> run(execution_, find_element(pair_, composition_).value(), count, in_place);
    for (std::size_t i = 0; i < count; ++i) run.input()[i] = affine_input(rank_, i);
    run.go();
    for (std::size_t i = 0; i < count; ++i) {
      Affine expected = affine_input(0, i);
      for (int rank = 1; rank < ranks_; ++rank) expected = ::compose(expected, affine_input(rank, i));
      STRETTO_CHECK(run.output()[i].a == expected.a && run.output()[i].b == expected.b);
    }
  }

  int ranks_;
  int rank_ = 0;
  double digest_ = 0;
  bool ordered_;
  MPI_Datatype pair_;
  MPI_Op composition_;
  Execution execution_;
};

void run_everything(MPI_Comm comm, MPI_Datatype pair, MPI_Op composition) {
  std::vector<double> digests;
  for (const Algorithm& algorithm : algorithms()) {
    for (const Pipelining& pipelining : {Pipelining{}, Pipelining{.segments = 5, .window = 2},
                                         Pipelining{.segment_bytes = 4096, .window = 4}}) {
      Case one(comm, algorithm, pipelining, pair, composition);
      one.run_all();
      digests.push_back(one.digest());
    }
  }
  std::vector<double> of_rank_0 = digests;
  MPI_Bcast(of_rank_0.data(), static_cast<int>(of_rank_0.size()), MPI_DOUBLE, 0, comm);
  STRETTO_CHECK(of_rank_0 == digests);
}

/// A barrier for more ranks than cores: MPICH's own spins, and starves those who still work.
void wait_asleep() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Datatype pair;
  MPI_Op composition;
  MPI_Type_contiguous(2, MPI_UINT32_T, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(&compose_all, 0, &composition);
  std::vector<MPI_Comm> comms;
  for (int ranks = 1; ranks <= size_of(MPI_COMM_WORLD); ++ranks) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < ranks ? 0 : MPI_UNDEFINED, world_rank, &comm);
    if (comm != MPI_COMM_NULL) comms.push_back(comm);
  }
  for (MPI_Comm comm : comms) run_everything(comm, pair, composition);
  wait_asleep();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  MPI_Op_free(&composition);
  MPI_Type_free(&pair);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
