// SPDX-License-Identifier: Apache-2.0
#include "schedule/topology.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace stretto {

Topology Topology::flat(int ranks) {
  std::vector<int> labels(static_cast<std::size_t>(ranks));
  std::iota(labels.begin(), labels.end(), 0);
  return from_labels(labels);
}

Topology Topology::from_labels(const std::vector<int>& label_of_rank) {
  Topology topology;
  std::unordered_map<int, int> number_of;
  std::vector<int> ranks_on;
  for (const int label : label_of_rank) {
    const auto [entry, is_new] = number_of.try_emplace(label, static_cast<int>(number_of.size()));
    if (is_new) ranks_on.push_back(0);
    topology.node_of.push_back(entry->second);
    ++ranks_on[static_cast<std::size_t>(entry->second)];
  }
  topology.nodes = static_cast<int>(ranks_on.size());
  if (!ranks_on.empty()) {
    const auto [fewest, most] = std::minmax_element(ranks_on.begin(), ranks_on.end());
    topology.min_ppn = *fewest;
    topology.max_ppn = *most;
  }
  return topology;
}

}  // namespace stretto
