// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/places.hpp"

namespace stretto {

/// MPI_Count in all interfaces.
using RawCount = std::int64_t;

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

/// The program's array of datatypes.
struct RawDatatypes {
  MPI_Datatype operator[](std::ptrdiff_t index) const {
    return Place<MPI_Datatype>::of_program(raw)[static_cast<std::size_t>(index)];
  }
  friend bool operator==(const RawDatatypes&, const RawDatatypes&) = default;
  friend bool operator==(const RawDatatypes& one, std::nullptr_t) { return one.raw == nullptr; }

  const void* raw = nullptr;
};

}  // namespace stretto
