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

#include "threads/immortal.hpp"

namespace stretto {

alignas(Session) std::byte memory_of_session[sizeof(Session)];

void make_session() {
  static auto* const made = new (memory_of_session) Session;
  static_cast<void>(made);
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
