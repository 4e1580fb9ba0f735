// SPDX-License-Identifier: Apache-2.0
// Calls whose blocks have lengths that only sender and receiver know, and what must come out if the receiver
// expects other ones. The includer defines STRETTO_CHECK(condition).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/data/call.hpp"
#include "engine/execution/execution.hpp"

namespace stretto::test {

constexpr auto untouched = std::byte{0xAB};

/// How receivers differ from senders in what they expect.
enum class Expectation : std::uint8_t { right, some_too_long, some_too_short };

inline std::byte value_between(int from, int to, std::size_t i) {
  return static_cast<std::byte>(from * 31 + to * 7 + static_cast<int>(i % 113));
}

class Exchange {
 public:
  Exchange(Collective collective, int ranks, int rank, int root, std::size_t unit, Expectation expectation)
      : collective_(collective),
        ranks_(ranks),
        rank_(rank),
        root_(root),
        unit_(unit),
        expectation_(expectation) {
    input_borders_.push_back(0);
    output_borders_.push_back(0);
    for (int block = 0; block < ranks; ++block) {
      const int to = is_gather(collective) ? root : block;
      if (is_gather(collective) ? block == rank_ : exists(rank_, to)) {
        for (std::size_t i = 0; i < length(rank_, to); ++i) input_.push_back(value_between(rank_, to, i));
      }
      input_borders_.push_back(input_.size());
      const int from = source_of(block);
      output_borders_.push_back(output_borders_.back() + (from < 0 ? 0 : expected(from, rank_)));
    }
    output_.assign(output_borders_.back(), untouched);
  }

  [[nodiscard]] Call call() {
    Call call{.input = input_.data(),
              .output = output_.data(),
              .element = byte_element(),
              .input_holds = {0, input_.size()},
              .output_holds = {0, output_.size()}};
    call.borders = input_borders_;
    call.output_borders = output_borders_;
    call.root = root_;
    return call;
  }

  /// Whether some block is longer than this rank expects, or comes from `failed`, a rank that has failed.
  [[nodiscard]] bool must_fail(int failed = -1) const {
    bool fails = false;
    for_each_arriving([&](int from, std::size_t /*at*/) {
      fails =
          fails || length(from, rank_) > expected(from, rank_) || (from == failed && length(from, rank_) > 0);
    });
    return fails;
  }

  void check_output() const {
    for_each_arriving([&](int from, std::size_t at) {
      const std::size_t all = expected(from, rank_);
      for (std::size_t i = 0; i < all; ++i) {
        STRETTO_CHECK(output_[at + i] ==
                      (i < length(from, rank_) ? value_between(from, rank_, i) : untouched));
      }
    });
  }

 private:
  [[nodiscard]] bool exists(int from, int to) const {
    if (is_gather(collective_)) return to == root_;
    return !is_scatter(collective_) || from == root_;
  }

  /// The rank from which a block of the output comes, or -1.
  [[nodiscard]] int source_of(int block) const {
    const int from = is_scatter(collective_) ? root_ : block;
    const bool is_here = !is_scatter(collective_) || block == rank_;
    return is_here && exists(from, rank_) ? from : -1;
  }

  template <typename Visit>
  void for_each_arriving(Visit visit) const {
    for (int block = 0; block < ranks_; ++block) {
      if (source_of(block) >= 0) visit(source_of(block), output_borders_[static_cast<std::size_t>(block)]);
    }
  }

  [[nodiscard]] std::size_t length(int from, int to) const {
    return unit_ * static_cast<std::size_t>((from + 2 * to) % 4) + static_cast<std::size_t>(from * to % 3);
  }

  [[nodiscard]] std::size_t expected(int from, int to) const {
    const bool differs = (from + to) % 3 == 1;
    const std::size_t sent = length(from, to);
    if (!differs || expectation_ == Expectation::right) return sent;
    return expectation_ == Expectation::some_too_long ? sent + 3 : sent / 2;
  }

  Collective collective_;
  int ranks_;
  int rank_;
  int root_;
  std::size_t unit_;
  Expectation expectation_;
  std::vector<std::size_t> input_borders_;
  std::vector<std::size_t> output_borders_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

/// Counts the steps of the two walks of a call.
class Steps final : public Observer {
 public:
  void segment_begins(std::size_t flight, std::size_t segment) override {
    STRETTO_CHECK(flight == 0 && segment == begun++ && begun == ended + 1);
  }
  void round_ends(std::size_t /*flight*/, int /*round*/) override { ++rounds; }
  void segment_ends(std::size_t /*flight*/) override { ++ended; }

  std::size_t begun = 0;
  std::size_t ended = 0;
  int rounds = 0;
};

}  // namespace stretto::test
