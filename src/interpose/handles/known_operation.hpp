// SPDX-License-Identifier: Apache-2.0
// MPI has no float16 and no bfloat16. Programs bring a datatype of two bytes and an operation of their own
// that reduces elements in a loop. MPI libraries use their slowest algorithms for such operations, and the
// loop is slow too. If Stretto knows what an operation does, a SIMD kernel does it instead. Stretto knows its
// own operations (include/stretto/group.h) and those that the program registers (stretto_know_operation). It
// knows a few others that are in wide use by the function's name and module. Stretto never calls a function
// of the program to find out what it does: the function may count its calls, look up values, or be replaced
// later.
#pragma once

#include <string_view>

#include "engine/data/element.hpp"

namespace stretto {

/// Returns the kernel for "float16" or "bfloat16" and "sum", "product", "min" or "max"; nullptr for other
/// names.
kernels::Function find_short_kernel(std::string_view type, std::string_view operation);

/// Registers that the kernel does what the operation does on elements of this datatype, two bytes each.
void know_operation(MPI_Op op, MPI_Datatype datatype, kernels::Function kernel);

/// To be called when the program has made an operation of this function.
void note_operation(MPI_Op op, const void* function);

/// Returns the same element, with a SIMD kernel if its operation is known. The result is only for computing:
/// the choice of an algorithm must not depend on what one rank knows.
Element with_known_kernel(const Element& element);

/// To be called when a handle is freed, since another object may get the same one.
void forget_operation(MPI_Op op);
void forget_datatype(MPI_Datatype datatype);

}  // namespace stretto
