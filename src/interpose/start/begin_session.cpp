// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/begin_session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "engine/data/element.hpp"
#include "engine/device/gpu_awareness.hpp"
#include "engine/messages/channel.hpp"
#include "engine/messages/library_progress.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/communicators/connect_nodes.hpp"
#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/dispatch/modelled_calls.hpp"
#include "interpose/dispatch/online.hpp"
#include "interpose/handles/held_handles.hpp"
#include "interpose/observe/live.hpp"
#include "interpose/observe/statistics.hpp"
#include "interpose/observe/trace.hpp"
#include "interpose/observe/watchdog.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "interpose/start/find_topology.hpp"
#include "interpose/start/launcher.hpp"
#include "interpose/start/share_memory.hpp"
#include "interpose/start/shared_settings.hpp"
#include "interpose/start/start_exchange.hpp"
#include "interpose/start/unserved.hpp"
#include "sockets/endpoint.hpp"
#include "text/environment.hpp"
#include "threads/backoff.hpp"

namespace stretto {
namespace {

std::string library_version() {
  MpiText text{};
  int length = 0;
  mpi.Get_library_version(text.data(), &length);
  // In Open MPI the length includes a terminating zero, so it is not used.
  const std::string version(text.data());
  return version.substr(0, version.find('\n'));
}

/// Returns the bytes below which calls go straight to the library. It is 0 if every call is counted or
/// another spec than `native` is forced.
std::size_t find_native_floor(const Settings& settings, Collective collective, Form form,
                              const Floors& lowest) {
  if (!mpi.has_library()) return 0;
  if (session.observes_all_calls() || (settings.reproducible && is_reduction(collective))) return 0;
  const std::optional<Spec>& forced = settings.forced_for(collective);
  if (forced) return forced->is_pass_through() ? SIZE_MAX : 0;
  if (session.must_avoid_library(form)) return 0;
  return lowest.choice_of(collective, form);
}

std::string shape_text(int nodes, int min_ppn, int max_ppn) {
  return "nodes=" + std::to_string(nodes) + ",ppn=" + std::to_string(max_ppn) +
         (min_ppn == max_ppn ? "" : ",min_ppn=" + std::to_string(min_ppn));
}

/// Writes a line if a table that the user has named does not cover the job.
void remark_on_shape(const Topology& job) {
  if (!session.table || session.settings.table_file.empty() || job.ranks() == 1) return;
  const std::string text = shape_text(job.nodes, job.min_ppn, job.max_ppn);
  const Table::Shape* shape = session.table->find_shape(job.nodes, job.min_ppn, job.max_ppn);
  const std::string used = shape == nullptr ? "" : shape_text(shape->nodes, shape->min_ppn, shape->ppn);
  if (used == text) return;
  complain_once_on_rank_0(
      "STRETTO_TABLE=" + session.table_path + ": has no rows for " + text + "; " +
      (used.empty() ? "the built-in rule is used" : "its rows for " + used + " are used"));
}

void remark_on_launcher(int ranks) {
  if (!mpi.has_library()) return;  // the program has made a job of some of the launcher's ranks
  const std::optional<std::string> other = find_other_launcher(ranks);
  if (other && !other->empty()) complain(*other);
}

/// Returns the limit of the start in seconds, from this rank's own environment.
double start_limit() {
  return parse_settings("STRETTO_START_LIMIT=" + environment("STRETTO_START_LIMIT")).start_limit_seconds;
}

/// Returns the facts of this rank. Resources that all ranks must have are acquired first, so that the facts
/// say whether this rank has them.
RankFacts find_own_facts(Background background) {
  if (background == Background::own && !start_helper()) background = Background::no_thread;
  RankFacts own;
  find_own_place(own);
  own.most_tag = ChannelPool::find_most_tag();
  own.background = static_cast<std::int32_t>(background);
  open_shared_memory(own);
  return own;
}

/// Frees what find_own_facts() has opened and started, if there will be no session.
void give_up() {
  session.memory.close();
  stop_helper();
}

/// Clears the state of an earlier job. Without MPI, a process may have one job after the other.
void forget_earlier_job() {
  session.memory_places.clear();
  session.shares_memory = false;
  session.table.reset();
  session.table_path.clear();
  session.due_races = 0;
  channel_pool().set_lanes(0);
  forget_modelled_network();
}

/// Ends the session after the last call of the program. Writes the files that are due at the end, and frees
/// all that is Stretto's.
void end_session() {
  if (!session.active) return;
  drain_outstanding();
  session.serves_program = session.active = false;
  end_live();
  end_watchdog();
  if (const std::string error = end_trace(); !error.empty()) complain(error);
  if (!session.settings.statistics_file.empty() && session.world_rank == 0) {
    const std::string error = write_statistics(session.settings.statistics_file);
    if (!error.empty()) complain(error);
  }
  if (session.settings.summary != Summary::none && session.world_rank == 0) {
    complain(summary_text());
    if (const std::string advice = advice_text(is_default_best); !advice.empty()) complain(advice);
  }
  free_requests();
  free_left_handles();
  free_all_communicators();
  if (session.world_rank == 0) {
    if (const std::string error = save_decisions(); !error.empty()) complain(error);
  }
  stop_driving_library();
  channel_pool().close();
  disconnect_nodes();
  session.memory.close();
  mpi.Group_free(&session.world_group);
}

/// Makes MPI_Finalize end the session. MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF, the
/// last one first. In the callbacks, a program may use all of MPI. Stretto's attribute is set in MPI_Init,
/// before any of the program's, so it is deleted last.
void end_with_mpi() {
  const auto end = [](RawHandle, int, void*, void*) -> int {
    return without_exceptions([]() -> int {
      end_session();
      return MPI_SUCCESS;
    });
  };
  int keyval = 0;
  mpi.Comm_create_keyval(&copy_nothing, end, &keyval, nullptr);
  mpi.Comm_set_attr(mpi.comm_self, keyval, &session);
  mpi.Comm_free_keyval(&keyval);  // freed with the attribute
}

}  // namespace

void begin_session(Background background, Participation participation) {
  make_session();
  if (session.active) return;
  if (const std::string error = load_mpi(); !error.empty()) {
    if (may_be_rank_0()) tell_unserved(error + "; every call goes to the MPI library");
    if (!is_strict()) return;
    // The launcher ends all ranks when the first one ends. Rank 0 must have written its line by then.
    if (!may_be_rank_0()) std::this_thread::sleep_for(std::chrono::seconds(2));
    std::exit(EXIT_FAILURE);
  }
  forget_earlier_job();
  mpi.Comm_rank(mpi.comm_world, &session.world_rank);
  session.library = library_version();
  StartFacts facts;
  const double limit = participation == Participation::certain ? 0 : start_limit();
  if (!exchange_facts(
          find_own_facts(background), [] { return read_shared_settings(session.library); }, limit, facts)) {
    return give_up();
  }
  session.settings = take_shared_settings(facts.text, session.library);
  const bool writes = session.world_rank == 0 && !session.settings.disabled;
  if (writes) check_statistics_file(session.settings);
  for (const Complaint& complaint : session.settings.complaints) {
    complain_once_on_rank_0(complaint.variable + ": " + complaint.error + "; " +
                            (session.settings.strict ? "the job ends (STRETTO_STRICT)" : complaint.instead));
  }
  if (session.settings.strict && !session.settings.complaints.empty()) end_job(session.world_rank == 0);
  if (session.settings.disabled) return give_up();
  remark_on_launcher(static_cast<int>(facts.of_rank.size()));
  const int most_tag = std::ranges::min(facts.of_rank, {}, &RankFacts::most_tag).most_tag;
  if (const std::string error = channel_pool().open(most_tag); !error.empty()) {
    complain_once_on_rank_0(error + "; every call goes to the MPI library");
    return give_up();
  }

  load_predefined_handles();
  set_library_is_gpu_aware(session.settings.gpu_aware);
  session.background =
      static_cast<Background>(std::ranges::max(facts.of_rank, {}, &RankFacts::background).background);
  session.non_blocking = session.background == Background::own;
  if (!session.non_blocking) stop_helper();
  session.topology = find_topology(session.settings, facts.of_rank);
  remark_on_shape(session.topology);
  Backoff::set_crowded(outnumber_cores(facts.of_rank, session.world_rank));
  session.some_share_cores = outnumber_cores_somewhere(facts.of_rank);
  share_memory(facts.of_rank);
  Endpoint::use_streams(session.settings.streams.value_or(1));
  if (session.settings.connections_from && mpi.has_library() && session.topology.nodes > 1)
    use_connections_from(*session.settings.connections_from, channel_pool().comm());
  session.may_repeat = session.shares_memory && !session.observes_all_calls();
  mpi.Comm_group(mpi.comm_world, &session.world_group);
  make_communicator_keyval();
  const Floors lowest = lowest_floors(session.topology, session.floor_facts());
  for (const Collective collective : collectives) {
    const auto i = static_cast<std::size_t>(collective);
    for (const Form form : forms) {
      session.native_floors[static_cast<std::size_t>(form)][i] =
          find_native_floor(session.settings, collective, form, lowest);
    }
    session.is_left_to_choice[i] =
        session.native_floor(collective, Form::blocking) == lowest.choice_of(collective, Form::blocking);
  }
  begin_statistics();
  begin_live(job_number(facts.of_rank));
  begin_online();
  begin_trace();
  begin_watchdog();
  end_with_mpi();
  session.active = true;
  session.serves_program = mpi.has_library();
}

}  // namespace stretto
