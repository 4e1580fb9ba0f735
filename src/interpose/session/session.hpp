// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "engine/messages/neighbours.hpp"
#include "interpose/session/call_traits.hpp"
#include "interpose/session/thread_level.hpp"
#include "mpi/mpi.hpp"
#include "select/floors.hpp"
#include "select/table.hpp"
#include "settings/settings.hpp"

namespace stretto {

/// A setting that a program has made with stretto_force: calls of at least `least_bytes` take this spec, or
/// the usual choice if there is no spec.
struct Forced {
  std::optional<Spec> spec;
  std::size_t least_bytes = 0;
};

/// The state of Stretto between MPI_Init and MPI_Finalize. It is written before `active` is set, and only
/// read after that, except for what force() changes.
struct Session {
  /// Whether Stretto handles any calls.
  std::atomic<bool> active{false};
  /// Whether it handles MPI calls. In a job without MPI it does not.
  std::atomic<bool> serves_program{false};
  Settings settings;
  /// The first line of the name that the MPI library gives itself.
  std::string library;
  /// The tuning table, if there is one, and its file.
  std::optional<Table> table;
  std::string table_path;
  /// Who handles non-blocking and persistent calls. All ranks have the same value.
  Background background = Background::not_expected;
  /// Whether Stretto handles these calls, so that a helper thread may call MPI.
  bool non_blocking = false;
  int world_rank = 0;
  /// The topology of MPI_COMM_WORLD.
  Topology topology;
  /// Whether there are more ranks than cores on some machine.
  bool some_share_cores = false;
  MPI_Group world_group{};
  /// The memory that this node's ranks share, and the place of each rank's part in it: [rank of
  /// MPI_COMM_WORLD] its place, or Neighbours::none. The list of places is empty if there is no such memory.
  NodeMemory memory;
  std::vector<int> memory_places;
  /// Whether the ranks of every node share memory. All ranks have the same value.
  bool shares_memory = false;
  /// Whether a call inside a node may be carried out as the last such call was, without a look at anything
  /// else.
  bool may_repeat = false;
  /// The length in bytes from which connections carry messages between nodes, at least on some communicators.
  std::optional<std::size_t> connections_from;
  /// Whether the nodes have tried to connect, and do not reach each other.
  bool cannot_connect = false;
  int keyval = 0;
  /// [form] [collective] Calls of fewer bytes go to the MPI library on every communicator.
  std::array<std::array<std::atomic<std::size_t>, collectives.size()>, 3> native_floors{};
  std::array<std::atomic<const Forced*>, collectives.size()> forced_by_program{};

  /// Whether only table, rule and learner decide about blocking calls, unless the program forces a spec.
  std::array<bool, collectives.size()> is_left_to_choice{};

  /// [collective] Whether something is learned from blocking calls (STRETTO_ONLINE).
  std::array<bool, collectives.size()> learns{};
  /// Whether Stretto may learn from calls whose lengths only two ranks know.
  bool races_lengths = false;
  /// The number of races of non-blocking calls (STRETTO_ONLINE) that are measured and not decided, on all
  /// communicators. While there are any, Stretto looks at blocking calls of every length: the ranks may have
  /// to agree in one of them.
  std::atomic<int> due_races{0};

  /// Whether something observes all calls, including those that would go straight to the library.
  [[nodiscard]] bool observes_all_calls() const {
    return !settings.statistics_file.empty() || !settings.trace_folder.empty() || settings.check ||
           settings.watchdog == Watchdog::all_calls || settings.summary == Summary::all;
  }

  /// Whether the calls that Stretto handles are counted.
  [[nodiscard]] bool counts_calls() const {
    return !settings.statistics_file.empty() || settings.summary != Summary::none;
  }

  /// Whether this call is counted. Barriers are not: where every call is counted, the MPI library carries
  /// them out.
  [[nodiscard]] bool counts(const CallTraits& traits) const {
    return counts_calls() && traits.collective != Collective::barrier;
  }

  /// Whether the rule must not leave a call to the MPI library. A job may have no MPI library. With
  /// STRETTO_CHECK, a non-blocking call of the library could not wait for its comparison. Persistent
  /// collectives of MPICH 4.0.2 never complete in MPI_Test, and give wrong results when started again
  /// (MPI_Allgather_init).
  [[nodiscard]] bool must_avoid_library(Form form) const {
    if (!mpi.has_library()) return true;
    if (form == Form::persistent && mpi.is(Interface::mpich)) return non_blocking;
    return settings.check && non_blocking && form != Form::blocking;
  }

  [[nodiscard]] FloorFacts floor_facts() const {
    return {.table = table ? &*table : nullptr,
            .shares_memory = shares_memory,
            .max_ppn = topology.max_ppn,
            .learns = settings.online != Online::off};
  }

  [[nodiscard]] std::size_t native_floor(Collective collective, Form form) const {
    return native_floors[static_cast<std::size_t>(form)][static_cast<std::size_t>(collective)].load(
        std::memory_order_relaxed);
  }

  /// Returns the spec that a call must take, if any: what the program set last, or else what the
  /// settings say.
  [[nodiscard]] const std::optional<Spec>& forced_for(Collective collective, std::size_t bytes) const {
    const Forced* said = program_forced(collective);
    return said != nullptr && bytes >= said->least_bytes ? said->spec : settings.forced_for(collective);
  }

  [[nodiscard]] const Forced* program_forced(Collective collective) const {
    return forced_by_program[static_cast<std::size_t>(collective)].load(std::memory_order_acquire);
  }

  /// To be called on all ranks, between the same two calls of at least `what.least_bytes` bytes.
  void force(Collective collective, Forced what);
};

alignas(Session) extern std::byte memory_of_session[sizeof(Session)];
/// A reference that the compiler sees through. Before make_session(), the memory is zero, so the session is
/// not active.
inline Session& session = reinterpret_cast<Session&>(memory_of_session);
/// To be called when the program begins MPI, which may be before static objects of libraries are made. Does
/// nothing when called again.
void make_session();

/// Ends the job once one of the ranks that call this has written why. Never returns.
[[noreturn]] void end_job(bool has_reported, int status = EXIT_FAILURE);

/// Writes one line to standard error.
void complain(const std::string& line);
/// Returns a text such as "rank 3", with the rank in MPI_COMM_WORLD, for lines that concern this rank alone.
std::string this_rank();

/// Writes a line to standard error on rank 0 of MPI_COMM_WORLD only, and only when the line is new.
void complain_once_on_rank_0(const std::string& line);

}  // namespace stretto
