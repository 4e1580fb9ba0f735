// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stretto {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_topology(text);
  } catch (const TopologyError& error) {
    return error.what();
  }
  return "no error";
}

using Numbers = std::vector<int>;

TEST(TopologyText, RanksFillNodeAfterNode) {
  const Topology topology = parse_topology("nodes=3,ppn=2");
  EXPECT_EQ(topology.node_of, (Numbers{0, 0, 1, 1, 2, 2}));
  EXPECT_TRUE(topology.contiguous);
  EXPECT_EQ(parse_topology("ppn=2,nodes=3").node_of, topology.node_of);
  EXPECT_EQ(parse_topology("ppn=5").node_of, (Numbers{0, 0, 0, 0, 0}));
}

TEST(TopologyText, RanksAreDealtToNodesInTurns) {
  const Topology topology = parse_topology("nodes=3,ppn=2,mapping=by_node");
  EXPECT_EQ(topology.node_of, (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_FALSE(topology.contiguous);
  EXPECT_EQ(parse_topology("ppn=3+1+2,mapping=by_node").node_of, (Numbers{0, 1, 2, 0, 2, 0}));
  EXPECT_EQ(parse_topology("nodes=2,ppn=2,mapping=by_slot").node_of, (Numbers{0, 0, 1, 1}));
}

TEST(TopologyText, RaggedNodesAreAsManyAsNumbers) {
  const Topology topology = parse_topology("ppn=4+4+1");
  EXPECT_EQ(topology.nodes, 3);
  EXPECT_EQ(topology.ranks(), 9);
  EXPECT_EQ(topology.max_ppn, 4);
  EXPECT_EQ(topology.min_ppn, 1);
  EXPECT_EQ(parse_topology("nodes=3,ppn=4+4+1").node_of, topology.node_of);
}

TEST(TopologyText, SocketsAndNumaDomainsCutNodesEvenly) {
  const Topology topology = parse_topology("nodes=2,ppn=4,sockets=2,numas=2");
  EXPECT_EQ(topology.sockets, 4);
  EXPECT_EQ(topology.numas, 8);
  EXPECT_EQ(topology.socket_of, (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(topology.numa_of, (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(parse_topology("ppn=3,sockets=2").socket_of, (Numbers{0, 0, 1}));
  // More sockets than ranks: sockets without ranks do not count.
  EXPECT_EQ(parse_topology("ppn=2,sockets=4").sockets, 2);
}

TEST(TopologyText, LastLevelCachesCutSockets) {
  const Topology topology = parse_topology("nodes=1,ppn=8,sockets=2,numas=1,l3=2");
  EXPECT_EQ(topology.l3s, 4);
  EXPECT_EQ(topology.l3_of, (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(topology.numas, 2);
  // A cache may have several NUMA domains.
  EXPECT_EQ(parse_topology("ppn=4,numas=4").l3s, 1);
  EXPECT_EQ(parse_topology("a 0 0 0\na 0 0 1\na 0 1 0\na 1 0 0\n").l3_of, (Numbers{0, 1, 0, 2}));
}

TEST(TopologyText, AMapNamesTheNodeOfEachRank) {
  EXPECT_EQ(parse_topology("map=0,0,1,1,2").node_of, (Numbers{0, 0, 1, 1, 2}));
  // Nodes are numbered by their lowest rank, whatever their names.
  EXPECT_EQ(parse_topology("map=7,3,7").node_of, (Numbers{0, 1, 0}));
  EXPECT_EQ(parse_topology("map=0").ranks(), 1);
}

TEST(TopologyText, AFileHasALineForEachRank) {
  const Topology topology = parse_topology(
      "# node socket numa\n"
      "fast-1 0 0\n"
      "fast-1 1 0   # the other socket\n"
      "\n"
      "fast-2\n"
      "fast-1 0 1\n");
  EXPECT_EQ(topology.node_of, (Numbers{0, 0, 1, 0}));
  EXPECT_EQ(topology.socket_of, (Numbers{0, 1, 2, 0}));
  EXPECT_EQ(topology.numa_of, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(parse_topology("alone\n").ranks(), 1);
  EXPECT_EQ(parse_topology("one;two;one;").node_of, (Numbers{0, 1, 0}));
}

TEST(TopologyText, AFileMayHoldASetting) {
  for (const auto* text : {"nodes=2,ppn=1\n", "nodes=2,ppn=1;", "# all\n  nodes=2,ppn=1  # two\n"}) {
    EXPECT_EQ(parse_topology(text).node_of, (Numbers{0, 1})) << text;
  }
  EXPECT_NE(error_of("nodes=2,ppn=1\nfast-1\n").find("must be the only line"), std::string::npos);
}

TEST(TopologyText, WhatIsNoFileIsNoNode) {
  EXPECT_NE(error_of("/no/such/file").find("neither a file"), std::string::npos);
}

TEST(TopologyText, SaysWhatIsWrongAndWhatWouldBeRight) {
  const std::vector<std::pair<std::string, std::string>> expected{
      {"nodes=4", "it does not set ppn, as nodes=8,ppn=4 does"},
      {"nodes=0,ppn=4", "nodes must be a whole number from 1 to 1048576, not \"0\""},
      {"nodes=2,ppn=4x", "ppn must be a whole number from 1 to 1048576, not \"4x\""},
      {"nodes=2,ppn=", "ppn must be a whole number from 1 to 1048576, not \"\""},
      {"ppn=4+0", "ppn must be a whole number from 1 to 1048576, not \"0\""},
      {"nodes=2,ppn=4+4+1", "nodes=2 does not match the 3 numbers of ppn"},
      {"nodes=1048576,ppn=2", "it has more than 1048576 ranks"},
      {"nodes=2,ppn=4,mapping=random", "mapping must be by_slot or by_node, not \"random\""},
      {"nodes=2,ppn=4,racks=2",
       "there is no setting \"racks\"; there are nodes, ppn, sockets, numas, l3, mapping, map"},
      {"map=0,,1", "map must be a whole number from 0 to 1048576, not \"\""},
      {"map=0,-1", "map must be a whole number from 0 to 1048576, not \"-1\""},
      {"", "it does not name a node"},
  };
  for (const auto& [text, what] : expected) EXPECT_EQ(error_of(text), "topology \"" + text + "\": " + what);
  EXPECT_EQ(error_of("node 0 0 0 surplus\nnode"),
            "topology \"node 0 0 0 surplus\": a line may name a node, a socket, a NUMA domain "
            "and a cache, and no more");
}

}  // namespace
}  // namespace stretto
