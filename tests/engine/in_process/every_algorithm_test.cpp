// SPDX-License-Identifier: Apache-2.0
// Every algorithm of every collective, on every number of ranks from 1 to 17, by ranks of one process, whose
// messages move at random times. Counts are 0, 1, p-1, p, p+1 and larger, in place and not, pipelined and
// not, with unequal blocks, any root, and an operation that does not commute if rank order is kept.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/relayed_execution.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "in_process.hpp"
#include "mpi/mpi.hpp"

#ifndef STRETTO_CHECK
#define STRETTO_CHECK(condition) EXPECT_TRUE(condition)
#endif
#include "../cases.hpp"

namespace stretto::test {
namespace {

void compose_elements(void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<Affine*>(into)[i] =
        compose(static_cast<const Affine*>(left)[i], static_cast<const Affine*>(right)[i]);
  }
}

Element affine_element() {
  return {.size = sizeof(Affine),
          .extent = sizeof(Affine),
          .true_extent = sizeof(Affine),
          .commutative = false,
          .kernel = &compose_elements};
}

/// The ranks of one call.
class Ranks {
 public:
  Ranks(const Recipe& recipe, const Topology& topology, int root, const Pipelining& wanted, unsigned seed)
      : recipe_(recipe), topology_(topology), root_(has_root(collective()) ? root : 0), network_(seed) {
    commuting_ = is_reduction(collective()) && !keeps_order(recipe, topology, root_);
    const bool uncut = has_block_of_each_rank(collective()) && recipe.algorithm->moves_runs;
    for (int rank = 0; rank < topology.ranks(); ++rank) {
      Schedule schedule = build(recipe, topology, root_, rank);
      auto transport = network_.transport_of(rank);
      if (recipe.algorithm->relays) {
        executions_.push_back(
            std::make_unique<RelayedExecution>(std::move(transport), nullptr, std::move(schedule)));
      } else {
        executions_.push_back(std::make_unique<ScheduleExecution>(
            std::move(transport), nullptr, std::move(schedule), uncut ? Pipelining{} : wanted));
      }
    }
  }

  InProcessNetwork& network() { return network_; }
  [[nodiscard]] int error_of(int rank) const { return executions_[at(rank)]->error(); }

  /// Carries out one call and checks what comes out.
  void run(std::size_t count, bool in_place) {
    if (collective() == Collective::barrier) return run_barrier();
    if (MovingCase::covers(collective())) {
      std::vector<MovingCase> cases;
      for (int rank = 0; rank < ranks(); ++rank)
        cases.emplace_back(recipe_, ranks(), rank, root_, count, in_place);
      return run(cases);
    }
    std::vector<Case> cases;
    for (int rank = 0; rank < ranks(); ++rank)
      cases.emplace_back(recipe_, ranks(), rank, root_, count, in_place, commuting_);
    run(cases);
  }

  /// Begins the call on all ranks, in any order, and advances each until it has ended. `failed` is a rank
  /// that has failed before it begins.
  template <typename AnyCase>
  void carry_out(std::vector<AnyCase>& cases, int failed = -1) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks(); ++rank) order.push_back(rank);
    std::ranges::shuffle(order, network_.random());
    for (const int rank : order) {
      const Call call = cases[at(rank)].call(affine_element());
      if (rank == failed) {
        executions_[at(rank)]->start_failed(call, {}, mpi.err_other);
      } else {
        executions_[at(rank)]->start(call, {});
      }
      advance_any();
    }
    advance_all();
  }

  std::vector<Case> make_cases(std::size_t count) {
    std::vector<Case> cases;
    for (int rank = 0; rank < ranks(); ++rank)
      cases.emplace_back(recipe_, ranks(), rank, root_, count, false, commuting_);
    return cases;
  }

  Execution& execution(int rank) { return *executions_[at(rank)]; }
  void advance_any() {
    Execution& one = *executions_[network_.random()() % executions_.size()];
    if (!one.ended()) one.progress();
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] int ranks() const { return topology_.ranks(); }
  [[nodiscard]] Collective collective() const { return recipe_.algorithm->collective; }

  void advance_all() {
    for (int look = 0; look < 1'000'000; ++look) {
      bool have_ended = true;
      for (const auto& execution : executions_) {
        if (!execution->ended()) execution->progress();
        have_ended = have_ended && execution->ended();
      }
      if (have_ended) return;
    }
    FAIL() << "a call does not end";
  }

  template <typename AnyCase>
  void run(std::vector<AnyCase>& cases) {
    carry_out(cases);
    for (int rank = 0; rank < ranks(); ++rank) {
      EXPECT_EQ(error_of(rank), MPI_SUCCESS);
      cases[at(rank)].check();
    }
    EXPECT_TRUE(network_.is_empty()) << "a message was sent that nobody takes";
  }

  void run_barrier() {
    const std::byte byte{};
    Element element = affine_element();
    element.size = element.extent = element.true_extent = 1;
    const Call call{
        .input = &byte, .element = element, .count = 1, .input_holds = {0, 1}, .output_holds = {}};
    for (const auto& execution : executions_) execution->start(call, {});
    advance_all();
    for (const auto& execution : executions_) EXPECT_EQ(execution->error(), MPI_SUCCESS);
  }

  const Recipe& recipe_;
  const Topology& topology_;
  int root_;
  bool commuting_ = false;
  InProcessNetwork network_;
  std::vector<std::unique_ptr<Execution>> executions_;
};

