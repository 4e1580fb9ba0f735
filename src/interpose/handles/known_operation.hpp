// SPDX-License-Identifier: Apache-2.0
// MPI knows no float16 and no bfloat16, so programs bring them along: a type of two bytes, and an operation
// of their own that reduces two elements in a loop. All libraries take their slowest way for such, and that
// loop is slow, too. Where it is known what an operation does, a SIMD kernel does it instead: of Stretto's
// own ones (include/stretto/group.h) and of those that the program tells of (stretto_know_operation) this is
// told; of a few that are in wide use it is known by the function's name and module. A function of the
// program's is never called to find out: it may keep count, look values up, or be another one later.
#pragma once

#include <string_view>

#include "engine/element.hpp"

namespace stretto {

/// The kernel for "float16" or "bfloat16" by "sum", "product", "min" or "max"; nullptr for other names.
kernels::Function find_short_kernel(std::string_view type, std::string_view operation);

/// The operation does on elements of this datatype, two bytes each, what the kernel does.
void know_operation(MPI_Op op, MPI_Datatype datatype, kernels::Function kernel);

/// The program has made an operation of this function.
void note_operation(MPI_Op op, const void* function);

/// The same element, by a SIMD kernel if its operation is known. For what is done with elements, never for a
/// choice, which must not hang on what one rank knows.
Element with_known_kernel(const Element& element);

/// Its handle may be another one's from now on.
void forget_operation(MPI_Op op);
void forget_datatype(MPI_Datatype datatype);

}  // namespace stretto
