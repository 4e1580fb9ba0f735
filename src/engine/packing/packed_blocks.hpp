// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/data/buffer_pool.hpp"
#include "engine/packing/packing.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// A block of the program: elements somewhere in its memory.
struct UserBlock {
  void* users = nullptr;
  std::size_t count = 0;
  MPI_Datatype datatype{};
};

/// Finds the bytes of an element of each block's type. Mostly all blocks have one type, so the latest result
/// is kept.
class ElementBytes {
 public:
  /// Returns nothing if the type is unknown.
  std::optional<std::size_t> of(MPI_Datatype datatype) {
    if (!bytes_ || datatype != latest_) bytes_ = signature_bytes(datatype);
    latest_ = datatype;
    return bytes_;
  }

 private:
  MPI_Datatype latest_{};
  std::optional<std::size_t> bytes_;
};

/// The blocks of the program for all ranks, or from them, as one run of bytes. This is the program's own
/// memory if the blocks lie there in that form, otherwise a buffer.
class PackedBlocks {
 public:
  using Where = PackedElements::Where;

  /// Throws std::bad_alloc.
  PackedBlocks(std::span<const UserBlock> blocks, MPI_Comm comm, Where where = Where::users_if_possible);

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Returns the beginning of each block, and the end, in bytes.
  [[nodiscard]] const std::vector<std::size_t>& borders() const { return borders_; }
  [[nodiscard]] std::size_t bytes() const { return borders_.back(); }

  /// Copy from the program's memory and to it. Both return an MPI error code, and do nothing if nothing is
  /// packed.
  int pack();
  int pack(std::size_t block) { return pieces_.empty() ? MPI_SUCCESS : pieces_[block].pack_all(); }
  int unpack();

  /// A transfer that failed may still write to the packed form.
  void abandon() { packed_.abandon(); }

 private:
  std::vector<std::size_t> borders_;
  std::vector<PackedElements> pieces_;  // empty: the blocks are in the program's memory
  PooledBuffer packed_;
  std::byte* data_ = nullptr;
};

}  // namespace stretto
