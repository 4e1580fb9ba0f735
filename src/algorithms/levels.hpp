// SPDX-License-Identifier: Apache-2.0
// What the algorithms that go through leaders of nodes share.
//
// The levels inside a node, from the inside out: the ranks of a domain, then the leaders of the node's
// domains. Domains are sockets where the node has several, else NUMA domains where it has several of those.
// The leader is the lowest rank, but the root leads wherever it is, so that its message takes no detour.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"

namespace stretto {

/// The ranks that meet on one level; only those that lead their groups on the levels before are there.
struct Group {
  std::vector<int> ranks;  // in the order of the lowest ranks that they stand for
  int leader = 0;          // place in `ranks`
  int me = 0;
};

/// Where a rank keeps a whole message: the input, the output, or scratch from block `first_scratch` on.
struct Place {
  Buffer buffer = Buffer::input;
  int first_scratch = 0;
};

class Levels {
 public:
  Levels(const Topology& topology, int rank, int root);

  [[nodiscard]] bool leads_node() const { return leads_node_; }
  /// Whether this rank is the leader of a group.
  [[nodiscard]] bool leads_any() const { return !groups_.empty() && groups_[0].leader == groups_[0].me; }

  /// Appends a binomial reduce in each group, from the inside out. A leader keeps what it gets at `partial`.
  /// Returns where this rank has the last that it knows: on the node's leader the partial of the node.
  Place append_reduce(Schedule& schedule, Place partial) const;
  /// Appends a binomial broadcast of the output in each group, from the outside in.
  void append_bcast(Schedule& schedule) const;

 private:
  void add(Group group, int rank);

  std::vector<Group> groups_;  // of this rank, from the inside out; none of one rank
  bool leads_node_ = true;
};

/// [node]
std::vector<int> leaders_of_nodes(const Topology& topology, int root);

// Predicates of an algorithm that reduces level by level and leaves the nodes' leaders to its only part.
bool smp_keeps_order(const Task& task);
bool smp_has_fixed_tree(const Task& task);
std::string_view smp_misfit(const Task& task);

}  // namespace stretto
