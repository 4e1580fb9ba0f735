// SPDX-License-Identifier: Apache-2.0
#include "interpose/operations/requests.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {
namespace {

SpinLock lock;
/// All handles that were ever handed out. The entries do not move.
std::unordered_map<MPI_Request, Pending>& pending() {
  static auto& all = make_immortal<std::unordered_map<MPI_Request, Pending>>();
  return all;
}
std::vector<Pending*>& unused() {
  static auto& all = make_immortal<std::vector<Pending*>>();
  return all;
}
std::atomic<std::size_t> count{0};  // changed under the lock

std::set<MPI_Request>& persistent_of_library() {
  static auto& all = make_immortal<std::set<MPI_Request>>();
  return all;
}
std::atomic<std::size_t> count_of_library{0};

}  // namespace

MPI_Request make_request(std::shared_ptr<RequestedCall> call, bool is_persistent) {
  const std::lock_guard guard(lock);
  if (unused().empty()) {
    MPI_Request request = mpi.request_null;
    mpi.Send_init(nullptr, 0, mpi.byte, mpi.proc_null, 0, mpi.comm_self, &request);
    unused().push_back(&pending()[request]);
    unused().back()->request = request;
  }
  Pending& lent = *unused().back();
  unused().pop_back();
  lent.call = std::move(call);
  lent.is_persistent = is_persistent;
  lent.is_active = !is_persistent;
  count.store(count + 1, std::memory_order_relaxed);
  return lent.request;
}

bool has_requests() {
  return count > 0;
}

Pending* find_pending(MPI_Request request) {
  if (!has_requests() || request == mpi.request_null) return nullptr;
  const std::lock_guard guard(lock);
  const auto found = pending().find(request);
  if (found == pending().end() || !found->second.call) return nullptr;
  found->second.call->note_asked();
  return &found->second;
}

void forget_request(Pending& pending) {
  std::shared_ptr<RequestedCall> forgotten;  // may release memory, after the lock is released
  const std::lock_guard guard(lock);
  forgotten = std::move(pending.call);
  unused().push_back(&pending);
  count.store(count - 1, std::memory_order_relaxed);
}

void note_persistent_of_library(MPI_Request request) {
  if (!mpi.is(Interface::mpich)) return;
  const std::lock_guard guard(lock);
  persistent_of_library().insert(request);
  count_of_library = persistent_of_library().size();
}

bool must_library_wait_for(MPI_Request request) {
  if (count_of_library == 0) return false;
  const std::lock_guard guard(lock);
  return persistent_of_library().contains(request);
}

void forget_persistent_of_library(MPI_Request request) {
  if (count_of_library == 0) return;
  const std::lock_guard guard(lock);
  persistent_of_library().erase(request);
  count_of_library = persistent_of_library().size();
}

void free_requests() {
  // Requests that the program has not freed are its own leak, but they hold tags and memory. These are
  // released after the lock.
  std::unordered_map<MPI_Request, Pending> forgotten;
  const std::lock_guard guard(lock);
  // Handles that the program still has are kept: it may free them in a callback of MPI_Finalize.
  for (Pending* pending : unused()) mpi.Request_free(&pending->request);
  forgotten.swap(pending());
  unused().clear();
  count = 0;
}

}  // namespace stretto
