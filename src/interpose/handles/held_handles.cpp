// SPDX-License-Identifier: Apache-2.0
#include "interpose/handles/held_handles.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "engine/data/element.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

struct Held {
  int holders = 0;
  bool is_freed = false;  // by the program
};

std::mutex mutex;
std::atomic<int> all_held{0};

template <typename Handle>
constinit Immortal<std::map<Handle, Held>> held;

/// Handles that the program has freed and nothing holds any more.
struct LeftHandles {
  std::vector<MPI_Datatype> datatypes;
  std::vector<MPI_Op> ops;
};
constinit Immortal<LeftHandles> left_handles;
std::atomic<bool> any_left{false};

template <typename Handle>
void add(Handle handle) {
  const std::lock_guard lock(mutex);
  ++held<Handle>()[handle].holders;
  ++all_held;
}

/// Returns whether the library must free it now.
template <typename Handle>
bool remove(Handle handle) {
  const std::lock_guard lock(mutex);
  const auto found = held<Handle>().find(handle);
  --all_held;
  if (--found->second.holders > 0) return false;
  const bool is_freed = found->second.is_freed;
  held<Handle>().erase(found);
  return is_freed;
}

template <typename Handle>
bool postpone_free(Handle handle) {
  if (all_held == 0) return false;
  const std::lock_guard lock(mutex);
  const auto found = held<Handle>().find(handle);
  // The library reports a handle that is freed twice.
  if (found == held<Handle>().end() || found->second.is_freed) return false;
  return found->second.is_freed = true;
}

}  // namespace

HeldHandles::~HeldHandles() {
  const auto leave = [](auto& handles, auto& left) {
    std::erase_if(handles, [](auto handle) { return !remove(handle); });
    if (handles.empty()) return;
    const std::lock_guard lock(mutex);
    left.insert(left.end(), handles.begin(), handles.end());
    any_left = true;
  };
  leave(datatypes_, left_handles().datatypes);
  leave(ops_, left_handles().ops);
}

void free_left_handles() {
  if (!any_left.load(std::memory_order_relaxed)) return;
  LeftHandles left;
  {
    const std::lock_guard lock(mutex);
    left = std::exchange(left_handles(), {});
    any_left = false;
  }
  for (MPI_Datatype datatype : left.datatypes) mpi.Type_free(&datatype);
  for (MPI_Op op : left.ops) mpi.Op_free(&op);
}

void HeldHandles::hold_datatype(MPI_Datatype datatype) {
  if (datatype == mpi.datatype_null || predefined_size(datatype) != 0) return;
  datatypes_.push_back(datatype);
  add(datatype);
}

void HeldHandles::hold_op(MPI_Op op) {
  if (op == mpi.op_null || op == MPI_Op{}) return;
  ops_.push_back(op);
  add(op);
}

bool postpone_datatype_free(MPI_Datatype datatype) {
  return postpone_free(datatype);
}

bool postpone_op_free(MPI_Op op) {
  return postpone_free(op);
}

}  // namespace stretto