class EveryAlgorithm : public testing::TestWithParam<int> {
 protected:
  void run(const Recipe& recipe, const Topology& topology, const Pipelining& pipelining,
           const std::vector<std::size_t>& counts) {
    SCOPED_TRACE(std::string(name_of(recipe.algorithm->collective)) + " " + to_string(recipe));
    root_ = (root_ + 1) % topology.ranks();
    Ranks ranks(recipe, topology, root_, pipelining, ++seed_);
    for (const std::size_t count : counts) {
      for (const bool in_place : {false, true}) ranks.run(count, in_place);
    }
  }

 private:
  int root_ = 0;
  unsigned seed_ = 0;
};

TEST_P(EveryAlgorithm, GivesTheRightResults) {
  const int p = GetParam();
  const auto ranks = static_cast<std::size_t>(p);
  std::vector<int> labels;
  for (int rank = 0; rank < p; ++rank) labels.push_back(rank * rank / 7 % 5);
  const Topology flat = Topology::flat(p);
  const Topology ragged = Topology::from_labels(labels);
  const Topology caches = Topology::from_labels(std::vector<int>(ranks, 0), {}, {}, labels);
  for (const Collective collective : collectives) {
    for (const Recipe& recipe : sample_recipes(collective)) {
      run(recipe, flat, {}, {0, 1, ranks - 1, ranks, ranks + 1, 1009});
      run(recipe, flat, {.segments = 5, .window = 2}, {1009, 10007});
      run(recipe, ragged, {}, {ranks + 1});
      // Only these algorithms depend on caches.
      if (recipe.algorithm->name.starts_with("cache_")) run(recipe, caches, {}, {1, ranks + 1, 10007});
    }
  }
}

/// If anything fails on one rank, the call ends on all of them, and a rank that sees no error has the result.
TEST_P(EveryAlgorithm, EndsOnAllRanksIfOneFails) {
  const int p = GetParam();
  const Topology flat = Topology::flat(p);
  unsigned seed = 0;
  for (const char* name : {"ring", "recursive_doubling", "rabenseifner", "swing", "circulant"}) {
    const Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, name));
    for (const int failing_post : {0, 1, 2, 5, 11}) {
      SCOPED_TRACE(std::string(name) + ", post " + std::to_string(failing_post));
      Ranks ranks(recipe, flat, 0, {.segments = 3, .window = 2}, ++seed);
      const int failing = static_cast<int>(seed) % p;
      ranks.network().faults = {.rank = failing, .failing_post = failing_post};
      std::vector<Case> cases = ranks.make_cases(1009);
      // The first case fails before it begins.
      ranks.carry_out(cases, failing_post == 0 ? failing : -1);
      for (int rank = 0; rank < p; ++rank) {
        const bool is_right = ranks.error_of(rank) == MPI_SUCCESS;
        const bool must_fail = failing_post == 0 || (failing_post == 1 && rank == failing && p > 1);
        EXPECT_FALSE(must_fail && is_right);
        // A rank may have all that it needs before another one fails.
        if (is_right) cases[static_cast<std::size_t>(rank)].check();
      }
    }
  }
}

/// A rank that never comes holds the others up, until they give up. From then on, nothing touches their
/// memory.
TEST_P(EveryAlgorithm, GivesUpARankThatNeverComes) {
  const int p = GetParam();
  if (p == 1) return;
  const Topology flat = Topology::flat(p);
  const Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, "ring"));
  Ranks ranks(recipe, flat, 0, {.segments = 3, .window = 2}, static_cast<unsigned>(p));
  std::vector<Case> cases = ranks.make_cases(1009);
  for (int rank = 1; rank < p; ++rank)
    ranks.execution(rank).start(cases[static_cast<std::size_t>(rank)].call(affine_element()), {});
  for (int look = 0; look < 1000; ++look) {
    for (int rank = 1; rank < p; ++rank) ranks.execution(rank).progress();
  }
  for (int rank = 1; rank < p; ++rank) {
    EXPECT_FALSE(ranks.execution(rank).ended());
    EXPECT_FALSE(ranks.execution(rank).segment_states().empty());
    ranks.execution(rank).give_up();
    EXPECT_TRUE(ranks.execution(rank).ended());
    EXPECT_FALSE(ranks.execution(rank).leaves_memory());
  }
  std::vector<std::vector<Affine>> left;
  for (Case& one : cases) left.push_back(one.output());
  ranks.execution(0).start(cases[0].call(affine_element()), {});
  for (int look = 0; look < 1000; ++look) ranks.execution(0).progress();
  for (int rank = 1; rank < p; ++rank) {
    const std::vector<Affine>& now = cases[static_cast<std::size_t>(rank)].output();
    EXPECT_EQ(
        std::memcmp(now.data(), left[static_cast<std::size_t>(rank)].data(), now.size() * sizeof(Affine)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryAlgorithm, testing::Range(1, 18));

}  // namespace
}  // namespace stretto::test
