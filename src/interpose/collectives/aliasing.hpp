// SPDX-License-Identifier: Apache-2.0
// Finds buffers of one call that share memory without MPI_IN_PLACE. That is an error of the program, which
// some MPI libraries report and others tolerate. Perhaps only some ranks see it. So it never decides who
// carries a call out; Stretto looks for it after that decision. If the library reports it, the call fails on
// this rank, and ends on the others. If the library tolerates it, Stretto copies the input first.
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

/// Returns the aliasing of a reduction, whose buffers have elements of one type.
Aliasing aliasing_of_reduction(Collective collective, const UserBlock& input, const UserBlock& output);

/// Returns the aliasing of a call that moves blocks: `own` is a block that this rank sends or receives, and
/// `same` the block among `others` that is equal to it. Types with gaps may interleave, so only predefined
/// types are checked.
Aliasing aliasing_of_blocks(const UserBlock& own, const UserBlock& same, std::span<const UserBlock> others);

/// Returns the aliasing of an alltoallv or alltoallw. `has_same_blocks` says whether both sides have the same
/// counts and types.
Aliasing aliasing_of_exchange(const void* sendbuf, const void* recvbuf, bool has_same_blocks);

/// Whether two buffers of `bytes` bytes do not overlap.
inline bool lie_apart(const void* one, const void* other, std::size_t bytes) {
  const std::uintptr_t ahead =
      reinterpret_cast<std::uintptr_t>(one) - reinterpret_cast<std::uintptr_t>(other);
  return ahead >= bytes && -ahead >= bytes;
}

/// Makes a call fail on this rank with the MPI library's error, if the library reports the aliasing.
void refuse_if_reported(CallBuffers& message, Collective collective, Aliasing aliasing);

/// Returns where a message keeps its input: in the program's memory if possible, or in its own.
inline PackedElements::Where place_of_input(Aliasing aliasing) {
  return aliasing == Aliasing::none ? PackedElements::Where::users_if_possible : PackedElements::Where::own;
}

}  // namespace stretto
