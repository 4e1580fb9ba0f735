// SPDX-License-Identifier: Apache-2.0
#include "buffers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace stretto::bench {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t guard_bytes = 64;
constexpr auto guard = std::byte{0xA5};
constexpr std::size_t budget = std::size_t{64} << 20U;  // bytes of all buffers, unless one pair needs more
constexpr std::size_t most_pairs = 1024;

}  // namespace

Buffers::Buffers(std::size_t message_bytes)
    : message_bytes_(message_bytes),
      stride_((message_bytes + guard_bytes + alignment - 1) / alignment * alignment),
      pairs_(std::clamp<std::size_t>(budget / (2 * stride_), 1, most_pairs)),
      memory_(static_cast<std::byte*>(::operator new[](2 * pairs_ * stride_, std::align_val_t{alignment}))) {
  // Writing it all also makes the system give the pages now, not in a timed call.
  std::memset(memory_.get(), std::to_integer<int>(guard), 2 * pairs_ * stride_);
}

void Buffers::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete[](memory, std::align_val_t{alignment});
}

bool Buffers::guards_intact(std::size_t pair) noexcept {
  const auto intact = [this](const std::byte* buffer) {
    return std::all_of(buffer + message_bytes_, buffer + stride_,
                       [](std::byte value) { return value == guard; });
  };
  return intact(input(pair)) && intact(output(pair));
}

}  // namespace stretto::bench
