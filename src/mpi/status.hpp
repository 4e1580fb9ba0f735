// SPDX-License-Identifier: Apache-2.0
// Statuses, whose layout depends on the interface, and the texts of errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "mpi/mpi.hpp"

namespace stretto {

namespace status_field {
inline int* at(MPI_Status* status, std::size_t place) {
  return reinterpret_cast<int*>(reinterpret_cast<std::byte*>(status) + place);
}
inline int at(const MPI_Status* status, std::size_t place) {
  return *reinterpret_cast<const int*>(reinterpret_cast<const std::byte*>(status) + place);
}
}  // namespace status_field

inline int source_of(const MPI_Status* status) {
  return status_field::at(status, mpi.source_in_status);
}
inline int error_of(const MPI_Status* status) {
  return status_field::at(status, mpi.error_in_status);
}
inline void set_error(MPI_Status* status, int error) {
  *status_field::at(status, mpi.error_in_status) = error;
}
inline void copy_status(MPI_Status* to, const MPI_Status* from) {
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), mpi.status_bytes);
}

/// Returns an element of an array of the program or the library.
inline MPI_Status* status_at(MPI_Status* statuses, std::size_t index) {
  return reinterpret_cast<MPI_Status*>(reinterpret_cast<std::byte*>(statuses) + index * mpi.status_bytes);
}

/// A status of Stretto's, in any interface.
class OwnStatus {
 public:
  static constexpr std::size_t most_bytes = 64;
  operator MPI_Status*() { return reinterpret_cast<MPI_Status*>(block_.data()); }
  operator const MPI_Status*() const { return reinterpret_cast<const MPI_Status*>(block_.data()); }

 private:
  alignas(std::max_align_t) std::array<std::byte, most_bytes> block_{};
};

/// An array of Stretto's statuses, as a library takes it.
class OwnStatuses {
 public:
  OwnStatuses() = default;
  explicit OwnStatuses(std::size_t count) { resize(count); }
  void resize(std::size_t count) { blocks_.resize(count * mpi.status_bytes); }
  [[nodiscard]] MPI_Status* data() { return reinterpret_cast<MPI_Status*>(blocks_.data()); }
  [[nodiscard]] MPI_Status* operator[](std::size_t index) { return status_at(data(), index); }

 private:
  std::vector<std::byte> blocks_;  // operator new aligns them for any type
};

/// Returns MPI's text of an error code, without what follows its first line.
inline std::string text_of_error(int error) {
  MpiText text{};
  int length = 0;
  mpi.Error_string(error, text.data(), &length);
  const std::string line(text.data());
  return line.substr(0, line.find('\n'));
}

}  // namespace stretto
