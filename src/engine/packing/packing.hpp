// SPDX-License-Identifier: Apache-2.0
// Broadcast and allgather only move data, and the ranks of one call may describe the same data by different
// datatypes. So their messages are bytes in the order of the type signature. They lie in the program's own
// buffer if they are in that order there, and are packed otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/data/buffer_pool.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// Returns the bytes of data in one element; nothing for a handle that the MPI library must judge.
std::optional<std::size_t> signature_bytes(MPI_Datatype datatype);

/// Whether elements are contiguous in memory, without gaps, in the order of the signature.
bool is_flat(MPI_Datatype datatype);

/// Elements of a datatype in the program's memory, and their bytes as a message.
class PackedElements {
 public:
  enum class Where : std::uint8_t { users_if_possible, own };

  /// Throws std::bad_alloc.
  PackedElements(void* users, std::size_t count, MPI_Datatype datatype, MPI_Comm comm,
                 Where where = Where::users_if_possible);
  /// The packed form is at `place`, even if the elements are flat.
  PackedElements(void* users, std::size_t count, MPI_Datatype datatype, MPI_Comm comm, std::byte* place);

  /// Returns the program's own memory if it is flat and may be used; otherwise a buffer that pack() fills and
  /// unpack() empties.
  [[nodiscard]] std::byte* data() const { return is_packed() ? place_ : static_cast<std::byte*>(users_); }
  [[nodiscard]] std::size_t bytes() const { return count_ * element_bytes_; }
  [[nodiscard]] bool is_packed() const { return place_ != nullptr; }

  /// Copy from the program's memory, `count` elements from `first` on, and to it. Both return an MPI error
  /// code, and do nothing if nothing is packed.
  int pack(std::size_t first, std::size_t count);
  int pack_all() { return pack(0, count_); }
  int unpack();

  /// A transfer that failed may still write to the packed form.
  void abandon() { packed_.abandon(); }

 private:
  [[nodiscard]] std::byte* users_element(std::size_t index) const {
    return static_cast<std::byte*>(users_) + static_cast<std::ptrdiff_t>(index) * extent_;
  }
  [[nodiscard]] std::byte* packed_element(std::size_t index) const { return place_ + index * element_bytes_; }
  /// Calls some(elements, first, count, bytes) for as many elements at once as have a number of bytes that
  /// fits into MPI's int. If one element is too large for that, calls exchange(element, index, type) for each
  /// element, with a type of its bytes. `users`: where the library can access the program's elements.
  template <typename Some, typename Exchange>
  int each_some(std::size_t first, std::size_t count, std::byte* users, Some some, Exchange exchange);

  void* users_;
  std::size_t count_;
  MPI_Datatype datatype_;
  MPI_Comm comm_;
  bool is_flat_;
  std::size_t element_bytes_ = 0;
  std::ptrdiff_t extent_ = 0;
  PooledBuffer packed_;
  std::byte* place_ = nullptr;  // of the packed form; nullptr: there is none
};

}  // namespace stretto
