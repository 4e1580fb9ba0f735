// SPDX-License-Identifier: Apache-2.0
// Reductions that take virtual time, those of our engine as well as the library's: so a simulation shows
// which of them overlap with transfers.
#pragma once

#include "mpi/mpi.hpp"

#include <cstddef>
#include <string>

#include "kernels/reduce.hpp"

namespace stretto::simulate {

/// How reductions work from now on, on all ranks (they share one process).
struct Arithmetic {
  double seconds_per_byte = 0;  // of an operand
  std::size_t element_size = 1;
  kernels::Function sum = nullptr;  // nullptr: time passes, but nothing is computed
};
void set_arithmetic(const Arithmetic& arithmetic);

/// Takes the time, and computes the sum unless data are switched off.
void sum(void* into, const void* left, const void* right, std::size_t count);

/// The same as an MPI operation, for the algorithms of the library.
MPI_Op make_sum_operation();

/// For an element type of the benchmark: float, double or int32.
kernels::Type kernel_type(const std::string& name);

}  // namespace stretto::simulate
