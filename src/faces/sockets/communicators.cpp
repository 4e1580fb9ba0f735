// SPDX-License-Identifier: Apache-2.0
// Communicators, groups, attributes and error handlers.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "faces/sockets/functions.hpp"
#include "text/hash.hpp"
#include "topology/boot_id.hpp"

namespace stretto {

int OpaqueComm::of_job(int rank_in_job) const {
  const auto same = static_cast<std::size_t>(rank_in_job);  // as in the communicator of all ranks
  if (same < ranks->size() && (*ranks)[same] == rank_in_job) return rank_in_job;
  return static_cast<int>(std::ranges::find(*ranks, rank_in_job) - ranks->begin());
}

namespace faces::sockets {
namespace {

/// Makes a communicator. Returns nullptr if this rank is not in it.
MPI_Comm make(std::vector<int> ranks, std::uint64_t context) {
  const auto own = std::ranges::find(ranks, job->endpoint->rank());
  if (own == ranks.end()) return nullptr;
  auto* comm = new OpaqueComm;
  comm->context = context;
  comm->rank = static_cast<int>(own - ranks.begin());
  comm->ranks = std::make_shared<const std::vector<int>>(std::move(ranks));
  return comm;
}

/// Returns the context of a new communicator. All ranks compute the same number without a message, because
/// they make communicators of the same ranks with the same tag in the same order.
std::uint64_t context_of(std::uint64_t parent, std::uint64_t number, const std::vector<int>& ranks = {}) {
  Hash hash;
  hash.add(parent);
  hash.add(number);
  for (const int rank : ranks) hash.add(static_cast<std::uint64_t>(rank));
  return group_of(hash.sum());
}

}  // namespace

int Functions::Comm_rank(MPI_Comm comm, int* rank) {
  *rank = comm->rank;
  return MPI_SUCCESS;
}

int Functions::Comm_size(MPI_Comm comm, int* size) {
  *size = comm->size();
  return MPI_SUCCESS;
}

int Functions::Comm_test_inter(MPI_Comm /*comm*/, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int Functions::Comm_group(MPI_Comm comm, MPI_Group* group) {
  *group = new OpaqueGroup{*comm->ranks};
  return MPI_SUCCESS;
}

int Functions::Group_free(MPI_Group* group) {
  delete *group;
  *group = nullptr;
  return MPI_SUCCESS;
}

int Functions::Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* made) {
  auto* some = new OpaqueGroup;
  for (int i = 0; i < count; ++i) some->ranks.push_back(group->ranks.at(static_cast<std::size_t>(ranks[i])));
  *made = some;
  return MPI_SUCCESS;
}

int Functions::Group_translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to,
                                     int* translated) {
  for (int i = 0; i < count; ++i) {
    const int in_job = from->ranks.at(static_cast<std::size_t>(ranks[i]));
    const auto found = std::ranges::find(to->ranks, in_job);
    translated[i] = found == to->ranks.end() ? undefined : static_cast<int>(found - to->ranks.begin());
  }
  return MPI_SUCCESS;
}

int Functions::Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  const std::lock_guard guard(job->mutex);
  *made = make(group->ranks, context_of(comm->context, ++comm->made));
  return MPI_SUCCESS;
}

int Functions::Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  const std::lock_guard guard(job->mutex);
  const std::uint64_t number = ++job->groups_made[{group->ranks, tag}];
  const std::uint64_t parent = context_of(comm->context, static_cast<std::uint64_t>(tag) + 1, group->ranks);
  *made = make(group->ranks, context_of(parent, number));
  return MPI_SUCCESS;
}

/// Splits by shared memory, the only kind that the core asks for.
int Functions::Comm_split_type(MPI_Comm comm, int /*kind*/, int /*key*/, MPI_Info /*info*/, MPI_Comm* made) {
  MpiText name{};
  int length = 0;
  Get_processor_name(name.data(), &length);
  const std::uint64_t own = hash_of(name.data() + (" " + boot_id()));
  std::vector<std::uint64_t> all(static_cast<std::size_t>(comm->size()));
  const int error = Allgather(&own, sizeof own, mpi.byte, all.data(), sizeof own, mpi.byte, comm);
  if (error != MPI_SUCCESS) return error;
  std::vector<int> ranks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == own) ranks.push_back(comm->in_job(static_cast<int>(i)));
  }
  const std::lock_guard guard(job->mutex);
  const std::uint64_t number = ++comm->made;
  *made = make(ranks, context_of(comm->context, number, ranks));
  return MPI_SUCCESS;
}

