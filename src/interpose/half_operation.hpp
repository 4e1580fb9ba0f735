// SPDX-License-Identifier: Apache-2.0
// MPI knows no float16, so Horovod brings one along: a type of two bytes, and an operation of its own that
// adds two elements in a loop. All libraries take their slowest way for such, and that loop is slow, too.
#pragma once

#include "engine/element.hpp"

namespace stretto {

/// The same element, by a SIMD kernel if its operation proves to be a sum of float16: if it gives what that
/// kernel gives, to the bit, on a fixed set of probes. Two bytes alone may as well be bfloat16. For what is
/// done with elements, never for a choice, which must not hang on what a function of the program does.
Element with_half_kernel(const Element& element);

/// Its handle may be another operation's from now on.
void forget_half_operation(MPI_Op op);

}  // namespace stretto
