// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "../algorithms/topologies.hpp"
#include "select/claims.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// Numbers of ranks: all small ones, and few large ones.
std::vector<Topology> topologies() {
  std::mt19937 random(1);
  std::vector<Topology> all;
  for (int nodes = 1; nodes <= 20; ++nodes) {
    all.push_back(Topology::flat(nodes));
    all.push_back(equal_nodes(nodes, 3));
    all.push_back(equal_nodes(1, nodes));
    all.push_back(ragged_nodes(random, nodes, 1, 4));
  }
  all.push_back(equal_nodes(100, 10));
  return all;
}

/// Returns calls of all sections, such that each condition holds for some of them and not for others.
std::vector<CallShape> all_shapes() {
  std::vector<Topology> where = {equal_nodes(1, 17), equal_nodes(1, 32), equal_nodes(2, 8),
                                 equal_nodes(4, 1)};
  where.push_back(Topology::from_labels({0, 0, 0, 0, 1, 2, 3}));  // uneven
  for (const int ppn : {1, 2, 3, 4, 9}) where.push_back(equal_nodes(1, ppn));
  for (const int ppn : {1, 2, 3, 6}) where.push_back(equal_nodes(9, ppn));
  for (const int nodes : {2, 8, 100}) where.push_back(Topology::flat(nodes));
  std::vector<CallShape> shapes;
  for (const Topology& topology : where) {
    for (const Collective collective : collectives) {
      for (const Form form : {Form::blocking, Form::non_blocking}) {
        for (std::size_t bytes = 1; bytes < (std::size_t{1} << 31); bytes *= 2) {
          for (unsigned flags = 0; flags < 8; ++flags) {
            CallShape shape = shape_of(collective, bytes, topology, form);
            shape.shares_memory = (flags & 1U) != 0;
            shape.commutative = (flags & 2U) == 0;
            if ((flags & 4U) != 0) shape.min_cache = 1;
            shapes.push_back(shape);
          }
        }
      }
    }
  }
  return shapes;
}

constexpr std::array sections = {RuleSection::inside, RuleSection::between, RuleSection::lengths,
                                 RuleSection::reproducible, RuleSection::own};

TEST(RuleText, EveryRowDecidesSomeCall) {
  std::set<const RuleRow*> deciding;
  for (const CallShape& shape : all_shapes()) {
    deciding.insert(find_row(usual_section(shape), shape));
    for (const RuleSection section : {RuleSection::lengths, RuleSection::reproducible, RuleSection::own}) {
      deciding.insert(find_row(section, shape));
    }
  }
  for (const RuleSection section : sections) {
    for (const Form form : {Form::blocking, Form::non_blocking}) {
      for (const Collective collective : collectives) {
        for (const RuleRow& row : built_in_rule().rows_of(section, form, collective)) {
          EXPECT_TRUE(deciding.contains(&row)) << name_of(collective, form) << ": " << row.text;
        }
      }
    }
  }
}

TEST(RuleText, TheFirstRowThatHoldsDecides) {
  const CallShape shape = shape_of(Collective::bcast, mebibyte, Topology::flat(8));
  const RuleRow* row = find_row(usual_section(shape), shape);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->text,
            "between nodes: bcast ranks>2 bytes>=bcast bytes/depth>=bcast_depth -> "
            "chain:segment_bytes={block/16=least_message..message}");
  EXPECT_EQ(to_string(row->spec_for(shape)), "chain:segment_bytes=8KiB");
  EXPECT_EQ(choose(shape), row->spec_for(shape));
  EXPECT_EQ(find_row(RuleSection::between, shape_of(Collective::bcast, 8, Topology::flat(8))), nullptr);
}

/// Measured on links of 200 Mbit/s: Open MPI's own broadcast of 64 KiB takes 4 times as long on 5 nodes.
TEST(RuleText, ABroadcastOnAFewNodesIsAChain) {
  for (const int nodes : {3, 4, 5}) {
    const CallShape shape = shape_of(Collective::bcast, 64 * kibibyte, Topology::flat(nodes));
    EXPECT_EQ(to_string(choose(shape)), "chain:segment_bytes=8KiB") << nodes;
  }
}

