// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of a job without MPI.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "faces/sockets/short_call.hpp"
#include "kernels/reduce.hpp"
#include "mpi/mpi.hpp"
#include "sockets/endpoint.hpp"

namespace stretto {

struct OpaqueGroup {
  std::vector<int> ranks;  // of the job
};

struct OpaqueComm {
  std::uint64_t context = 0;
  /// The ranks in the job. They are shared, because a call of the core's own may outlive the communicator.
  std::shared_ptr<const std::vector<int>> ranks;
  int rank = 0;  // here
  std::map<int, void*> attributes;
  std::uint64_t made = 0;               // communicators that were made from it
  std::atomic<std::uint32_t> calls{0};  // collectives
  /// What is known of the ends of ranks, up to this number of news (Endpoint::news()).
  std::atomic<std::uint64_t> known_news{0};
  std::atomic<std::uint64_t> ends_from{UINT64_MAX};  // the first collective call that fails
  std::atomic<const char*> why_it_ends{nullptr};
  std::atomic<const char*> why_rank_ended{nullptr};  // of any of its ranks

  [[nodiscard]] int size() const { return static_cast<int>(ranks->size()); }
  [[nodiscard]] int in_job(int its_rank) const { return (*ranks)[static_cast<std::size_t>(its_rank)]; }
  /// Returns the rank in this communicator of a member with this rank in the job.
  [[nodiscard]] int of_job(int rank_in_job) const;
};

/// A datatype of bytes without gaps; there are no others.
struct OpaqueDatatype {
  std::size_t bytes = 0;
  kernels::Type type = kernels::Type::u8;  // of a predefined one
  bool is_predefined = false;
};

struct OpaqueOp {
  MPI_User_function* function = nullptr;  // nullptr: a predefined one
  kernels::Op op = kernels::Op::sum;
  bool is_commutative = true;
};

struct OpaqueRequest {
  Message message;
  std::unique_ptr<faces::sockets::ShortCall> call;  // in place of a message
  const OpaqueComm* comm = nullptr;
  bool is_active = false;
};

/// A status, with fields where mpi/status.hpp finds them.
struct OwnNetworkStatus {
  int source = 0;
  int tag = 0;
  int error = 0;
  std::size_t bytes = 0;
};

namespace faces::sockets {

/// The values of MPI's constants. Error codes are 1 and more.
enum Error : int {
  arg = 1,
  count,
  in_status,
  intern,
  no_mem,
  other,
  pending,
  request,
  truncate,
  unsupported,
  buffer
};
constexpr int any_source = -2;
constexpr int no_rank = -1;  // MPI_PROC_NULL
constexpr int undefined = -32766;

struct Keyval {
  MPI_Comm_delete_attr_function* remove = nullptr;
  void* extra = nullptr;
};

/// The state of a job between its begin and its end.
struct Job {
  explicit Job(std::shared_ptr<Endpoint> its_endpoint);

  std::shared_ptr<Endpoint> endpoint;
  OpaqueComm world;
  OpaqueComm self;
  std::mutex mutex;                                                       // for what follows
  std::map<std::pair<std::vector<int>, int>, std::uint64_t> groups_made;  // by members and tag
  std::vector<Keyval> keyvals;
};
/// The job; nullptr if none has begun.
extern Job* job;

/// Polls until has_ended() is true. Everything ends when the job fails.
void wait_for(bool (*has_ended)(void*), void* what);
template <typename Ended>
void wait_until(const Ended& has_ended) {
  wait_for([](void* what) { return (*static_cast<const Ended*>(what))(); },
           const_cast<void*>(static_cast<const void*>(&has_ended)));
}

/// Returns the error code that stands for a reason, which was kept by keep_reason().
int code_of(const char* reason);
/// Returns the reason, or nullptr if the error code stands for none.
const char* reason_of(int code);

/// Starts a collective of the core's own and waits for it. Returns an MPI error code.
int run(std::unique_ptr<ShortCall> call);

}  // namespace faces::sockets
}  // namespace stretto
