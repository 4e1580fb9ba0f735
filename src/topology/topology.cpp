// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>

namespace stretto {
namespace {

struct Numbering {
  std::vector<int> of;  // [rank]
  int count = 0;
};

/// Numbers the pairs (part of the level above, label) in the order of their lowest ranks.
Numbering number_labels(const std::vector<int>& above, const std::vector<int>& labels) {
  Numbering result;
  std::unordered_map<std::uint64_t, int> number_of;
  for (std::size_t rank = 0; rank < above.size(); ++rank) {
    const auto label = static_cast<std::uint32_t>(labels.empty() ? 0 : labels[rank]);
    const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(above[rank])) << 32) | label;
    const auto [entry, is_new] = number_of.try_emplace(key, result.count);
    result.count += is_new ? 1 : 0;
    result.of.push_back(entry->second);
  }
  return result;
}

}  // namespace

Topology Topology::flat(int ranks) {
  // This does the same as from_labels(), but in less time: algorithms for nodes are built on the flat
  // topology of nodes.
  std::vector<int> numbers(static_cast<std::size_t>(ranks) + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  Topology topology;
  topology.node_begin = numbers;
  numbers.pop_back();
  topology.node_of = topology.by_node = topology.socket_of = topology.numa_of = topology.l3_of = numbers;
  topology.place_of.assign(numbers.size(), 0);
  topology.nodes = topology.sockets = topology.numas = topology.l3s = ranks;
  topology.max_ppn = topology.min_ppn = topology.min_cache = ranks > 0 ? 1 : 0;
  return topology;
}

Topology Topology::from_labels(const std::vector<int>& nodes, const std::vector<int>& sockets,
                               const std::vector<int>& numas, const std::vector<int>& l3s) {
  const Numbering node = number_labels(std::vector<int>(nodes.size(), 0), nodes);
  const Numbering socket = number_labels(node.of, sockets);
  const Numbering numa = number_labels(socket.of, numas);
  // A cache may have several NUMA domains, or a NUMA domain several caches.
  const Numbering l3 = number_labels(socket.of, l3s);

  Topology topology;
  topology.node_of = node.of;
  topology.socket_of = socket.of;
  topology.numa_of = numa.of;
  topology.l3_of = l3.of;
  topology.nodes = node.count;
  topology.sockets = socket.count;
  topology.numas = numa.count;
  topology.l3s = l3.count;
  topology.contiguous = std::is_sorted(node.of.begin(), node.of.end());

  std::vector<int> ranks_on(static_cast<std::size_t>(node.count), 0);
  for (const int number : node.of) {
    topology.place_of.push_back(ranks_on[static_cast<std::size_t>(number)]++);
  }
  topology.node_begin.assign(1, 0);
  for (const int ranks : ranks_on) topology.node_begin.push_back(topology.node_begin.back() + ranks);
  topology.by_node.resize(nodes.size());
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    const auto begin =
        static_cast<std::size_t>(topology.node_begin[static_cast<std::size_t>(topology.node(rank))]);
    topology.by_node[begin + static_cast<std::size_t>(topology.place(rank))] = rank;
  }
  if (!ranks_on.empty()) {
    const auto [fewest, most] = std::minmax_element(ranks_on.begin(), ranks_on.end());
    topology.min_ppn = *fewest;
    topology.max_ppn = *most;
    std::vector<int> ranks_with(static_cast<std::size_t>(l3.count), 0);
    for (const int number : l3.of) ++ranks_with[static_cast<std::size_t>(number)];
    topology.min_cache = *std::min_element(ranks_with.begin(), ranks_with.end());
  }
  if (topology.max_ppn > 1) topology.leaders = std::make_shared<const Topology>(flat(topology.nodes));
  return topology;
}

}  // namespace stretto
