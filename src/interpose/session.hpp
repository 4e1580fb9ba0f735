// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/mpi.hpp"
#include "select/settings.hpp"

namespace stretto {

/// What Stretto knows between MPI_Init and MPI_Finalize. Written before `active` is set, and only read after
/// that.
struct Session {
  /// Whether calls are looked at at all.
  std::atomic<bool> active{false};
  Settings settings;
  int world_rank = 0;
  /// For each rank of MPI_COMM_WORLD the lowest one that shares memory with it.
  std::vector<int> node_label_of_world_rank;
  MPI_Group world_group{};
  int keyval = 0;
  /// An allreduce of fewer bytes is native on every communicator.
  std::size_t allreduce_native_floor = 0;
};

extern Session session;

/// Called when MPI_Init has succeeded. Collective over MPI_COMM_WORLD.
void begin_session();

/// Called before MPI_Finalize: writes statistics and frees what is ours.
void end_session();

/// One line on standard error.
void complain(const std::string& line);

/// The same on rank 0 of MPI_COMM_WORLD only, and only once for each line.
void complain_once_on_rank_0(const std::string& line);

}  // namespace stretto
