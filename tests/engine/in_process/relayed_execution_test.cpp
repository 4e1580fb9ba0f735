// SPDX-License-Identifier: Apache-2.0
// Blocks whose lengths travel before them, by every algorithm that relays blocks, by ranks of one process. A
// failure on one rank must leave no other rank waiting, and no message for the next call.
#include "engine/execution/relayed_execution.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "in_process.hpp"

#ifndef STRETTO_CHECK
#define STRETTO_CHECK(condition) EXPECT_TRUE(condition)
#endif
#include "../exchange.hpp"

namespace stretto::test {
namespace {

class RelayingRanks {
 public:
  RelayingRanks(const Recipe& recipe, const Topology& topology, int root, std::size_t unit, unsigned seed)
      : collective_(recipe.algorithm->collective), root_(root), unit_(unit), network_(seed) {
    for (int rank = 0; rank < topology.ranks(); ++rank) {
      Schedule schedule = build(recipe, topology, root, rank);
      rounds_.push_back(schedule.rounds());
      executions_.push_back(
          std::make_unique<RelayedExecution>(network_.transport_of(rank), nullptr, std::move(schedule)));
    }
  }

  /// A call in which nothing is wrong.
  void run_right() {
    std::vector<Exchange> exchanges = make_exchanges(Expectation::right);
    std::vector<Steps> steps(executions_.size());
    for (std::size_t rank = 0; rank < steps.size(); ++rank) executions_[rank]->observe(&steps[rank]);
    carry_out(exchanges);
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
      executions_[rank]->observe(nullptr);
      EXPECT_EQ(executions_[rank]->error(), MPI_SUCCESS);
      EXPECT_EQ(steps[rank].ended, 2U);
      EXPECT_EQ(steps[rank].rounds, 2 * rounds_[rank]);
      EXPECT_TRUE(executions_[rank]->segment_states().empty());
      exchanges[rank].check_output();
    }
    EXPECT_TRUE(network_.is_empty()) << "a message was sent that nobody takes";
  }

  /// Receivers expect other lengths than senders send.
  void run_with(Expectation expectation) {
    std::vector<Exchange> exchanges = make_exchanges(expectation);
    carry_out(exchanges);
    for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
      EXPECT_EQ(executions_[rank]->error() != MPI_SUCCESS, exchanges[rank].must_fail());
      exchanges[rank].check_output();
    }
    EXPECT_TRUE(network_.is_empty());
  }

  /// A rank has failed before it begins.
  void run_with_failed(int failed) {
    std::vector<Exchange> exchanges = make_exchanges(Expectation::right);
    carry_out(exchanges, failed);
    for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
      const int error = executions_[rank]->error();
      if (static_cast<int>(rank) == failed || exchanges[rank].must_fail(failed)) {
        EXPECT_NE(error, MPI_SUCCESS);
      }
      if (error == MPI_SUCCESS) exchanges[rank].check_output();
    }
    EXPECT_TRUE(network_.is_empty());
  }

  /// A post of a rank fails, perhaps that of a length. No other rank reports success for blocks that it got
  /// without their lengths. Ranks may wait for ever then, and give up.
  void run_with_failing_post(int rank, int post) {
    network_.faults = {.rank = rank, .failing_post = post};
    std::vector<Exchange> exchanges = make_exchanges(Expectation::right);
    begin(exchanges, -1);
    for (int look = 0; look < 2000; ++look) advance();
    for (std::size_t one = 0; one < exchanges.size(); ++one) {
      if (!executions_[one]->ended()) {
        executions_[one]->give_up();
      } else if (executions_[one]->error() == MPI_SUCCESS) {
        exchanges[one].check_output();
      }
    }
  }

 private:
  std::vector<Exchange> make_exchanges(Expectation expectation) const {
    std::vector<Exchange> exchanges;
    const int ranks = static_cast<int>(executions_.size());
    for (int rank = 0; rank < ranks; ++rank)
      exchanges.emplace_back(collective_, ranks, rank, root_, unit_, expectation);
    return exchanges;
  }

  void begin(std::vector<Exchange>& exchanges, int failed) {
    for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
      Call call = exchanges[rank].call();
      if (static_cast<int>(rank) == failed) {
        call.input = call.output = nullptr;  // not to be touched
        executions_[rank]->start_failed(call, {}, mpi.err_other);
        EXPECT_EQ(executions_[rank]->error(), mpi.err_other);
      } else {
        executions_[rank]->start(call, {});
      }
      // Some are far when others begin.
      while (network_.random()() % 3 != 0) advance();
    }
  }

  /// Returns whether all have ended. Ranks that have not begun yet count as ended.
  bool advance() {
    bool have_ended = true;
    for (const auto& execution : executions_) {
      if (!execution->ended()) execution->progress();
      have_ended = have_ended && execution->ended();
    }
    return have_ended;
  }

  void carry_out(std::vector<Exchange>& exchanges, int failed = -1) {
    begin(exchanges, failed);
    for (int look = 0; look < 1'000'000; ++look) {
      if (advance()) return;
    }
    FAIL() << "a call does not end";
  }

  Collective collective_;
  int root_;
  std::size_t unit_;
  InProcessNetwork network_;
  std::vector<int> rounds_;
  std::vector<std::unique_ptr<RelayedExecution>> executions_;
};

class EveryRelayingAlgorithm : public testing::TestWithParam<int> {
 protected:
  template <typename Visit>
  void for_each_recipe(Visit visit) {
    const int ranks = GetParam();
    std::vector<int> labels;
    for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank * rank / 3 % 2);
    int root = 0;
    for (const Topology& topology : {Topology::flat(ranks), Topology::from_labels(labels)}) {
      for (const Collective collective : collectives) {
        for (const Recipe& recipe : sample_recipes(collective)) {
          if (!recipe.algorithm->relays) continue;
          root = has_root(collective) ? (root + 1) % ranks : 0;
          SCOPED_TRACE(std::string(name_of(collective)) + " " + to_string(recipe));
          visit(recipe, topology, root);
        }
      }
    }
  }
  unsigned seed = 0;
};

TEST_P(EveryRelayingAlgorithm, GivesEachRankItsBlocksOrAnError) {
  const int failed = 1 % GetParam();
  for_each_recipe([&](const Recipe& recipe, const Topology& topology, int root) {
    for (const std::size_t unit : {std::size_t{5}, std::size_t{4003}}) {
      RelayingRanks ranks(recipe, topology, root, unit, ++seed);
      ranks.run_right();
      ranks.run_with(Expectation::some_too_long);
      ranks.run_right();
      ranks.run_with(Expectation::some_too_short);
      ranks.run_right();
      ranks.run_with_failed(failed);
      ranks.run_right();
    }
  });
}

TEST_P(EveryRelayingAlgorithm, SeesThatLengthsAreLost) {
  for_each_recipe([&](const Recipe& recipe, const Topology& topology, int root) {
    for (const int post : {1, 2, 3, 5, 8}) {
      RelayingRanks ranks(recipe, topology, root, 5, ++seed);
      ranks.run_with_failing_post(static_cast<int>(seed) % GetParam(), post);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryRelayingAlgorithm, testing::Range(2, 10));

}  // namespace
}  // namespace stretto::test
