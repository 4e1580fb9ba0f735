// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace stretto {

/// Whether the MPI library of this process takes addresses in device memory, by what it says itself
/// (MPIX_Query_cuda_support of Open MPI, MPICH and libraries made from them, MPIX_GPU_query_support of
/// Cray MPICH, and the kinds of memory of MPI 4.1). A library that says nothing counts as one that does: it
/// gets what the program gives it. Ranks may differ in it.
bool library_is_gpu_aware();

/// To be called before the first question: what the user knows better (STRETTO_GPU_AWARE); nothing: what the
/// library says.
void set_library_is_gpu_aware(std::optional<bool> is_aware);

}  // namespace stretto
