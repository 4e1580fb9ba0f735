// SPDX-License-Identifier: Apache-2.0
// float16 and bfloat16 as MPI sees them: a datatype of two bytes and operations of Stretto. The engine
// knows their kernels. If the MPI library handles a call, it calls them like operations of a program.
#pragma once

#include "kernels/reduce.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// Make the datatype and the operations, once MPI is initialized, and free them before Stretto finalizes MPI.
void make_short_types();
void free_short_types();

MPI_Datatype short_datatype();

/// `type` must be f16 or bf16; `op` must be sum, prod, min or max.
MPI_Op short_operation(kernels::Type type, kernels::Op op);

bool is_short_operation(MPI_Op op);

}  // namespace stretto
