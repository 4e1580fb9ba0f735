// SPDX-License-Identifier: Apache-2.0
// Common parts of the functions that take a list of requests.
#pragma once

#include <cstddef>

#include "interpose/operations/completion.hpp"
#include "mpi/status.hpp"

namespace stretto {

/// The program's array of statuses, which may be missing.
class Statuses {
 public:
  explicit Statuses(void* statuses) : statuses_(static_cast<MPI_Status*>(statuses)) {}
  void set(std::size_t index, const MPI_Status* status) {
    if (wanted()) copy_status(status_at(statuses_, index), status);
  }
  void set_none(std::size_t index, int error) {
    if (!wanted()) return;
    set_empty(status_at(statuses_, index));
    set_error(status_at(statuses_, index), error);
  }

 private:
  [[nodiscard]] bool wanted() const { return statuses_ != mpi.statuses_ignore; }
  MPI_Status* statuses_;
};

/// Whether nothing of Stretto is involved, or the list is an error that the library reports.
inline bool is_for_library(int count, const void* requests) {
  return is_idle() || count < 0 || (count > 0 && requests == nullptr);
}

/// STRETTO_TAKE_OVER for a function of a list of `count` `requests`. The body only gets calls that are not
/// for the library.
#define STRETTO_TAKE_OVER_LIST(name, parameters, arguments, ...) \
  STRETTO_TAKE_OVER(name, parameters, arguments, {               \
    if (is_for_library(count, requests)) return next arguments;  \
    __VA_ARGS__                                                  \
  })

}  // namespace stretto
