// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "mpi/mpi.hpp"

namespace stretto {

/// A datatype whose single element has `bytes` bytes, possibly more than MPI's int can count.
class BytesType {
 public:
  explicit BytesType(std::size_t bytes) {
    constexpr std::size_t piece = std::size_t{1} << 30;
    MPI_Datatype pieces{};
    mpi.Type_contiguous(static_cast<int>(piece), mpi.byte, &pieces);
    const std::array counts{static_cast<int>(bytes / piece), static_cast<int>(bytes % piece)};
    const std::array places{MPI_Aint{0}, static_cast<MPI_Aint>(bytes / piece * piece)};
    const std::array types{pieces, MPI_Datatype{mpi.byte}};
    mpi.Type_create_struct(2, counts.data(), places.data(), types.data(), &handle_);
    mpi.Type_commit(&handle_);
    mpi.Type_free(&pieces);
  }
  BytesType(const BytesType&) = delete;
  BytesType& operator=(const BytesType&) = delete;
  ~BytesType() { mpi.Type_free(&handle_); }

  [[nodiscard]] MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_{};
};

}  // namespace stretto
