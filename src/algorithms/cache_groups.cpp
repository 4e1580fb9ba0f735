// SPDX-License-Identifier: Apache-2.0
#include "algorithms/cache_groups.hpp"

#include <algorithm>
#include <cstddef>

#include "schedule/partition.hpp"

namespace stretto {
namespace {

constexpr std::size_t most_ranks_of_group = 16;

}  // namespace

std::vector<std::vector<int>> cache_groups(const Topology& topology) {
  std::vector<std::vector<int>> caches(static_cast<std::size_t>(topology.l3s));
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    caches[static_cast<std::size_t>(topology.l3_of[static_cast<std::size_t>(rank)])].push_back(rank);
  }
  std::vector<std::vector<int>> groups;
  for (const std::vector<int>& ranks : caches) {
    const std::size_t parts = (ranks.size() + most_ranks_of_group - 1) / most_ranks_of_group;
    const Partition cut(ranks.size(), parts);
    for (std::size_t part = 0; part < parts; ++part) {
      groups.emplace_back(ranks.begin() + static_cast<std::ptrdiff_t>(cut.begin(part)),
                          ranks.begin() + static_cast<std::ptrdiff_t>(cut.begin(part + 1)));
    }
  }
  // The parts of one cache may lie between those of another one.
  std::sort(groups.begin(), groups.end());
  return groups;
}

}  // namespace stretto
