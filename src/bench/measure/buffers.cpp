// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace stretto::bench {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t guard_bytes = 64;
constexpr auto guard = std::byte{0xA5};

}  // namespace

Buffers::Extent::Extent(std::size_t data_bytes)
    : bytes(data_bytes), stride((data_bytes + guard_bytes + alignment - 1) / alignment * alignment) {}

bool Buffers::Extent::guard_intact(const std::byte* buffer) const noexcept {
  return std::all_of(buffer + bytes, buffer + stride, [](std::byte value) { return value == guard; });
}

void Buffers::Extent::renew_guard(std::byte* buffer) const noexcept {
  std::fill(buffer + bytes, buffer + stride, guard);
}

Buffers::Buffers(std::size_t message_bytes, std::size_t input_bytes, std::size_t output_bytes,
                 std::size_t most_pairs, std::size_t budget)
    : input_(input_bytes),
      output_(output_bytes),
      pairs_(std::clamp<std::size_t>(budget / (2 * Extent(message_bytes).stride), 1, most_pairs)) {
  const std::size_t bytes = pairs_ * (input_.stride + output_.stride);
  memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{alignment})));
  // Writing all of the memory also makes the system map the pages now, not in a timed call.
  std::memset(memory_.get(), std::to_integer<int>(guard), bytes);
}

void Buffers::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete[](memory, std::align_val_t{alignment});
}

bool Buffers::guards_intact(std::size_t pair) noexcept {
  return input_.guard_intact(input(pair)) && output_.guard_intact(output(pair));
}

void Buffers::renew_guards(std::size_t pair) noexcept {
  input_.renew_guard(input(pair));
  output_.renew_guard(output(pair));
}

}  // namespace stretto::bench