TEST(RuleText, AChangedFigureChangesItsRows) {
  const RuleTable rule = read_rule(
      "[derived]\nleast = 1KiB, most = 4KiB\n[measured]\nmost in background = 2KiB\n"
      "[between nodes: background]\nbcast bytes<=most -> binomial\n"
      "[between nodes]\n# a reason\nbcast,reduce bytes=least..2*most -> chain\n",
      {{"least", 8}});
  const auto chosen = [&](std::size_t bytes, Form form) {
    return to_string(choose(shape_of(Collective::bcast, bytes, Topology::flat(2), form), rule));
  };
  EXPECT_EQ(chosen(7, Form::blocking), "native");
  EXPECT_EQ(chosen(8, Form::blocking), "chain");
  EXPECT_EQ(chosen(8 * kibibyte + 1, Form::blocking), "native");
  EXPECT_EQ(chosen(2 * kibibyte, Form::persistent), "binomial");
  EXPECT_EQ(chosen(4 * kibibyte, Form::persistent), "chain");
  EXPECT_EQ(rule.derived, (RuleFigures{{"least", 8}, {"most", 4 * kibibyte}}));
  EXPECT_THROW(read_rule("", {{"tea", 1}}), std::invalid_argument);
}

TEST(RuleText, WhatIsWrongIsNamed) {
  const auto complaint = [](const std::string& row) -> std::string {
    try {
      read_rule("[own]\n" + row);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint("bcast bytes>=8 -> chain"), "");
  EXPECT_NE(complaint("bcast tea>=8 -> chain").find("\"tea\""), std::string::npos);
  EXPECT_NE(complaint("bcast bytes>=tea -> chain").find("\"tea\""), std::string::npos);
  EXPECT_NE(complaint("bcast !tea -> chain").find("\"tea\""), std::string::npos);
  EXPECT_NE(complaint("bcast -> tea").find("no bcast algorithm \"tea\""), std::string::npos);
}

TEST(Rule, ASmallCallIsNativeWhateverItsShape) {
  for (const Form form : forms) {
    for (const Collective collective : collectives) {
      const std::size_t floor = native_floor(collective, form);
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, floor - 1}) {
        if (bytes >= floor) continue;
        for (const Topology& topology : topologies()) {
          EXPECT_TRUE(choose(shape_of(collective, bytes, topology, form)).is_pass_through())
              << name_of(collective);
        }
      }
    }
  }
}

TEST(Rule, WhatGainsInABlockingCallGainsInOthers) {
  for (const Collective collective : collectives) {
    for (const Topology& topology : topologies()) {
      for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 2) {
        const Spec blocking = choose(shape_of(collective, bytes, topology));
        if (blocking.is_native()) continue;
        const Spec non_blocking = choose(shape_of(collective, bytes, topology, Form::non_blocking));
        Spec but_for_segments = non_blocking;
        but_for_segments.pipelining.segment_bytes = blocking.pipelining.segment_bytes;
        EXPECT_EQ(but_for_segments, blocking);
        EXPECT_GE(non_blocking.pipelining.segment_bytes, blocking.pipelining.segment_bytes);
        if (topology.nodes > 1) {  // what every library sends eagerly
          const auto ranks = static_cast<std::size_t>(topology.ranks());
          EXPECT_LT(non_blocking.pipelining.segment_bytes / ranks, std::size_t{64} << 10);
        }
        EXPECT_EQ(choose(shape_of(collective, bytes, topology, Form::persistent)), non_blocking);
      }
    }
  }
}

TEST(Rule, WhatMustNotBeNativeIsNot) {
  for (const Collective collective : collectives) {
    for (const Topology& topology : topologies()) {
      for (const Form form : forms) {
        for (const bool commutative : {true, false}) {
          for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
            CallShape shape = shape_of(collective, bytes, topology, form);
            shape.commutative = commutative;
            const Spec spec = choose_own(shape);
            ASSERT_FALSE(spec.is_native()) << name_of(collective);
            EXPECT_EQ(spec.recipe.algorithm->why_unsupported(task_of(spec.recipe, topology, 0)), "");
            EXPECT_TRUE(!has_block_of_each_rank(collective) || !spec.recipe.algorithm->moves_runs ||
                        bytes <= Pipelining::most_segment_bytes)
                << to_string(spec);
            EXPECT_TRUE(commutative || keeps_order(spec.recipe, topology)) << to_string(spec);
          }
        }
      }
    }
  }
}

TEST(Rule, WhatDoesNotCommuteKeepsOrder) {
  for (const Collective collective : collectives) {
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
      for (const int nodes : {1, 2, 3, 8, 9, 100}) {
        for (const Form form : forms) {
          CallShape shape = shape_of(collective, bytes, Topology::flat(nodes), form);
          shape.commutative = false;
          const Spec spec = choose(shape);
          EXPECT_TRUE(spec.is_native() || keeps_order(spec.recipe, Topology::flat(nodes)));
        }
      }
    }
  }
}

