// SPDX-License-Identifier: Apache-2.0
// MPI knows no float16 and no bfloat16, so programs bring them along: a type of two bytes, and an operation
// of their own that reduces two elements in a loop. All libraries take their slowest way for such, and that
// loop is slow, too. Where it is known what an operation does, a SIMD kernel does it instead: of Stretto's
// own ones (include/stretto/group.h) this is told; of a program's it is found out, if it is Horovod's sum of
// float16.
#pragma once

#include "engine/element.hpp"

namespace stretto {

/// The operation does on elements of this datatype, two bytes each, what the kernel does.
void know_operation(MPI_Op op, MPI_Datatype datatype, kernels::Function kernel);

/// The same element, by a SIMD kernel if its operation is known, or proves to be a sum of float16: if it
/// gives what that kernel gives, to the bit, on a fixed set of probes. Two bytes alone may as well be
/// bfloat16. For what is done with elements, never for a choice, which must not hang on what a function of
/// the program does.
Element with_known_kernel(const Element& element);

/// Its handle may be another one's from now on.
void forget_operation(MPI_Op op);
void forget_datatype(MPI_Datatype datatype);

}  // namespace stretto
