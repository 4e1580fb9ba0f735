// SPDX-License-Identifier: Apache-2.0
// Calls of every collective, with what must come out. The includer defines STRETTO_CHECK(condition).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/data/call.hpp"

namespace stretto::test {

constexpr std::size_t sentinels = 9;
constexpr std::uint32_t sentinel = 0xDEADBEEF;

/// (a, b) stands for x → a·x + b modulo a prime. Composing such maps does not commute.
struct Affine {
  std::uint32_t a, b;
};
constexpr std::uint64_t prime = 65521;

inline Affine compose(Affine f, Affine g) {
  return {static_cast<std::uint32_t>(std::uint64_t{f.a} * g.a % prime),
          static_cast<std::uint32_t>((std::uint64_t{f.a} * g.b + f.b) % prime)};
}

/// A rank's input. Maps x → x + b commute among themselves.
inline Affine affine_input(int rank, std::size_t i, bool commuting) {
  const auto a = commuting ? 1U : static_cast<std::uint32_t>(rank * 7 + static_cast<int>(i % 11) + 2);
  return {a, static_cast<std::uint32_t>(rank + static_cast<int>(i % 13))};
}

inline bool same(Affine left, Affine right) {
  return left.a == right.a && left.b == right.b;
}

/// One call of a collective: which rank holds which elements, and what they must be at the end.
class Case {
 public:
  Case(const Recipe& recipe, int ranks, int rank, int root, std::size_t count, bool in_place, bool commuting)
      : collective_(recipe.algorithm->collective),
        ranks_(ranks),
        rank_(rank),
        root_(root),
        in_place_(in_place && collective_ != Collective::bcast &&
                  (collective_ != Collective::reduce || rank == root)),
        commuting_(commuting),
        borders_(make_borders(count)),
        count_(has_block_of_each_rank(collective_) ? borders_.back() : count) {
    const Range all{0, count_};
    const Range own{borders_[static_cast<std::size_t>(rank)],
                    borders_[static_cast<std::size_t>(rank) + 1] - borders_[static_cast<std::size_t>(rank)]};
    input_holds_ = collective_ == Collective::allgather && !in_place_ ? own : all;
    output_holds_ = collective_ == Collective::reduce_scatter ? own : all;
    if (collective_ == Collective::reduce && rank != root) output_holds_ = {};
    if (collective_ == Collective::exscan && rank == 0) output_holds_ = {};
    memory_of_output_ = in_place_ ? std::max(input_holds_.count, output_holds_.count) : output_holds_.count;
    input_ = guarded(input_holds_.count);
    output_ = guarded(memory_of_output_);
    fill(own);
  }

  /// Returns the call. The case keeps its memory.
  Call call(const Element& element) {
    const bool in_place = in_place_ || collective_ == Collective::bcast;
    Call call{.input = in_place ? data(output_) : data(input_),
              .output = data(output_),
              .element = element,
              .count = count_,
              .input_holds = input_holds_,
              .output_holds = output_holds_,
              .in_place = in_place,
              .root = root_};
    if (has_block_of_each_rank(collective_)) call.borders = borders_;
    before_ = input_;
    return call;
  }
  std::vector<Affine>& input() { return input_; }
  std::vector<Affine>& output() { return output_; }

  /// To be called when the call has ended.
  void check() {
    STRETTO_CHECK(std::memcmp(before_.data(), input_.data(), before_.size() * sizeof(Affine)) == 0);
    check_guards();
    for (std::size_t i = 0; i < output_holds_.count; ++i) {
      STRETTO_CHECK(same(data(output_)[i], expected(output_holds_.first + i)));
    }
  }

 private:
  /// Returns the borders of blocks: unequal ones for reduce_scatter, some of them empty; equal for allgather.
  [[nodiscard]] std::vector<std::size_t> make_borders(std::size_t count) const {
    std::vector<std::size_t> borders{0};
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::size_t even = count / static_cast<std::size_t>(ranks_);
      const auto more = static_cast<std::size_t>(rank % 3);
      borders.push_back(borders.back() +
                        (collective_ == Collective::reduce_scatter ? even * more + more : even + 1));
    }
    return borders;
  }

