// SPDX-License-Identifier: Apache-2.0
// Works of the interface for frameworks: testing, waiting, describing and giving up.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "interpose/communicators/communicator.hpp"
#include "interpose/interface/group.hpp"
#include "interpose/observe/live.hpp"
#include "interpose/observe/watchdog.hpp"
#include "interpose/operations/completion.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "threads/clock.hpp"

namespace stretto {
namespace {

/// Tests a request, and sets it to null if it has ended. Returns an MPI error code.
int test(MPI_Request& request, int& source) {
  OwnStatus status;
  if (Pending* pending = find_pending(request)) {
    if (!pending->is_done()) return MPI_SUCCESS;
    const int error = complete(&request, *pending, status);
    source = source_of(status);
    return error;
  }
  int done = 0;
  const int error = mpi.Test(&request, &done, status);
  if (error != MPI_SUCCESS) {
    request = mpi.request_null;
  } else if (done != 0) {
    source = source_of(status);
  }
  return error;
}

bool has_ended(stretto_work& work) {
  for (MPI_Request& request : work.requests) {
    if (request == mpi.request_null) continue;
    const int error = test(request, work.source);
    if (error != MPI_SUCCESS && work.error.empty()) work.error = text_of_error(error);
  }
  std::erase(work.requests, mpi.request_null);
  return work.requests.empty();
}

/// Returns what is behind one of its requests that has not ended, or nullptr.
const Pending* find_awaited(const stretto_work& work) {
  for (MPI_Request request : work.requests) {
    const Pending* pending = find_pending(request);
    if (pending != nullptr && !pending->is_done()) return pending;
  }
  return nullptr;
}

}  // namespace
}  // namespace stretto

using namespace stretto;

STRETTO_VISIBLE int stretto_progress(void) {
  return make_progress_in_place_of_helper() ? 1 : 0;
}

STRETTO_VISIBLE int stretto_work_test(stretto_work* work) {
  return has_ended(*work) ? 1 : 0;
}

STRETTO_VISIBLE int stretto_work_wait(stretto_work* work, double seconds) {
  const double until = seconds_now() + seconds;
  std::optional<AwaitedRequest> awaited;
  if (const Pending* pending = find_awaited(*work)) awaited.emplace(*pending);
  bool ended = false;
  wait_until([&] {
    ended = has_ended(*work);
    return ended || seconds_now() > until;
  });
  return ended ? 1 : 0;
}

STRETTO_VISIBLE void stretto_work_begin_wait(stretto_work* work) {
  const Pending* pending = find_awaited(*work);
  const auto collective = pending == nullptr ? std::nullopt : pending->call->collective();
  if (collective) begin_live_wait(*collective, pending->call->bytes());
}

STRETTO_VISIBLE void stretto_work_end_wait(void) {
  end_live_wait();
}

STRETTO_VISIBLE unsigned long long stretto_work_steps(stretto_work* work) {
  std::uint64_t steps = 0;
  for (MPI_Request request : work->requests) {
    if (request == mpi.request_null) continue;
    if (const Pending* pending = find_pending(request)) {
      steps += pending->call->steps();
    } else if (mpi.steps != nullptr) {
      steps += mpi.steps(request);
    }
  }
  // Each request that ends is a step.
  return steps + (static_cast<std::uint64_t>(-work->requests.size()) << 32U);
}

STRETTO_VISIBLE int stretto_work_fail(stretto_work* work, const char* reason) {
  if (mpi.has_library()) return 0;
  const std::string line = one_line(reason);
  for (MPI_Request request : work->requests) {
    if (const Pending* pending = find_pending(request)) pending->call->fail(line);
  }
  // What is left are messages between two ranks.
  if (!has_ended(*work)) {
    std::shared_ptr<Communicator> state;
    find_communicator(work->held->comm(), state);
    mpi.end_in(work->held->comm(), state == nullptr ? 0 : state->sequence(), line.c_str());
  }
  return has_ended(*work) ? 1 : 0;
}

STRETTO_VISIBLE const char* stretto_work_error(const stretto_work* work) {
  return work->error.empty() ? nullptr : work->error.c_str();
}

STRETTO_VISIBLE int stretto_work_source(const stretto_work* work) {
  return work->source;
}

STRETTO_VISIBLE void stretto_work_describe(stretto_work* work, double seconds, char* text, size_t length) {
  if (length == 0) return;
  std::string state;
  for (MPI_Request& request : work->requests) {
    const Pending* pending = find_pending(request);
    if (pending == nullptr || !pending->call->try_describe_state(state)) continue;
    const Watched* call = seconds > 0 ? pending->call->watched() : nullptr;
    const std::string absent = call == nullptr ? "" : find_absent(*call, seconds);
    if (!absent.empty()) state = absent + "; on this rank, " + state;
    break;
  }
  const std::size_t fitting = std::min(state.size(), length - 1);
  std::memcpy(text, state.data(), fitting);
  text[fitting] = '\0';
}

STRETTO_VISIBLE void stretto_work_free(stretto_work* work) {
  if (!work->requests.empty()) {
    note_lost_work();
    return;
  }
  if (work->datatype != MPI_Datatype{}) mpi.Type_free(&work->datatype);
  delete work;
}
