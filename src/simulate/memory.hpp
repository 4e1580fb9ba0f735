// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto::simulate {

/// Whether messages hold data. Without data, time passes as usual, but nothing is moved, computed or
/// checked, and all ranks have the same buffers.
enum class Data : std::uint8_t { real, none };

enum class BufferRole : std::uint8_t { input, output };

/// Messages up to this size may be detached: sent in a copy that SMPI frees on receipt
/// (smpi/send-is-detached-thresh).
constexpr std::size_t longest_detached = std::size_t{64} << 10;

/// Makes SMPI move only short messages for the whole simulation. These are SMPI's own, of groups and
/// barriers; nobody reads the content of longer ones.
void move_no_data();

/// A buffer of a rank.
class Buffer {
 public:
  Buffer(BufferRole place, std::size_t bytes, Data data);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() const { return memory_; }

 private:
  std::byte* memory_;
  Data data_;
};

}  // namespace stretto::simulate