  static std::vector<Affine> guarded(std::size_t count) {
    return std::vector<Affine>(count + 2 * sentinels, Affine{sentinel, sentinel});
  }
  static Affine* data(std::vector<Affine>& buffer) { return buffer.data() + sentinels; }

  void fill(const Range& own) {
    if (collective_ == Collective::bcast) {
      if (rank_ != root_) return;
      for (std::size_t i = 0; i < count_; ++i) data(output_)[i] = affine_input(root_, i, commuting_);
      return;
    }
    std::vector<Affine>& target = in_place_ ? output_ : input_;
    const Range filled = collective_ == Collective::allgather ? own : input_holds_;
    const std::size_t shift = in_place_ ? 0 : input_holds_.first;
    for (std::size_t i = 0; i < filled.count; ++i) {
      data(target)[filled.first + i - shift] = affine_input(rank_, filled.first + i, commuting_);
    }
  }

  [[nodiscard]] Affine expected(std::size_t i) const {
    if (collective_ == Collective::bcast) return affine_input(root_, i, commuting_);
    if (collective_ == Collective::allgather) {
      int owner = 0;
      while (borders_[static_cast<std::size_t>(owner) + 1] <= i) ++owner;
      return affine_input(owner, i, commuting_);
    }
    const int end = collective_ == Collective::scan     ? rank_ + 1
                    : collective_ == Collective::exscan ? rank_
                                                        : ranks_;
    Affine all = affine_input(0, i, commuting_);
    for (int rank = 1; rank < end; ++rank) all = compose(all, affine_input(rank, i, commuting_));
    return all;
  }

  void check_guards() const {
    for (std::size_t i = 0; i < sentinels; ++i) {
      STRETTO_CHECK(output_[i].a == sentinel && output_[sentinels + memory_of_output_ + i].a == sentinel);
    }
  }

  Collective collective_;
  int ranks_;
  int rank_;
  int root_;
  bool in_place_;
  bool commuting_;
  std::vector<std::size_t> borders_;
  std::size_t count_;
  Range input_holds_;
  Range output_holds_;
  std::size_t memory_of_output_ = 0;
  std::vector<Affine> input_;
  std::vector<Affine> output_;
  std::vector<Affine> before_;
};

/// One call of a collective that moves a block for each rank, from a root, to a root or from all to all. If
/// only the sender and the receiver know the length of a block, blocks have any lengths, and some are empty.
class MovingCase {
 public:
  MovingCase(const Recipe& recipe, int ranks, int rank, int root, std::size_t count, bool in_place)
      : collective_(recipe.algorithm->collective),
        ranks_(ranks),
        rank_(rank),
        root_(root),
        count_(count),
        in_place_(in_place && !is_alltoall(collective_) && rank == root),
        input_borders_(borders(true)),
        output_borders_(borders(false)) {}

  static bool covers(Collective collective) {
    return is_alltoall(collective) || is_gather(collective) || is_scatter(collective);
  }

