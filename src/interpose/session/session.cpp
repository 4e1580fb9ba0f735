// SPDX-License-Identifier: Apache-2.0
#include "interpose/session/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "select/rule.hpp"
#include "threads/immortal.hpp"

namespace stretto {

alignas(Session) std::byte memory_of_session[sizeof(Session)];

void make_session() {
  static auto* const made = new (memory_of_session) Session;
  static_cast<void>(made);
}

namespace {

/// A job on several nodes tries other specs only in calls of this size or more. For a call of a microsecond,
/// even the check for something to learn costs too much.
constexpr std::size_t least_learned = 1024;

}  // namespace

std::size_t Session::choice_floor(Collective collective, Form form) const {
  std::size_t inside = floor_inside_node(collective, form, topology.max_ppn);
  // A pair has the lowest floor.
  if (topology.max_ppn > 1) inside = std::min(inside, floor_inside_node(collective, form, 2));
  return topology.nodes > 1 ? std::min(inside, floor_between_nodes(collective, form)) : inside;
}

std::size_t Session::floor_inside_node(Collective collective, Form form, int ranks) const {
  // The rule decides on communicators whose shape is not in the table.
  const std::size_t floor = stretto::native_floor(collective, form, shares_memory ? ranks : 0);
  return table ? std::min(floor, table->native_floor(collective, form)) : floor;
}

std::size_t Session::floor_between_nodes(Collective collective, Form form) const {
  const bool learns = settings.online != Online::off && form == Form::blocking;
  std::size_t floor = stretto::native_floor(collective, form);
  if (table) floor = std::min(floor, table->native_floor(collective, form));
  return learns ? std::min(floor, least_learned) : floor;
}

std::size_t Session::learning_floor_inside_node(Collective collective) const {
  const std::size_t floor = stretto::learning_floor(collective, shares_memory ? topology.max_ppn : 0);
  return table ? std::min(floor, table->native_floor(collective, Form::blocking)) : floor;
}

void Session::force(Collective collective, Forced what) {
  const auto index = static_cast<std::size_t>(collective);
  const std::size_t least_bytes = what.least_bytes;
  // The old value is kept: another thread may be reading it.
  forced_by_program[index].store(new Forced(std::move(what)), std::memory_order_release);
  for (auto& floors : native_floors) {
    std::atomic<std::size_t>& floor = floors[index];
    floor.store(std::min(floor.load(std::memory_order_relaxed), least_bytes), std::memory_order_relaxed);
  }
}

void end_job(bool has_reported, int status) {
  // If another rank called MPI_Abort, the job might end before this rank has written why. A launcher may
  // also end the job before it has passed on the output that it has just received.
  if (!has_reported) {
    for (;;) pause();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  mpi.Abort(mpi.comm_world, status);
  std::abort();
}

void complain(const std::string& line) {
  std::fputs(("stretto: " + line + "\n").c_str(), stderr);
}

std::string this_rank() {
  return "rank " + std::to_string(session.world_rank);
}

void complain_once_on_rank_0(const std::string& line) {
  if (session.world_rank != 0) return;
  static std::mutex mutex;
  static auto& said = make_immortal<std::set<std::string>>();
  const std::lock_guard lock(mutex);
  if (said.insert(line).second) complain(line);
}

}  // namespace stretto
