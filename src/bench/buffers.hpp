// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace stretto::bench {

/// Several pairs of an input and an output of one message size, used in turn: a buffer that is used again and
/// again stays in a cache as no program's would. Each buffer is followed by guard bytes that nobody may
/// write.
class Buffers {
 public:
  explicit Buffers(std::size_t message_bytes);

  std::size_t pairs() const noexcept { return pairs_; }
  std::byte* input(std::size_t pair) noexcept { return memory_.get() + 2 * pair * stride_; }
  std::byte* output(std::size_t pair) noexcept { return input(pair) + stride_; }
  bool guards_intact(std::size_t pair) noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };

  std::size_t message_bytes_;
  std::size_t stride_;
  std::size_t pairs_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace stretto::bench
