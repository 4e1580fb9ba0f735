// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "interpose/start/start_exchange.hpp"

namespace stretto {

/// Returns a number that is the same on all ranks of a job, and differs from that of any other job at the
/// time.
std::uint64_t job_number(const std::vector<RankFacts>& of_rank);

/// Opens the file of this rank's memory, for the facts that it tells the others. If that fails, it says so in
/// share_memory().
void open_shared_memory(RankFacts& own);

/// Makes the memory of this rank and maps that of the others on its node. Collective over MPI_COMM_WORLD. If
/// it fails on one rank, all of its node go without, one line says why, and MPI carries their messages.
void share_memory(const std::vector<RankFacts>& of_rank);

}  // namespace stretto
