// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "schedule/partition.hpp"

namespace stretto {

/// Names, for each scratch block of a schedule, the block that is as large. Takes little memory where the
/// numbers of those blocks are regular: an alltoall of many ranks has millions of scratch blocks, all shaped
/// like block 0, and a halving has scratch for half of all blocks, one after the other.
class ScratchShape {
 public:
  void add(int like) {
    if (runs_.empty() || !continues(like)) {
      runs_.push_back({.begin = size_, .first = like, .step = 0});
    } else if (size_ - runs_.back().begin == 1) {
      runs_.back().step = like - runs_.back().first;
    }
    ++size_;
  }
  /// Adds scratch blocks as large as blocks first, first + 1, …
  void add(int first, int count) {
    for (int i = 0; i < std::min(count, 3); ++i) add(first + i);
    // The first one may end an earlier run, but the third one continues a run of consecutive blocks.
    size_ += static_cast<std::size_t>(std::max(count, 3) - 3);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int operator[](std::size_t block) const {
    const auto next = std::ranges::upper_bound(runs_, block, {}, &Run::begin);
    return (next - 1)->like(block);
  }
  /// Whether all are shaped like block 0.
  [[nodiscard]] bool is_alike() const {
    return runs_.empty() || (runs_.size() == 1 && runs_[0].first == 0 && runs_[0].step == 0);
  }
  [[nodiscard]] std::size_t memory_bytes() const { return runs_.size() * sizeof(Run); }
  [[nodiscard]] std::vector<int> all() const {
    std::vector<int> all;
    all.reserve(size_);
    for_each([&](int like) { all.push_back(like); });
    return all;
  }
  /// Calls visit(like) for each scratch block in turn.
  void for_each(auto visit) const {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const std::size_t end = run + 1 < runs_.size() ? runs_[run + 1].begin : size_;
      for (std::size_t block = runs_[run].begin; block < end; ++block) visit(runs_[run].like(block));
    }
  }

 private:
  /// Scratch blocks from `begin` on that are shaped like blocks first, first + step, …
  struct Run {
    std::size_t begin;
    int first;
    int step;

    [[nodiscard]] int like(std::size_t block) const { return first + static_cast<int>(block - begin) * step; }
  };

  /// Whether the next scratch block belongs to the last run. The second block of a run always does.
  [[nodiscard]] bool continues(int like) const {
    const Run& last = runs_.back();
    return size_ - last.begin == 1 || last.like(size_) == like;
  }

  std::size_t size_ = 0;
  std::vector<Run> runs_;
};

/// The places where the scratch blocks of a call begin, in elements.
class ScratchPlaces {
 public:
  /// Places scratch blocks that are as large as those of a segment.
  void place(const ScratchShape& shape, const BlockCut& blocks) {
    size_ = shape.size();
    alike_ = shape.is_alike() && size_ > 0 ? blocks.run(0).count : 0;
    begins_.clear();
    if (shape.is_alike()) return;
    begins_.reserve(size_ + 1);
    begins_.push_back(0);
    shape.for_each([&](int like) {
      begins_.push_back(begins_.back() + blocks.run(static_cast<std::size_t>(like)).count);
    });
  }

  /// Places scratch blocks of these lengths.
  void place(std::span<const std::size_t> lengths) {
    size_ = lengths.size();
    begins_.assign(1, 0);
    for (const std::size_t length : lengths) begins_.push_back(begins_.back() + length);
  }

  /// Returns where a block begins, or, for the number of blocks, the end.
  [[nodiscard]] std::size_t begin(std::size_t block) const {
    return begins_.empty() ? block * alike_ : begins_[block];
  }
  [[nodiscard]] std::size_t end() const { return begin(size_); }

 private:
  std::size_t size_ = 0;
  std::size_t alike_ = 0;            // the elements of each block if `begins_` is empty
  std::vector<std::size_t> begins_;  // [block], and one more entry for the end
};

}  // namespace stretto
