// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedule/partition.hpp"

namespace stretto {

/// For each scratch block of a schedule the block that is as large. Takes no memory as long as that is block
/// 0 for all: an alltoall of many ranks has millions of scratch blocks.
class ScratchShape {
 public:
  void add(int like) {
    if (like != 0 && like_.empty()) like_.assign(size_, 0);
    if (like != 0 || !like_.empty()) like_.push_back(like);
    ++size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int operator[](std::size_t block) const { return like_.empty() ? 0 : like_[block]; }
  [[nodiscard]] bool is_alike() const { return like_.empty(); }
  [[nodiscard]] std::size_t memory_bytes() const { return like_.size() * sizeof(int); }
  [[nodiscard]] std::vector<int> all() const { return like_.empty() ? std::vector<int>(size_, 0) : like_; }

 private:
  std::size_t size_ = 0;
  std::vector<int> like_;  // empty: block 0 for all
};

/// Where each scratch block of a call begins, in elements.
class ScratchPlaces {
 public:
  /// Of scratch blocks as large as those of a segment.
  void place(const ScratchShape& shape, const BlockCut& blocks) {
    size_ = shape.size();
    alike_ = shape.is_alike() && size_ > 0 ? blocks.run(0).count : 0;
    begins_.clear();
    if (shape.is_alike()) return;
    begins_.reserve(size_ + 1);
    begins_.push_back(0);
    for (std::size_t i = 0; i < size_; ++i) {
      begins_.push_back(begins_.back() + blocks.run(static_cast<std::size_t>(shape[i])).count);
    }
  }

  /// Of scratch blocks of these lengths.
  void place(std::span<const std::size_t> lengths) {
    size_ = lengths.size();
    begins_.assign(1, 0);
    for (const std::size_t length : lengths) begins_.push_back(begins_.back() + length);
  }

  /// Of the block of that number, or, with the number of blocks, the end.
  [[nodiscard]] std::size_t begin(std::size_t block) const {
    return begins_.empty() ? block * alike_ : begins_[block];
  }
  [[nodiscard]] std::size_t end() const { return begin(size_); }

 private:
  std::size_t size_ = 0;
  std::size_t alike_ = 0;            // the elements of each block, if
  std::vector<std::size_t> begins_;  // is empty; one more for the end
};

}  // namespace stretto
