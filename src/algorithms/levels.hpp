// SPDX-License-Identifier: Apache-2.0
// Shared by the algorithms that use a leader on each node.
//
// The levels inside a node, from the inside out: the ranks of a domain, then the leaders of the node's
// domains. Domains are the node's sockets if it has several, else its NUMA domains. The leader is the lowest
// rank, but the root always leads its groups, so that its message takes no detour.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"

namespace stretto {

/// The ranks that meet on one level: the leaders of the groups on the level before.
struct Group {
  std::vector<int> ranks;  // in the order of the lowest ranks that they represent
  int leader = 0;          // place in `ranks`
  int me = 0;
};

/// The place where a rank holds a whole message: the input, the output, or scratch from block `first_scratch`
/// on.
struct HeldBlock {
  Buffer buffer = Buffer::input;
  int first_scratch = 0;
};

class Levels {
 public:
  Levels(const Topology& topology, int rank, int root);

  [[nodiscard]] bool leads_node() const { return leads_node_; }
  /// Whether this rank is the leader of a group.
  [[nodiscard]] bool leads_any() const { return !groups_.empty() && groups_[0].leader == groups_[0].me; }

  /// Appends a binomial reduce in each group, from the inside out. A leader puts its partial result at
  /// `partial`. Returns the place of this rank's last partial result: on the node's leader, that of the node.
  HeldBlock append_reduce(Schedule& schedule, HeldBlock partial) const;
  /// Appends a binomial broadcast of the output in each group, from the outside in.
  void append_bcast(Schedule& schedule) const;

 private:
  void add(Group group, int rank);

  std::vector<Group> groups_;  // of this rank, from the inside out; each has several ranks
  bool leads_node_ = true;
};

/// Returns the leader of each node: its lowest rank, or the root.
std::vector<int> leaders_of_nodes(const Topology& topology, int root);

// Predicates of an algorithm that reduces level by level, and has one part for the nodes' leaders.
bool smp_keeps_order(const Task& task);
bool smp_has_fixed_tree(const Task& task);
std::string_view smp_unsupported(const Task& task);

}  // namespace stretto
