// SPDX-License-Identifier: Apache-2.0
// What the auditor (src/audit) tells libstretto.so, before anything is bound.
#pragma once

namespace stretto {

enum class Audit : unsigned char {
  none,    // there is no auditor
  no_mpi,  // the process has loaded no MPI library so far
  has_mpi,
};

}  // namespace stretto

/// The linker finds it by its name.
extern "C" __attribute__((visibility("default"))) volatile stretto::Audit stretto_front_audit;
