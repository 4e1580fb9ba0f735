// SPDX-License-Identifier: Apache-2.0
// Reductions that take virtual time, both in our engine and in the MPI library. So a simulation shows which
// of them overlap with transfers.
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

/// Lets the time pass, and computes the sum unless data are switched off.
void sum(void* into, const void* left, const void* right, std::size_t count);

/// Returns an MPI operation that does the same, for the algorithms of the MPI library.
MPI_Op make_sum_operation();

/// Returns the kernels' type for an element type of the benchmark: float, double or int32.
kernels::Type kernel_type(const std::string& name);

}  // namespace stretto::simulate
