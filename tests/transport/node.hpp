// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "transport/node_memory.hpp"

namespace stretto {

constexpr std::size_t store_bytes = std::size_t{160} << 10;

/// The memory of all ranks of a node, in one process.
class Node {
 public:
  /// Throws std::runtime_error.
  explicit Node(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {
    std::vector<NodeMemory::Owner> owners;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].open();
      owners.push_back({getpid(), ranks_[i].file(), 1000 + i});
      require(ranks_[i].make(shape(), static_cast<int>(i), owners.back().token));
    }
    for (NodeMemory& rank : ranks_) require(rank.map(owners));
    for (NodeMemory& rank : ranks_) rank.close_files();
  }
  [[nodiscard]] RegionShape shape() const {
    return RegionShape::make(static_cast<int>(ranks_.size()), store_bytes);
  }
  NodeMemory& operator[](int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

 private:
  static void require(const std::string& error) {
    if (!error.empty()) throw std::runtime_error(error);
  }

  std::vector<NodeMemory> ranks_;
};

}  // namespace stretto
