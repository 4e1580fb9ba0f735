// SPDX-License-Identifier: Apache-2.0
#include "interpose/requests.hpp"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stretto {
namespace {

std::shared_mutex mutex;
std::unordered_map<MPI_Request, std::unique_ptr<Pending>>& pending() {
  static auto& all = *new std::unordered_map<MPI_Request, std::unique_ptr<Pending>>;  // never destroyed
  return all;
}
std::vector<MPI_Request>& unused() {
  static auto& all = *new std::vector<MPI_Request>;
  return all;
}
std::atomic<std::size_t> count{0};

}  // namespace

MPI_Request make_request(std::shared_ptr<Operation> operation, bool is_persistent) {
  const std::lock_guard lock(mutex);
  MPI_Request request = mpi.request_null;
  if (unused().empty()) {
    mpi.Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, mpi.comm_self, &request);
  } else {
    request = unused().back();
    unused().pop_back();
  }
  pending()[request] =
      std::make_unique<Pending>(Pending{std::move(operation), is_persistent, !is_persistent});
  count.fetch_add(1, std::memory_order_release);
  return request;
}

bool has_requests() {
  return count.load(std::memory_order_acquire) > 0;
}

Pending* find_pending(MPI_Request request) {
  if (!has_requests() || request == mpi.request_null) return nullptr;
  const std::shared_lock lock(mutex);
  const auto found = pending().find(request);
  return found == pending().end() ? nullptr : found->second.get();
}

void forget_request(MPI_Request request) {
  std::unique_ptr<Pending> forgotten;  // its operation may free memory, after the lock is gone
  const std::lock_guard lock(mutex);
  const auto found = pending().find(request);
  forgotten = std::move(found->second);
  pending().erase(found);
  unused().push_back(request);
  count.fetch_sub(1, std::memory_order_release);
}

void free_requests() {
  const std::lock_guard lock(mutex);
  for (MPI_Request& request : unused()) mpi.Request_free(&request);
  unused().clear();
  // What the program has not freed is its own leak; but a persistent one holds tags and memory.
  pending().clear();
  count = 0;
}

}  // namespace stretto
