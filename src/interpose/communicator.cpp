// SPDX-License-Identifier: Apache-2.0
#include "interpose/communicator.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "interpose/session.hpp"

namespace stretto {
namespace {

std::mutex registry_mutex;
/// In the order in which they were made, which is the same on all ranks of each.
std::vector<Communicator*>& registry() {
  static std::vector<Communicator*> all;
  return all;
}

/// Takes the state out of the registry; false if it is not there (any more).
bool unregister(Communicator* state) {
  const std::lock_guard lock(registry_mutex);
  return std::erase(registry(), state) == 1;
}

/// MPI_Comm_dup copies no state: a duplicate starts with none. (Our own function, as MPI_COMM_NULL_COPY_FN is
/// a symbol of the MPI library in Open MPI.)
int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_state(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
  auto* state = static_cast<Communicator*>(value);
  if (unregister(state)) delete state;
  return MPI_SUCCESS;
}

#ifdef STRETTO_ABI_MPICH
/// As in MPICH's handle layout; what is no communicator is for the library to complain about.
bool may_be_communicator(MPI_Comm comm) {
  const auto bits = static_cast<unsigned>(comm);
  return comm != MPI_COMM_NULL && (bits >> 30) != 0 && ((bits >> 26) & 0xf) == 0x1;
}
#else
bool may_be_communicator(MPI_Comm comm) {
  return comm != nullptr && comm != mpi.comm_null;
}
#endif

}  // namespace

Communicator::Communicator(MPI_Comm users) : users_(users), private_(mpi.comm_null) {
  int is_inter = 0;
  int ranks = 1;
  mpi.Comm_test_inter(users, &is_inter);
  mpi.Comm_size(users, &ranks);
  mpi.Comm_rank(users, &rank_);
  native_only_ = is_inter != 0 || ranks < 2;
  if (!native_only_) find_topology(ranks);
}

Communicator::~Communicator() {
  if (private_ != mpi.comm_null) mpi.Comm_free(&private_);
}

void Communicator::find_topology(int ranks) {
  std::vector<int> here(static_cast<std::size_t>(ranks));
  std::vector<int> in_world(here.size());
  std::iota(here.begin(), here.end(), 0);
  MPI_Group group{};
  mpi.Comm_group(users_, &group);
  const int error =
      mpi.Group_translate_ranks(group, ranks, here.data(), session.world_group, in_world.data());
  mpi.Group_free(&group);
  // Ranks that were spawned or connected to have a world of their own; each side sees the other as undefined.
  if (error != MPI_SUCCESS || std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) {
    native_only_ = true;
    return;
  }
  std::vector<int> nodes;
  std::vector<int> sockets;
  std::vector<int> numas;
  for (const int rank : in_world) {
    const auto i = static_cast<std::size_t>(rank);
    nodes.push_back(session.topology.node_of[i]);
    sockets.push_back(session.topology.socket_of[i]);
    numas.push_back(session.topology.numa_of[i]);
  }
  topology_ = Topology::from_labels(nodes, sockets, numas);
}

bool Communicator::prepare_private_communicator() {
  if (private_ != mpi.comm_null) return true;
  // From the group, not by MPI_Comm_dup: that would call the program's attribute callbacks. Errors come back
  // here.
  MPI_Errhandler users_handler{};
  MPI_Group group{};
  mpi.Comm_get_errhandler(users_, &users_handler);
  mpi.Comm_set_errhandler(users_, mpi.errors_return);
  mpi.Comm_group(users_, &group);
  int made = mpi.Comm_create(users_, group, &private_) == MPI_SUCCESS && private_ != mpi.comm_null ? 1 : 0;
  mpi.Group_free(&group);
  int made_everywhere = 0;
  const int error = mpi.Allreduce(&made, &made_everywhere, 1, MPI_INT, MPI_MIN, users_);
  mpi.Comm_set_errhandler(users_, users_handler);
  mpi.Errhandler_free(&users_handler);
  if (error == MPI_SUCCESS && made_everywhere != 0) {
    mpi.Comm_set_errhandler(private_, mpi.errors_return);
    return true;
  }
  if (made != 0) mpi.Comm_free(&private_);
  private_ = mpi.comm_null;
  native_only_ = true;
  complain_once_on_rank_0(
      "the MPI library has no context id left for a communicator of Stretto's; the library's own "
      "collectives are used on it");
  return false;
}

int Communicator::run(Collective collective, const Spec& spec, const Call& call) {
  if (spec.is_native()) return NativePipeline(collective, users_, spec.pipelining).run(call);
  const int root = has_root(collective) ? call.root : 0;
  const int error = execution_for({collective, root, spec}).run(call);
  // What failed may still have transfers under way, whose requests its execution holds.
  if (error != MPI_SUCCESS) executions_.clear();
  return error;
}

Execution& Communicator::execution_for(const Key& key) {
  const auto found = std::find_if(executions_.begin(), executions_.end(),
                                  [&](const CachedExecution& entry) { return entry.key == key; });
  if (found != executions_.end()) {
    executions_.splice(executions_.begin(), executions_, found);
    return executions_.front().execution;
  }
  if (executions_.size() == most_cached) executions_.pop_back();
  const Recipe& recipe = key.spec.recipe;
  // A run of the caller's blocks is contiguous only in a message that is not cut.
  const bool uncut = has_block_of_each_rank(key.collective) && recipe.algorithm->moves_runs;
  executions_.push_front({key, Execution(private_, build(recipe, topology_, key.root, rank_),
                                         uncut ? Pipelining{} : key.spec.pipelining)});
  return executions_.front().execution;
}

int find_communicator(MPI_Comm comm, Communicator*& state) {
  state = nullptr;
  if (!may_be_communicator(comm)) return MPI_SUCCESS;
  void* value = nullptr;
  int found = 0;
  int error = mpi.Comm_get_attr(comm, session.keyval, static_cast<void*>(&value), &found);
  if (error != MPI_SUCCESS) return error;
  if (found != 0) {
    state = static_cast<Communicator*>(value);
    return MPI_SUCCESS;
  }
  auto made = std::make_unique<Communicator>(comm);
  error = mpi.Comm_set_attr(comm, session.keyval, made.get());
  if (error != MPI_SUCCESS) return error;
  const std::lock_guard lock(registry_mutex);
  registry().push_back(made.get());
  state = made.release();
  return MPI_SUCCESS;
}

void make_communicator_keyval() {
  mpi.Comm_create_keyval(&copy_nothing, &delete_state, &session.keyval, nullptr);
}

void free_all_communicators() {
  // The attributes stay behind: their delete callback finds the state gone from the registry.
  std::vector<Communicator*> all;
  {
    const std::lock_guard lock(registry_mutex);
    all.swap(registry());
  }
  for (Communicator* state : all) delete state;
  mpi.Comm_free_keyval(&session.keyval);
}

}  // namespace stretto
