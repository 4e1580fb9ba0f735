// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace stretto {

/// What a launcher starts.
enum class Starts { mpi_programs, torch_programs, any_program };

/// The variables by which a launcher tells a process its rank and the number of ranks.
struct RankVariables {
  const char* rank;
  const char* ranks;  // nullptr if there is none
  Starts starts;
  const char* launcher;
};

/// The first that is set counts: launchers start each other, the last ones below. PyTorch's own launcher is
/// often started by srun. `stretto.launch.environment` has the same list for Python; a test compares them.
inline constexpr std::array rank_variables = {
    RankVariables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", Starts::mpi_programs,
                  "Open MPI's launcher"},
    RankVariables{"PMIX_RANK", nullptr, Starts::mpi_programs, "a launcher with PMIx"},
    RankVariables{"PMI_RANK", "PMI_SIZE", Starts::mpi_programs,
                  "the launcher (of MPICH or Intel MPI, or srun --mpi=pmi2)"},
    RankVariables{"RANK", "WORLD_SIZE", Starts::torch_programs, "torchrun"},
    RankVariables{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", Starts::any_program, "srun"},
};

/// Whether this process is rank 0 according to its launcher, or has no launcher. All ranks would print the
/// same lines. `value_of` returns the value of a variable, or nullptr.
template <class Look>
constexpr bool may_be_rank_0(const Look& value_of) {
  for (const RankVariables& one : rank_variables) {
    if (const char* rank = value_of(one.rank)) return rank[0] == '0' && rank[1] == '\0';
  }
  return true;
}

/// Whether a launcher of MPI programs, or of any programs if `any`, started this process or one above it.
template <class Look>
constexpr bool has_launcher(const Look& value_of, bool any) {
  for (const RankVariables& one : rank_variables) {
    const bool counts = one.starts == Starts::mpi_programs || (any && one.starts == Starts::any_program);
    if (counts && value_of(one.rank) != nullptr) return true;
  }
  return false;
}

}  // namespace stretto
