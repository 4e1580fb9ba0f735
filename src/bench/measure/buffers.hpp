// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace stretto::bench {

/// Several pairs of an input and an output buffer, used in turn: a single buffer that is used again and again
/// would stay in a cache, unlike a program's. Each buffer is followed by guard bytes that must not be
/// written.
class Buffers {
 public:
  /// Makes as many pairs as would fit into `budget` bytes if both buffers were whole messages, and at least
  /// one pair. Ranks must make the same number of calls, whatever the size of their own buffers.
  Buffers(std::size_t message_bytes, std::size_t input_bytes, std::size_t output_bytes,
          std::size_t most_pairs, std::size_t budget);

  std::size_t pairs() const noexcept { return pairs_; }
  std::byte* input(std::size_t pair) noexcept {
    return memory_.get() + pair * (input_.stride + output_.stride);
  }
  std::byte* output(std::size_t pair) noexcept { return input(pair) + input_.stride; }
  bool guards_intact(std::size_t pair) noexcept;
  /// Prepares the guards, so that an error of one spec is not blamed on the next.
  void renew_guards(std::size_t pair) noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };

  struct Extent {
    explicit Extent(std::size_t data_bytes);
    bool guard_intact(const std::byte* buffer) const noexcept;
    void renew_guard(std::byte* buffer) const noexcept;

    std::size_t bytes;
    std::size_t stride;  // with the guard, to the next buffer
  };

  Extent input_;
  Extent output_;
  std::size_t pairs_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace stretto::bench
