// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/mpi.hpp"

namespace stretto {

/// A handle as it is in a register: an int in MPICH's interface, a pointer in the others. If Stretto was
/// preloaded for the wrong interface, it passes handles on unread and does not harm the program.
using RawHandle = std::uintptr_t;

/// MPI_Count in all interfaces.
using RawCount = std::int64_t;

/// Converts a register to a handle as MPI's header declares it, and back.
template <typename Handle>
Handle from_raw(RawHandle raw) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(raw);
  } else {
    return static_cast<Handle>(raw);
  }
}

template <typename Handle>
RawHandle to_raw(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<RawHandle>(handle);
  } else {
    return static_cast<RawHandle>(static_cast<unsigned>(handle));
  }
}

enum class HandleKind : std::uint8_t { comm, datatype, op };

/// A raw handle whose kind is known. As an argument it is passed where a RawHandle would be.
template <typename Handle, HandleKind kind>
struct RawOf {
  RawOf(RawHandle from) : raw(from) {}
  RawOf(Handle handle) : raw(to_raw(handle)) {}
  operator Handle() const { return from_raw<Handle>(raw); }

  RawHandle raw;
};
using RawComm = RawOf<MPI_Comm, HandleKind::comm>;
using RawDatatype = RawOf<MPI_Datatype, HandleKind::datatype>;
using RawOp = RawOf<MPI_Op, HandleKind::op>;

}  // namespace stretto
