// SPDX-License-Identifier: Apache-2.0
// Buffers of one call that share memory, without MPI_IN_PLACE: an error of the program, which some libraries
// report and others bear. Only some ranks may see it. So it never decides who carries a call out; it is
// looked at when that is decided. Where the library reports it, the call fails on this rank, and ends on the
// others. Where the library bears it, Stretto takes a copy of the input first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/packing/packed_blocks.hpp"
#include "interpose/operations/call_buffers.hpp"
#include "select/rule.hpp"

namespace stretto {

enum class Aliasing : std::uint8_t { none, borne, reported };

/// Of a reduction, whose buffers have elements of one type.
Aliasing aliasing_of_reduction(Collective collective, const UserBlock& input, const UserBlock& output);

/// Of a call that moves blocks: `own` is a block that this rank sends or receives, and `same` the block among
/// `others` that is equal to it. Types with gaps may interleave, so only predefined ones are looked at.
Aliasing aliasing_of_blocks(const UserBlock& own, const UserBlock& same, std::span<const UserBlock> others);

/// Of an alltoallv or alltoallw, with the same counts and types on both sides or not.
Aliasing aliasing_of_exchange(const void* sendbuf, const void* recvbuf, bool has_same_blocks);

/// Whether buffers of so many bytes share none.
inline bool lie_apart(const void* one, const void* other, std::size_t bytes) {
  const std::uintptr_t ahead =
      reinterpret_cast<std::uintptr_t>(one) - reinterpret_cast<std::uintptr_t>(other);
  return ahead >= bytes && -ahead >= bytes;
}

/// Makes a call fail on this rank as the library lets it fail, if that reports what is aliased.
void refuse_if_reported(CallBuffers& message, Collective collective, Aliasing aliasing);

/// Where a message keeps what it reads of the program's memory.
inline PackedElements::Where place_of_input(Aliasing aliasing) {
  return aliasing == Aliasing::none ? PackedElements::Where::users_if_possible : PackedElements::Where::own;
}

}  // namespace stretto
