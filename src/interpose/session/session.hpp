// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "engine/mpi.hpp"
#include "interpose/session/call_traits.hpp"
#include "interpose/session/thread_level.hpp"
#include "select/settings.hpp"
#include "select/table.hpp"

namespace stretto {

/// What a program has said by stretto_force: from so many bytes on, by this spec, or by the choice.
struct Forced {
  std::optional<Spec> spec;
  std::size_t least_bytes = 0;
};

/// What Stretto knows between MPI_Init and MPI_Finalize. Written before `active` is set, and only read after
/// that, but for what force() changes.
struct Session {
  /// Whether calls are looked at at all.
  std::atomic<bool> active{false};
  Settings settings;
  /// How the MPI library names itself; the first line of it.
  std::string library;
  /// Which way collectives take, if there is a tuning table, and the file that it is from.
  std::optional<Table> table;
  std::string table_path;
  /// Who carries out calls in the background; the same on all ranks.
  Background background = Background::not_expected;
  /// Whether Stretto does, and so a helper thread may call MPI.
  bool non_blocking = false;
  int world_rank = 0;
  /// Of MPI_COMM_WORLD.
  Topology topology;
  MPI_Group world_group{};
  int keyval = 0;
  /// A call of fewer bytes is native on every communicator; by its face.
  std::array<std::array<std::atomic<std::size_t>, collectives.size()>, 3> native_floors{};
  std::array<std::atomic<const Forced*>, collectives.size()> forced_by_program{};

  /// By a blocking call of fewer bytes nothing is learned (STRETTO_ONLINE).
  std::array<std::size_t, collectives.size()> online_floors{};

  /// Whether anybody wants to hear of each call, also of those that would not be looked at.
  [[nodiscard]] bool observes_all_calls() const {
    return !settings.statistics_file.empty() || !settings.trace_folder.empty() || settings.check ||
           settings.watchdog_seconds > 0 || settings.summary == Summary::all;
  }

  /// Whether calls that are looked at are counted.
  [[nodiscard]] bool counts_calls() const {
    return !settings.statistics_file.empty() || settings.summary != Summary::none;
  }

  /// Whether the rule must not leave a call to the library: one that is not blocking could not wait for its
  /// comparison; and MPICH 4.0.2's persistent collectives end in no MPI_Test, and are wrong when started
  /// again (MPI_Allgather_init).
  [[nodiscard]] bool must_avoid_library(Face face) const {
#ifdef STRETTO_ABI_MPICH
    if (face == Face::persistent) return non_blocking;
#endif
    return settings.check && non_blocking && face != Face::blocking;
  }

  /// Below it, neither the table nor the rule says other than `native`, and nothing is learned.
  [[nodiscard]] std::size_t choice_floor(Collective collective, Face face) const;

  [[nodiscard]] std::size_t online_floor(Collective collective) const {
    return online_floors[static_cast<std::size_t>(collective)];
  }

  [[nodiscard]] std::size_t native_floor(Collective collective, Face face) const {
    return native_floors[static_cast<std::size_t>(face)][static_cast<std::size_t>(collective)].load(
        std::memory_order_relaxed);
  }

  /// The spec that a call must take, if any: by what the program said last, or else by the settings.
  [[nodiscard]] const std::optional<Spec>& forced_for(Collective collective, std::size_t bytes) const {
    const Forced* said = program_forced(collective);
    return said != nullptr && bytes >= said->least_bytes ? said->spec : settings.forced_for(collective);
  }

  [[nodiscard]] const Forced* program_forced(Collective collective) const {
    return forced_by_program[static_cast<std::size_t>(collective)].load(std::memory_order_acquire);
  }

  /// To be called on all ranks between the same calls of so many bytes.
  void force(Collective collective, Forced what);
};

extern Session session;

/// Ends the job when one rank, of those that call this, has said why. None returns.
[[noreturn]] void end_job(bool has_reported, int status = EXIT_FAILURE);

/// One line on standard error.
void complain(const std::string& line);

/// The same on rank 0 of MPI_COMM_WORLD only, and only once for each line.
void complain_once_on_rank_0(const std::string& line);

}  // namespace stretto