  /// Returns the call. The case keeps its memory.
  Call call(const Element& element) {
    const auto own = static_cast<std::size_t>(rank_);
    const bool is_root = rank_ == root_;
    const Range own_input{input_borders_[own], input_borders_[own + 1] - input_borders_[own]};
    const Range own_output{output_borders_[own], output_borders_[own + 1] - output_borders_[own]};
    Range input_holds{0, input_borders_.back()};
    Range output_holds{0, output_borders_.back()};
    if (is_gather(collective_)) {
      input_holds = own_input;
      if (!is_root) output_holds = {};
    }
    if (is_scatter(collective_)) {
      output_holds = own_output;
      if (!is_root) input_holds = {};
    }
    // In place, the root's own block is already in the other buffer, where it stays.
    if (in_place_) input_holds = output_holds = {0, std::max(input_borders_.back(), output_borders_.back())};
    input_.assign(input_holds.count + 2 * sentinels, Affine{sentinel, sentinel});
    output_.assign(output_holds.count + 2 * sentinels, Affine{sentinel, sentinel});
    std::vector<Affine>& source = in_place_ ? output_ : input_;
    for (int to = 0; to < ranks_; ++to) {
      const auto i = static_cast<std::size_t>(to);
      if (is_gather(collective_) ? to != rank_ : (is_scatter(collective_) && !is_root)) continue;
      const auto& at = is_gather(collective_) && in_place_ ? output_borders_ : input_borders_;
      for (std::size_t k = at[i]; k < at[i + 1]; ++k) {
        source[sentinels + k - input_holds.first] =
            value(rank_, is_gather(collective_) ? root_ : to, k - at[i]);
      }
    }
    Call call{.input = source.data() + sentinels,
              .output = output_.data() + sentinels,
              .element = element,
              .count = has_private_lengths(collective_) ? 0 : input_borders_.back(),
              .input_holds = input_holds,
              .output_holds = output_holds,
              .in_place = in_place_,
              .borders = input_borders_,
              .root = root_};
    if (has_private_lengths(collective_)) call.output_borders = output_borders_;
    before_ = input_;
    first_of_output_ = output_holds.first;
    return call;
  }
  std::vector<Affine>& input() { return input_; }
  std::vector<Affine>& output() { return output_; }

  /// To be called when the call has ended.
  void check() {
    STRETTO_CHECK(std::memcmp(before_.data(), input_.data(), before_.size() * sizeof(Affine)) == 0);
    for (std::size_t i = 0; i < sentinels; ++i) {
      STRETTO_CHECK(output_[i].a == sentinel && output_[output_.size() - 1 - i].a == sentinel);
    }
    if (is_gather(collective_) && rank_ != root_) return;
    for (int from = 0; from < ranks_; ++from) {
      if (is_scatter(collective_) && from != rank_) continue;
      const auto i = static_cast<std::size_t>(from);
      const int source_rank = is_scatter(collective_) ? root_ : from;
      for (std::size_t k = output_borders_[i]; k < output_borders_[i + 1]; ++k) {
        STRETTO_CHECK(same(output_[sentinels + k - first_of_output_],
                           value(source_rank, rank_, k - output_borders_[i])));
      }
    }
  }

 private:
  /// Returns the length of block number `block` in the input or the output of this rank.
  [[nodiscard]] std::size_t length(bool of_input, int block) const {
    const std::size_t even = count_ / static_cast<std::size_t>(ranks_) + 1;
    if (!has_private_lengths(collective_)) return even;
    int from = of_input ? rank_ : block;
    int to = of_input ? block : rank_;
    if (is_gather(collective_)) {
      // Only the root knows the lengths of other ranks' blocks.
      if (rank_ != root_ && block != rank_) return 0;
      from = block;
      to = root_;
    }
    if (is_scatter(collective_)) {
      if (rank_ != root_ && block != rank_) return 0;
      from = root_;
      to = block;
    }
    return even * static_cast<std::size_t>((from + 2 * to) % 3) + static_cast<std::size_t>(from * to % 2);
  }

  [[nodiscard]] std::vector<std::size_t> borders(bool of_input) const {
    std::vector<std::size_t> borders{0};
    for (int block = 0; block < ranks_; ++block) borders.push_back(borders.back() + length(of_input, block));
    return borders;
  }

  static Affine value(int from, int to, std::size_t i) {
    return {static_cast<std::uint32_t>(from * 1000 + to), static_cast<std::uint32_t>(i)};
  }

  Collective collective_;
  int ranks_;
  int rank_;
  int root_;
  std::size_t count_;
  bool in_place_;
  std::vector<std::size_t> input_borders_;
  std::vector<std::size_t> output_borders_;
  std::vector<Affine> input_;
  std::vector<Affine> output_;
  std::vector<Affine> before_;
  std::size_t first_of_output_ = 0;
};

}  // namespace stretto::test