int Functions::Comm_free(MPI_Comm* comm) {
  while (!(*comm)->attributes.empty()) {
    const auto [keyval, value] = *(*comm)->attributes.begin();
    (*comm)->attributes.erase(keyval);
    const Keyval& kept = job->keyvals.at(static_cast<std::size_t>(keyval));
    if (kept.remove != nullptr) kept.remove(to_raw(*comm), keyval, value, kept.extra);
  }
  if (*comm != &job->world && *comm != &job->self) delete *comm;
  *comm = nullptr;
  return MPI_SUCCESS;
}

int Functions::Comm_create_keyval(MPI_Comm_copy_attr_function* /*copy*/,
                                  MPI_Comm_delete_attr_function* remove, int* keyval, void* extra) {
  const std::lock_guard guard(job->mutex);
  *keyval = static_cast<int>(job->keyvals.size());
  job->keyvals.push_back({remove, extra});
  return MPI_SUCCESS;
}

/// Keeps the keyval, because attributes that are still set need it.
int Functions::Comm_free_keyval(int* keyval) {
  *keyval = undefined;
  return MPI_SUCCESS;
}

int Functions::Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  const std::lock_guard guard(job->mutex);
  comm->attributes[keyval] = value;
  return MPI_SUCCESS;
}

int Functions::Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* found) {
  static int highest_tag = INT32_MAX;
  if (keyval == mpi.tag_ub) {
    *static_cast<void**>(value) = &highest_tag;
    *found = 1;
    return MPI_SUCCESS;
  }
  const std::lock_guard guard(job->mutex);
  const auto attribute = comm->attributes.find(keyval);
  *found = attribute == comm->attributes.end() ? 0 : 1;
  if (*found != 0) *static_cast<void**>(value) = attribute->second;
  return MPI_SUCCESS;
}

int Functions::Comm_set_errhandler(MPI_Comm /*comm*/, MPI_Errhandler /*handler*/) {
  return MPI_SUCCESS;
}

int Functions::Comm_get_errhandler(MPI_Comm /*comm*/, MPI_Errhandler* handler) {
  *handler = mpi.errors_return;  // the caller decides
  return MPI_SUCCESS;
}

int Functions::Errhandler_free(MPI_Errhandler* handler) {
  *handler = nullptr;
  return MPI_SUCCESS;
}

int Functions::Comm_call_errhandler(MPI_Comm /*comm*/, int /*error*/) {
  return MPI_SUCCESS;
}

int Functions::Error_class(int error, int* its_class) {
  *its_class = error;
  return MPI_SUCCESS;
}

int Functions::Error_string(int error, char* text, int* length) {
  const char* const reason = reason_of(error);
  const std::string line = reason != nullptr          ? reason
                           : error == Error::no_mem   ? "there is no memory left"
                           : error == Error::truncate ? "a message is longer than its receive"
                           : error == Error::other
                               ? "the call has failed on another rank, whose error says why"
                               : "error " + std::to_string(error);
  std::memcpy(text, line.c_str(), line.size() + 1);
  *length = static_cast<int>(line.size());
  return MPI_SUCCESS;
}

int Functions::Get_processor_name(char* name, int* length) {
  if (gethostname(name, longest_text) != 0) std::strcpy(name, "localhost");
  *length = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}

int Functions::Get_library_version(char* text, int* length) {
  constexpr std::string_view name = "Stretto sockets " STRETTO_VERSION;
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '\0';
  *length = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

int Functions::Initialized(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}

int Functions::Finalized(int* flag) {
  *flag = job == nullptr ? 1 : 0;
  return MPI_SUCCESS;
}

int Functions::Query_thread(int* level) {
  *level = mpi.thread_multiple;
  return MPI_SUCCESS;
}

/// Ends this process. The other ranks see that.
int Functions::Abort(MPI_Comm /*comm*/, int status) {
  _exit(status);
}

}  // namespace faces::sockets
}  // namespace stretto
