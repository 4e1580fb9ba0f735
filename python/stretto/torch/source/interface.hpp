// SPDX-License-Identifier: Apache-2.0
// Stretto's interface for frameworks (stretto/group.h), looked up at run time in the loaded shared object.
// The extension is not linked with the object, so a single build supports every MPI library.
#pragma once

#include <stretto/group.h>

#include <string>

namespace stretto_torch {

// clang-format off
#define STRETTO_TORCH_FUNCTIONS(X)                                                                           \
  X(group_interface) X(error) X(begin) X(find_place) X(group_make) X(group_free) X(group_allreduce)          \
  X(group_reduce) X(group_reduce_scatter) X(group_bcast) X(group_allgather) X(group_allgatherv)              \
  X(group_gather) X(group_scatter) X(group_alltoallv) X(group_barrier) X(group_send)                         \
  X(group_recv) X(progress) X(await) X(wake) X(work_test) X(work_wait) X(work_begin_wait) X(work_end_wait)   \
  X(work_error) X(work_source) X(work_describe) X(work_steps) X(work_fail)                                   \
  X(work_free) X(abort) X(set_device_stream) X(knows_device_memory) X(begin_by_store) X(end) X(group_fail)  \
  X(group_shrink)
// clang-format on

struct Interface {
#define STRETTO_TORCH_DECLARE(name) decltype(&::stretto_##name) name = nullptr;
  STRETTO_TORCH_FUNCTIONS(STRETTO_TORCH_DECLARE)
#undef STRETTO_TORCH_DECLARE
};

extern Interface stretto;

/// Looks up all functions in an object of dlopen() or, for nullptr, in the preloaded objects. Returns whether
/// Stretto is there. Throws if its version differs.
bool load_interface(void* object);

/// Throws an error with the text of stretto_error().
[[noreturn]] void throw_error();

}  // namespace stretto_torch
