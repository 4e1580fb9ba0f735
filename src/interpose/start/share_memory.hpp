// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "interpose/start/start_exchange.hpp"

namespace stretto {

/// Returns a number that is the same on all ranks of a job, and differs from that of any other job at the
/// time.
std::uint64_t job_number(const std::vector<RankFacts>& of_rank);

/// Opens the file of this rank's memory, and adds it to the facts for the other ranks. If that fails,
/// share_memory() reports it.
void open_shared_memory(RankFacts& own);

/// Makes the memory of this rank, and maps that of the other ranks on its node. Collective over
/// MPI_COMM_WORLD. If it fails on one rank, all ranks of that node go without shared memory. One line says
/// why, and MPI carries their messages.
void share_memory(const std::vector<RankFacts>& of_rank);

}  // namespace stretto
