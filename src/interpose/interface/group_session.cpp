// SPDX-License-Identifier: Apache-2.0
// Begins and ends MPI for frameworks that leave this to Stretto. Makes and frees their groups.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/modelled_calls.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/interface/group.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "interpose/start/begin_session.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// The last error of this thread. Error texts are never freed: there are few different ones, and a thread may
/// ask for its text when others end.
thread_local const char* last_error = "";

std::atomic<bool> has_lost_work{false};

/// The longest wait at the end, in addition to the time that the framework gives. It is for works that nobody
/// waits for any more, which go on by themselves.
constexpr double longest_end = 1;  // s

SpinLock left_lock;
constinit Immortal<std::vector<MPI_Comm>> left_communicators;

/// Finds a function of MPI as the program would call it, so that tools, and Stretto if it is preloaded, see
/// the call.
template <typename Function>
Function* find_entry(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Function*>(found != nullptr ? found : mpi_symbol(name));
}

/// Ends MPI at the end of the process. `process` is the process that initialized MPI. Its children end
/// silently.
void end_mpi(int status, void* process) {
  if (getpid() != static_cast<pid_t>(reinterpret_cast<std::intptr_t>(process))) return;
  int is_finalized = 0;
  mpi.Finalized(&is_finalized);
  if (is_finalized != 0) return;
  const double until = seconds_now() + longest_end;
  if (status == 0 && !has_lost_work) wait_until([&] { return !has_outstanding() || seconds_now() > until; });
  if (status != 0 || has_lost_work || has_outstanding()) {
    complain(this_rank() +
             (status != 0 ? " ends with status " + std::to_string(status)
                          : " has given up a collective that did not end") +
             "; all ranks end");
    end_job(true, status != 0 ? status : EXIT_FAILURE);
  }
  free_short_types();
  find_entry<int()>("MPI_Finalize")();
}

int initialize() {
  if (!use_network(Network::of_library))
    return set_error("this process uses Stretto without MPI, so it cannot begin a job with MPI");
  if (const std::string error = load_mpi(); !error.empty()) return set_error(error);
  int is_initialized = 0;
  mpi.Initialized(&is_initialized);
  int given = mpi.thread_single;
  if (is_initialized == 0) {
    using InitThread = int(int*, char***, int, int*);
    if (find_entry<InitThread>("MPI_Init_thread")(nullptr, nullptr, mpi.thread_multiple, &given) !=
        MPI_SUCCESS) {
      return set_error("MPI_Init_thread failed");
    }
    on_exit(end_mpi, reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())));
  } else {
    mpi.Query_thread(&given);
  }
  if (given != mpi.thread_multiple) {
    return set_error(
        "MPI was initialized without MPI_THREAD_MULTIPLE, which non-blocking works need; ask for it with "
        "MPI_Init_thread, or let Stretto initialize MPI");
  }
  begin_session(Background::own, Participation::certain);
  mpi.Comm_rank(mpi.comm_world, &session.world_rank);
  make_short_types();
  return 0;
}

}  // namespace

void free_left_communicators() {
  int is_finalized = 0;
  mpi.Finalized(&is_finalized);
  if (is_finalized != 0) return;
  std::vector<MPI_Comm> left;
  {
    const std::lock_guard guard(left_lock);
    left = std::exchange(left_communicators(), {});
  }
  for (MPI_Comm comm : left) {
    const FreeingCommunicator freeing(comm);
    const BlockedScope blocked;
    mpi.Comm_free(&comm);
  }
}

std::string text_of_seconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g s", seconds);
  return text.data();
}

std::string one_line(const char* reason) {
  const std::string line = reason == nullptr ? "" : reason;
  return line.empty() ? line : line.substr(0, line.find('\n'));
}

GroupCommunicator::~GroupCommunicator() {
  const std::lock_guard guard(left_lock);
  left_communicators().push_back(comm_);
}

int set_error(std::string_view line) noexcept {
  static std::mutex mutex;
  static auto& all = make_immortal<std::set<std::string>>();
  try {
    const std::lock_guard lock(mutex);
    last_error = all.emplace(line).first->c_str();
  } catch (const std::bad_alloc&) {
    last_error = "there is no memory left";
  }
  return 1;
}

bool use_network(Network network) {
  static std::atomic<Network> used{session.active && mpi.has_library() ? Network::of_library : Network::none};
  Network before = Network::none;
  return used.compare_exchange_strong(before, network) || before == network;
}

