// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace stretto {

/// The nodes, sockets, NUMA domains and last-level caches of the ranks of a communicator: pure data, the same
/// on all of its ranks. Nodes may have different numbers of ranks (ragged), and ranks may be mapped to them
/// in any order.
///
/// Nodes are numbered from 0 in the order of their lowest ranks. So are sockets, NUMA domains and caches,
/// each over all nodes.
struct Topology {
  std::vector<int> node_of;     // [rank]
  std::vector<int> place_of;    // [rank] place among the ranks of its node
  std::vector<int> by_node;     // all ranks, node by node, ascending on each node
  std::vector<int> node_begin;  // [node] its begin in by_node; one more entry for the end
  std::vector<int> socket_of;   // [rank]
  std::vector<int> numa_of;     // [rank]
  std::vector<int> l3_of;       // [rank] the group that shares a last-level cache
  int nodes = 0;
  int sockets = 0;
  int numas = 0;
  int l3s = 0;
  /// The numbers of ranks on the fullest and on the emptiest node. They differ if nodes are ragged.
  int max_ppn = 0;
  int min_ppn = 0;
  /// The number of ranks on the emptiest last-level cache.
  int min_cache = 0;
  /// Whether each node holds a run of consecutive ranks.
  bool contiguous = true;
  std::shared_ptr<const Topology> leaders;  // the flat topology of the nodes; empty if this one is flat

  [[nodiscard]] int ranks() const { return static_cast<int>(node_of.size()); }
  [[nodiscard]] int node(int rank) const { return node_of[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int place(int rank) const { return place_of[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int ppn(int node) const { return static_cast<int>(on_node(node).size()); }
  /// The ranks of a node, ascending; the first is its leader.
  [[nodiscard]] std::span<const int> on_node(int node) const {
    const auto i = static_cast<std::size_t>(node);
    const auto begin = static_cast<std::size_t>(node_begin[i]);
    return std::span(by_node).subspan(begin, static_cast<std::size_t>(node_begin[i + 1]) - begin);
  }
  /// The rank at a place on a node.
  [[nodiscard]] int rank_at(int node, int place) const {
    return on_node(node)[static_cast<std::size_t>(place)];
  }

  /// The topology of one rank of each node. It is made once: the schedules of all ranks need it.
  [[nodiscard]] const Topology& of_leaders() const { return leaders ? *leaders : *this; }

  /// Makes a topology with one rank on each node. It is the view of an algorithm that is not node-aware.
  static Topology flat(int ranks);

  /// Makes a topology from labels of the ranks. Labels of nodes (world ranks of node leaders, say) are equal
  /// exactly for the ranks of one node. The other labels need only differ within a node. Without them, a node
  /// is one socket, and a socket one NUMA domain with one last-level cache.
  static Topology from_labels(const std::vector<int>& nodes, const std::vector<int>& sockets = {},
                              const std::vector<int>& numas = {}, const std::vector<int>& l3s = {});
};

}  // namespace stretto
