// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace stretto {

/// The variables in which MPI launchers tell a process its rank; the first that is set counts.
inline constexpr std::array rank_variables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                              "SLURM_PROCID"};

}  // namespace stretto