TEST(Rule, ALargeCallAcrossNodesIsPipelined) {
  for (const Collective collective :
       {Collective::allreduce, Collective::bcast, Collective::reduce, Collective::reduce_scatter,
        Collective::allgather, Collective::alltoall}) {
    for (const int ppn : {1, 2}) {
      const Spec spec = choose({.collective = collective,
                                .bytes = std::size_t{16} << 20,
                                .ranks = 7 * ppn,
                                .nodes = 7,
                                .min_ppn = ppn,
                                .max_ppn = ppn});
      ASSERT_FALSE(spec.is_native()) << name_of(collective);
      EXPECT_GT(spec.pipelining.count(4 << 20, 4), 1U);
    }
  }
}

TEST(Rule, AChainHasTwoSegmentsARankAtLeast) {
  for (const Collective collective : {Collective::bcast, Collective::reduce}) {
    for (int ranks = 3; ranks < 5000; ranks = ranks * 3 / 2 + 1) {
      for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes += bytes / 3 + 1) {
        const Spec spec = choose({.collective = collective, .bytes = bytes, .ranks = ranks, .nodes = ranks});
        if (spec.is_native() || spec.recipe.algorithm->name != "chain") continue;
        EXPECT_GE(spec.pipelining.count(bytes, 1), 2 * static_cast<std::size_t>(ranks));
      }
    }
  }
}

TEST(Rule, WhatItChoosesIsOfUseThere) {
  for (const Topology& topology : topologies()) {
    for (const Collective collective : collectives) {
      for (const Form form : forms) {
        for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
          const Spec spec = choose(shape_of(collective, bytes, topology, form));
          if (spec.is_native()) continue;
          EXPECT_EQ(spec.recipe.algorithm->why_unsupported(task_of(spec.recipe, topology, 0)), "")
              << to_string(spec) << " on " << topology.nodes << " nodes, " << topology.ranks() << " ranks";
        }
      }
    }
  }
}

TEST(Rule, InsideANodeThatSharesMemory) {
  for (int ranks = 2; ranks <= 20; ++ranks) {
    const Topology node = equal_nodes(1, ranks);
    for (const Collective collective : collectives) {
      for (const Form form : forms) {
        for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 2) {
          CallShape shape = shape_of(collective, bytes, node, form);
          shape.shares_memory = true;
          const Spec spec = choose(shape);
          const bool is_small = bytes < native_floor(collective, form, ranks);
          EXPECT_LE(native_floor(collective, form, ranks), native_floor(collective, form));
          // The library moves long blocks of an alltoall with a single copy.
          if (is_small || (form == Form::blocking && collective != Collective::alltoall)) {
            EXPECT_EQ(spec.is_native(), is_small) << to_string(spec);
          }
          if (spec.is_native()) continue;
          EXPECT_EQ(spec.recipe.algorithm->why_unsupported(task_of(spec.recipe, node, 0)), "")
              << to_string(spec);
        }
      }
    }
  }
}

TEST(Rule, ShortBlocksOfAnAlltoallCrossTheNetworkTogether) {
  const auto chosen = [](std::size_t block, int nodes, int ppn) {
    const Topology topology = equal_nodes(nodes, ppn);
    const std::size_t bytes = block * static_cast<std::size_t>(topology.ranks());
    return to_string(choose(shape_of(Collective::alltoall, bytes, topology, Form::blocking)));
  };
  EXPECT_EQ(chosen(8, 4, 4), "smp(linear:radix=33)");
  EXPECT_EQ(chosen(2048, 4, 4), "multilane(linear:radix=33)");
  EXPECT_EQ(chosen(8, 64, 16), "multilane(linear:radix=257)");
  EXPECT_EQ(chosen(512, 64, 16), "multilane(linear:radix=33)");
  EXPECT_EQ(chosen(8, 8, 1), "bruck:radix=2");
  EXPECT_EQ(chosen(8, 4, 1), "native");
  EXPECT_EQ(chosen(16384, 4, 4), "native");
  EXPECT_EQ(chosen(65536, 4, 4), "pairwise:segment_bytes=256KiB");
}

