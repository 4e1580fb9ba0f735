// SPDX-License-Identifier: Apache-2.0
// Promises of bcast and reduce beyond correctness, which verify_test.cpp proves.
#include <gtest/gtest.h>

#include <bit>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "verify/verify.hpp"

namespace stretto {
namespace {

Recipe usual(Collective collective, std::string_view name) {
  return usual_recipe(*find_algorithm(collective, name));
}

std::vector<Action> actions_of(const Schedule& schedule) {
  std::vector<Action> actions;
  for (int i = 0; i < schedule.rounds(); ++i) {
    actions.insert(actions.end(), schedule.round(i).begin(), schedule.round(i).end());
  }
  return actions;
}

std::vector<Topology> mappings() {
  return {Topology::from_labels({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}),
          Topology::from_labels({0, 1, 2, 0, 1, 2, 0, 1}), Topology::from_labels({0, 0, 0, 1, 2, 2, 2, 2, 2}),
          Topology::from_labels({2, 0, 1, 1, 0, 2, 0, 3, 0})};
}

TEST(Chain, CrossesEachNodesLinkOnceInEachDirection) {
  for (const Collective collective : {Collective::bcast, Collective::reduce}) {
    for (const Topology& topology : mappings()) {
      for (int root = 0; root < topology.ranks(); ++root) {
        const Proof proof = verify(usual(collective, "chain"), topology, root);
        EXPECT_EQ(proof.link.blocks, proof.blocks) << name_of(collective) << " from rank " << root;
        EXPECT_EQ(proof.link.messages, 1);
      }
    }
  }
}

TEST(Chain, KeepsOrderTowardsTheFirstAndTheLastRankOfConsecutiveOnes) {
  const Recipe chain = usual(Collective::reduce, "chain");
  const Topology ragged = Topology::from_labels({0, 0, 0, 1, 2, 2, 2, 2, 2});
  for (int root = 0; root < 9; ++root)
    EXPECT_EQ(keeps_order(chain, ragged, root), root == 0 || root == 8) << root;
  EXPECT_FALSE(keeps_order(chain, Topology::from_labels({0, 1, 0, 1}), 0));
}

TEST(Binomial, NeedsNoExtraHopForAnyRoot) {
  for (const Collective collective : {Collective::bcast, Collective::reduce}) {
    const Recipe binomial = usual(collective, "binomial");
    for (int p = 1; p <= 17; ++p) {
      const Topology topology = Topology::flat(p);
      for (int root = 0; root < p; ++root) {
        EXPECT_LE(verify(binomial, topology, root).rounds, std::bit_width(static_cast<unsigned>(p - 1)));
        int sends = 0;
        for (int rank = 0; rank < p; ++rank) {
          for (const Action& action : actions_of(build(binomial, topology, root, rank))) {
            sends += action.kind == Kind::send ? 1 : 0;
          }
        }
        EXPECT_EQ(sends, p - 1) << p << " ranks, root " << root;
      }
    }
  }
}

TEST(Scatter, SendsNothingToTheRoot) {
  const Topology topology = Topology::from_labels({0, 0, 0, 1, 2, 2, 2, 2, 2});
  for (const std::string_view name : {"scatter_allgather", "scatter_recursive_doubling"}) {
    for (int root = 0; root < topology.ranks(); ++root) {
      for (const Action& action : actions_of(build(usual(Collective::bcast, name), topology, root, root))) {
        EXPECT_EQ(action.kind, Kind::send);
      }
    }
  }
}

TEST(ScatterAllgather, MovesTwiceTheMessageAtMost) {
  for (const int p : {2, 5, 8, 13, 64}) {
    const Proof proof = verify(usual(Collective::bcast, "scatter_allgather"), Topology::flat(p));
    EXPECT_EQ(proof.between_nodes.blocks, 2 * (p - 1)) << p;
    EXPECT_EQ(proof.blocks, p);
  }
}

TEST(Rabenseifner, TheRootNeverHandsOverItsMessage) {
  const Recipe reduce = usual(Collective::reduce, "rabenseifner");
  for (int p = 2; p <= 13; ++p) {
    const Topology topology = Topology::flat(p);
    for (int root = 0; root < p; ++root) {
      const Schedule schedule = build(reduce, topology, root, root);
      for (const Action& action : actions_of(schedule)) {
        if (action.kind == Kind::send) {
          EXPECT_LE(action.left.count, schedule.blocks() / 2);
        }
      }
      const int digits = std::bit_width(static_cast<unsigned>(p)) - 1;
      EXPECT_LE(schedule.rounds(), 2 * digits + 1) << p << " ranks, root " << root;
    }
  }
}

TEST(Logarithmic, SchedulesOfOneRankStaySmall) {
  const Topology topology = Topology::flat(32768 + 12345);
  for (const Collective collective : {Collective::bcast, Collective::reduce}) {
    for (const std::string_view name :
         {"binomial", "knomial", "circulant", "scatter_recursive_doubling", "rabenseifner"}) {
      if (find_algorithm(collective, name) == nullptr) continue;
      for (const int rank : {0, 1, 777, 45112}) {
        EXPECT_LE(actions_of(build(usual(collective, name), topology, 777, rank)).size(), 64U) << name;
      }
    }
  }
}

}  // namespace
}  // namespace stretto
