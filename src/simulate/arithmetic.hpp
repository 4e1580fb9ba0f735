// SPDX-License-Identifier: Apache-2.0
// Reductions that take virtual time: our engine's and the library's alike, so that it is seen what of them
// overlaps with transfers.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "kernels/reduce.hpp"

namespace stretto::simulate {

/// How reductions are carried out from now on, on all ranks (they live in one process).
struct Arithmetic {
  double seconds_per_byte = 0;  // of an operand
  std::size_t element_size = 1;
  kernels::Function sum = nullptr;  // nullptr: time passes, but nothing is computed
};
void set_arithmetic(const Arithmetic& arithmetic);

/// Takes the time, and sums unless nothing is to be computed.
void sum(void* into, const void* left, const void* right, std::size_t count);

/// The same as an operation of the program, for the library's own algorithms.
MPI_Op make_sum_operation();

/// Of an element type of the benchmark: float, double or int32.
kernels::Type kernel_type(const std::string& name);

}  // namespace stretto::simulate
