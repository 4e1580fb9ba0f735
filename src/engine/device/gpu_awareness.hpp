// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace stretto {

/// Whether the MPI library of this process accepts addresses in device memory, according to itself
/// (MPIX_Query_cuda_support of Open MPI, MPICH and libraries made from them, MPIX_GPU_query_support of Cray
/// MPICH, and the kinds of memory of MPI 4.1). A library that says nothing counts as one that accepts them:
/// it gets what the program gives it. Ranks may differ in this.
bool library_is_gpu_aware();

/// Sets the user's answer (STRETTO_GPU_AWARE), which overrides that of the library; nothing means the
/// library's. To be called before the first library_is_gpu_aware().
void set_library_is_gpu_aware(std::optional<bool> is_aware);

}  // namespace stretto