TEST(Rule, BlocksOfADominantNodeGoAroundARing) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::allgather}) {
    for (const Form form : {Form::blocking, Form::non_blocking}) {
      CallShape shape = shape_of(collective, 8 * mebibyte, equal_nodes(4, 4), form);
      EXPECT_EQ(choose(shape).recipe.algorithm->name, "multilane");
      shape.has_dominant_node = true;
      EXPECT_EQ(choose(shape).recipe.algorithm->name, "ring");
      // One node of four ranks, and three of one.
      const Topology ragged = Topology::from_labels({0, 0, 0, 0, 1, 2, 3});
      EXPECT_EQ(choose(shape_of(collective, 8 * mebibyte, ragged, form)).recipe.algorithm->name, "ring");
    }
  }
}

TEST(Rule, WhatIsProposedForLengthsFitsThem) {
  const auto proposed = [](std::size_t block, const Topology& topology) {
    CallShape shape =
        shape_of(Collective::alltoallv, block * static_cast<std::size_t>(topology.ranks()), topology);
    shape.shares_memory = true;
    return to_string(choose_for_lengths(shape));
  };
  EXPECT_EQ(proposed(8, equal_nodes(4, 4)), "smp(linear:radix=33)");
  EXPECT_EQ(proposed(8, equal_nodes(4, 8)), "multilane(linear:radix=33)");
  EXPECT_EQ(proposed(8, equal_nodes(4, 2)), "native");
  EXPECT_EQ(proposed(mebibyte, equal_nodes(4, 2)), "linear:radix=3");
  EXPECT_EQ(proposed(8, equal_nodes(1, 4)), "linear:radix=33");
  EXPECT_EQ(proposed(mebibyte, equal_nodes(1, 4)), "native");
  for (const Topology& topology : topologies()) {
    for (std::size_t block = 0; block <= mebibyte; block = 2 * block + 1) {
      CallShape shape =
          shape_of(Collective::alltoallv, block * static_cast<std::size_t>(topology.ranks()), topology);
      const Spec spec = choose_for_lengths(shape);
      if (spec.is_native()) continue;
      EXPECT_EQ(spec.recipe.algorithm->why_unsupported(task_of(spec.recipe, topology, 0)), "");
    }
  }
}

TEST(Rule, ManyRanksOfANodeGoByCache) {
  const auto chosen = [](std::size_t bytes, const std::vector<int>& l3s, Form form = Form::blocking) {
    const Topology node = Topology::from_labels(std::vector<int>(l3s.size(), 0), {}, {}, l3s);
    CallShape shape = shape_of(Collective::allreduce, bytes, node, form);
    shape.shares_memory = true;
    return to_string(choose(shape));
  };
  std::vector<int> caches;
  for (int rank = 0; rank < 32; ++rank) caches.push_back(rank % 4);
  EXPECT_EQ(chosen(8, caches), "recursive_doubling");
  EXPECT_EQ(chosen(16 * kibibyte, caches), "cache_lanes(rabenseifner)");
  EXPECT_EQ(chosen(64 * kibibyte, caches), "cache_lanes(two_shot)");
  EXPECT_EQ(chosen(64 * mebibyte, caches), "cache_lanes(two_shot)");
  EXPECT_EQ(chosen(64 * kibibyte, caches, Form::non_blocking), "rabenseifner");
  // A cache that holds one rank has no lanes.
  caches.back() = 4;
  EXPECT_EQ(chosen(64 * kibibyte, caches), "rabenseifner");
  EXPECT_EQ(chosen(16 * kibibyte, std::vector<int>(16, 0)), "two_shot");
}

TEST(Rule, WhatIsReproducibleHasTheFixedTreeAndKeepsOrder) {
  std::mt19937 random(2);
  for (const Collective collective :
       {Collective::allreduce, Collective::reduce, Collective::reduce_scatter}) {
    for (int nodes = 1; nodes <= 20; ++nodes) {
      for (const Topology& topology :
           {Topology::flat(nodes), equal_nodes(nodes, 4), ragged_nodes(random, nodes, 1, 4)}) {
        for (std::size_t bytes = 1; bytes < (std::size_t{1} << 33); bytes *= 4) {
          const Spec spec = *decide({.call = shape_of(collective, bytes, topology),
                                     .topology = topology,
                                     .learning = {.reproducible = true}})
                                 .spec;
          ASSERT_FALSE(spec.is_native());
          EXPECT_TRUE(has_fixed_tree(spec.recipe, topology)) << to_string(spec);
          EXPECT_TRUE(keeps_order(spec.recipe, topology)) << to_string(spec);
        }
      }
    }
  }
}

}  // namespace
}  // namespace stretto