void come_into_use(MPI_Comm comm) {
  std::shared_ptr<Communicator> state;
  if (session.active) find_communicator(comm, state);
  if (state != nullptr && state->is_young()) state->come_of_age();
  if (state != nullptr && !mpi.has_library()) model_calls(*state, comm);
}

stretto_group* make_group(MPI_Comm parent, const int* ranks, int count, int tag, double seconds,
                          std::shared_ptr<Communicator>* failed) {
  const BlockedScope blocked;
  MPI_Group all{};
  MPI_Group members{};
  auto* group = new stretto_group;
  group->comm = mpi.comm_null;
  int error = mpi.Comm_group(parent, &all);
  if (error == MPI_SUCCESS && ranks != nullptr) {
    error = mpi.Group_incl(all, count, ranks, &members);
    mpi.Group_free(&all);
    all = members;
  }
  if (error == MPI_SUCCESS) {
    error = mpi.Comm_create_group(parent, all, tag, &group->comm);
    mpi.Group_free(&all);
  }
  if (error == MPI_SUCCESS && group->comm != mpi.comm_null) {
    mpi.Comm_set_errhandler(group->comm, mpi.errors_return);
    mpi.Comm_rank(group->comm, &group->rank);
    mpi.Comm_size(group->comm, &group->size);
    group->held = std::make_shared<GroupCommunicator>(group->comm);
    const std::string late = "not all ranks made the group within " + text_of_seconds(seconds);
    if (mpi.limit != nullptr) mpi.limit(group->comm, seconds, late.c_str());
    come_into_use(group->comm);
    if (mpi.limit != nullptr) mpi.spare(group->comm);
    // A member that has ended meanwhile may have kept this rank from sending what others wait for.
    if (mpi.why_ended != nullptr) error = mpi.why_ended(group->comm, 0, false);
    if (error == MPI_SUCCESS) return group;
    if (mpi.end_in != nullptr) mpi.end_in(group->comm, 0, text_of_error(error).c_str());
    if (failed != nullptr) find_communicator(group->comm, *failed);
  }
  delete group;
  if (mpi.is_end(error)) {
    set_error(text_of_error(error));
    return nullptr;
  }
  set_error(error == MPI_SUCCESS ? "this rank is not in the group"
                                 : "MPI cannot make a group of these ranks: " + text_of_error(error));
  return nullptr;
}

void note_lost_work() {
  has_lost_work = true;
}

}  // namespace stretto

using namespace stretto;

STRETTO_VISIBLE int stretto_group_interface(void) {
  return STRETTO_GROUP_INTERFACE;
}

STRETTO_VISIBLE const char* stretto_error(void) {
  return last_error;
}

STRETTO_VISIBLE int stretto_begin(void) {
  return without_exceptions(1, [&]() -> int {
    static std::mutex mutex;
    static bool has_begun = false;
    const std::lock_guard lock(mutex);
    if (!has_begun && initialize() != 0) return 1;
    has_begun = true;
    return 0;
  });
}

STRETTO_VISIBLE int stretto_find_place(stretto_place* place) {
  return without_exceptions(1, [&]() -> int {
    MPI_Comm node = mpi.comm_null;
    int error = mpi.Comm_rank(mpi.comm_world, &place->rank);
    if (error == MPI_SUCCESS) error = mpi.Comm_size(mpi.comm_world, &place->ranks);
    if (error == MPI_SUCCESS) {
      error = mpi.Comm_split_type(mpi.comm_world, mpi.comm_type_shared, 0, mpi.info_null, &node);
    }
    if (error == MPI_SUCCESS) error = mpi.Comm_rank(node, &place->local_rank);
    if (error == MPI_SUCCESS) error = mpi.Comm_size(node, &place->local_ranks);
    if (node != mpi.comm_null) mpi.Comm_free(&node);
    return error == MPI_SUCCESS ? 0
                                : set_error("MPI cannot tell where the ranks are: " + text_of_error(error));
  });
}

STRETTO_VISIBLE stretto_group* stretto_group_make(const int* ranks, int count, int tag, double seconds) {
  return without_exceptions(static_cast<stretto_group*>(nullptr), [&] {
    free_left_communicators();
    return make_group(mpi.comm_world, ranks, count, tag, seconds);
  });
}

STRETTO_VISIBLE void stretto_group_fail(stretto_group* group, const char* reason) {
  if (mpi.end_in != nullptr) mpi.end_in(group->comm, 0, one_line(reason).c_str());
}

STRETTO_VISIBLE void stretto_group_free(stretto_group* group) {
  delete group;
  free_left_communicators();
}

STRETTO_VISIBLE void stretto_abort(int status) {
  end_job(true, status);
}
