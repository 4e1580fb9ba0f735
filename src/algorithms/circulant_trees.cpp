// SPDX-License-Identifier: Apache-2.0
#include "algorithms/circulant_trees.hpp"

#include <bit>
#include <cstddef>

namespace stretto {
namespace {

std::vector<int> skips_of(int ranks) {
  const auto q = static_cast<std::size_t>(circulant_trees(ranks));
  std::vector<int> skips(q + 1, ranks);
  for (std::size_t k = q; k > 0; --k) skips[k - 1] = (skips[k] + 1) / 2;
  return skips;
}

/// Finds the block that a rank receives from each of its q neighbours.
///
/// Every rank is a sum of different skips, and the least skip of the greedy sum names its base block. The
/// rank has got this block by way of the partial sums, the longest skip last. In the second half, round k
/// brings the base block of another rank x, which has come from x by skips of rounds before k. x is the
/// nearest rank for which this is so and whose base block no earlier round has taken. Ranks are on a line
/// here, which repeats them after p, and x is a sum of skips up to p + rank.
class ReceivedBlocks {
 public:
  ReceivedBlocks(const std::vector<int>& skips, int rank)
      : skips_(skips), q_(skips.size() - 1), target_(skips[q_] + rank), below_(2 * skips[q_]) {
    is_taken_.resize(q_ + 1);
    base_ = base_block(rank);
    is_taken_[base_] = true;
    search(0, q_ + 1);
    for (std::size_t& block : blocks_) {
      if (block == q_) block = base_;  // of the root itself, x = p
    }
  }

  [[nodiscard]] std::size_t base() const { return base_; }
  [[nodiscard]] std::size_t in_round(std::size_t k) const { return blocks_[k]; }

 private:
  /// Returns q for rank 0.
  [[nodiscard]] std::size_t base_block(int rank) const {
    for (std::size_t k = q_; k > 0; --k) {
      if (skips_[k - 1] == rank) return k - 1;
      if (skips_[k - 1] < rank) rank -= skips_[k - 1];
    }
    return q_;
  }

  /// Returns the place of a round's sender on the line. x is at most this.
  [[nodiscard]] int last(std::size_t round) const { return target_ - skips_[round]; }

  /// Tries the sums of `at` and one or more of the first `skips` skips, the largest first.
  void search(int at, std::size_t skips) {
    for (std::size_t k = skips; k > 0 && blocks_.size() < q_; --k) {
      const int x = at + skips_[k - 1];
      if (is_taken_[k - 1] || x > last(blocks_.size()) || x >= below_) continue;
      if (x <= last(blocks_.size() + 1)) search(x, k - 1);
      if (blocks_.size() == q_ || at > last(blocks_.size() + 1)) return;
      below_ = x;
      is_taken_[k - 1] = true;
      blocks_.push_back(k - 1);
    }
  }

  const std::vector<int>& skips_;
  std::size_t q_;
  int target_;
  int below_;  // all x are smaller
  std::size_t base_ = 0;
  std::vector<bool> is_taken_;
  std::vector<std::size_t> blocks_;  // [round]
};

}  // namespace

int circulant_trees(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

std::vector<TreeStep> circulant_steps(int ranks, int me) {
  const std::vector<int> skips = skips_of(ranks);
  const std::size_t q = skips.size() - 1;
  std::vector<TreeStep> steps(2 * q);
  // A base block moves in the first half.
  const auto place = [&](const ReceivedBlocks& blocks, std::size_t k) {
    return blocks.in_round(k) == blocks.base() ? k : q + k;
  };
  const ReceivedBlocks mine(skips, me);
  for (std::size_t k = 0; k < q; ++k) {
    if (me != 0) {
      TreeStep& step = steps[place(mine, k)];
      step.received = static_cast<int>(mine.in_round(k));
      step.from = (me + ranks - skips[k]) % ranks;
    }
    const int to = (me + skips[k]) % ranks;
    if (to != 0) {
      const ReceivedBlocks theirs(skips, to);
      TreeStep& step = steps[place(theirs, k)];
      step.sent = static_cast<int>(theirs.in_round(k));
      step.to = to;
    }
  }
  return steps;
}

}  // namespace stretto
