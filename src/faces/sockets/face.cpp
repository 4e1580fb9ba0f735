// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "faces/sockets/functions.hpp"
#include "mpi/own_network.hpp"
#include "threads/backoff.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace faces::sockets {

Job* job = nullptr;

namespace {

/// Functions that the core calls only for features that a program cannot use without MPI.
constexpr std::array<std::string_view, 23> unserved{"Get_count",
                                                    "Iallgather",
                                                    "Ialltoall",
                                                    "Ibarrier",
                                                    "Improbe",
                                                    "Imrecv",
                                                    "Ireduce",
                                                    "Ireduce_scatter",
                                                    "Irsend",
                                                    "Issend",
                                                    "Pack",
                                                    "Recv_init",
                                                    "Reduce",
                                                    "Sendrecv",
                                                    "Start",
                                                    "Startall",
                                                    "Testall",
                                                    "Testany",
                                                    "Testsome",
                                                    "Type_create_resized",
                                                    "Type_get_contents",
                                                    "Type_get_envelope",
                                                    "Unpack"};

constexpr bool is_served(std::string_view name) {
  return std::ranges::find(unserved, name) == unserved.end();
}

template <typename Function>
struct Unserved;
template <typename... Parameters>
struct Unserved<int (*)(Parameters...)> {
  static int call(Parameters... /*arguments*/) { return Error::unsupported; }
};

OpaqueDatatype* predefined_type(kernels::Type type) {
  constexpr std::size_t most = 32;
  static std::array<OpaqueDatatype, most> all;
  OpaqueDatatype& one = all.at(static_cast<std::size_t>(type));
  one = {.bytes = kernels::size_of(type), .type = type, .is_predefined = true};
  return &one;
}

OpaqueOp* predefined_op(kernels::Op op) {
  static std::array<OpaqueOp, 16> all;
  OpaqueOp& one = all.at(static_cast<std::size_t>(op));
  one.op = op;
  return &one;
}

void set_constants() {
  using kernels::Op;
  using kernels::Type;
  // Numbers that do not matter here get values that differ from each other.
  int number = 100;
#define STRETTO_SET(name, NAME) mpi.name = number++;
  STRETTO_MPI_NUMBERS(STRETTO_SET)
#undef STRETTO_SET
  mpi.any_source = any_source;
  mpi.proc_null = no_rank;
  mpi.undefined = undefined;
  mpi.err_arg = Error::arg;
  mpi.err_buffer = Error::buffer;
  mpi.err_count = Error::count;
  mpi.err_in_status = Error::in_status;
  mpi.err_intern = Error::intern;
  mpi.err_no_mem = Error::no_mem;
  mpi.err_other = Error::other;
  mpi.err_pending = Error::pending;
  mpi.err_request = Error::request;
  mpi.err_truncate = Error::truncate;
  mpi.err_unsupported_operation = Error::unsupported;
#define STRETTO_SET(Handle, name, NAME) mpi.name = MPI_##Handle{};
  STRETTO_MPI_HANDLES(STRETTO_SET)
#undef STRETTO_SET
#define STRETTO_SET(name, NAME) mpi.name = MPI_Datatype{};
  STRETTO_MPI_DATATYPES(STRETTO_SET)
#undef STRETTO_SET
  static OpaqueDatatype byte{.bytes = 1, .is_predefined = true};
  mpi.byte = &byte;
  mpi.uint8_t = mpi.unsigned_char = predefined_type(Type::u8);
  mpi.int8_t = mpi.signed_char = mpi.char_ = predefined_type(Type::i8);
  mpi.int16_t = predefined_type(Type::i16);
  mpi.uint16_t = predefined_type(Type::u16);
  mpi.int32_t = mpi.int_ = predefined_type(Type::i32);
  mpi.uint32_t = predefined_type(Type::u32);
  mpi.int64_t = predefined_type(Type::i64);
  mpi.uint64_t = predefined_type(Type::u64);
  mpi.float_ = predefined_type(Type::f32);
  mpi.double_ = predefined_type(Type::f64);
  mpi.c_bool = predefined_type(Type::boolean);
  mpi.sum = predefined_op(Op::sum);
  mpi.prod = predefined_op(Op::prod);
  mpi.min = predefined_op(Op::min);
  mpi.max = predefined_op(Op::max);
  mpi.land = predefined_op(Op::land);
  mpi.lor = predefined_op(Op::lor);
  mpi.lxor = predefined_op(Op::lxor);
  mpi.band = predefined_op(Op::band);
  mpi.bor = predefined_op(Op::bor);
  mpi.bxor = predefined_op(Op::bxor);
  mpi.errors_return = reinterpret_cast<MPI_Errhandler>(1);  // unlike errors_are_fatal
  mpi.comm_world = &job->world;
  mpi.comm_self = &job->self;
}

std::uint64_t group_in(MPI_Comm comm) {
  return comm == &job->world ? News::everything : comm->context;
}

/// Takes in what has become known of the ends of ranks since the last time.
void take_in_news(OpaqueComm& comm) {
  Endpoint& endpoint = *job->endpoint;
  const std::uint64_t news = endpoint.news();
  if (news == comm.known_news.load(std::memory_order_acquire)) return;
  const std::lock_guard guard(job->mutex);
  if (const auto end = endpoint.end_of(comm.context)) {
    comm.why_it_ends.store(end->reason, std::memory_order_relaxed);
    comm.ends_from.store(end->from, std::memory_order_release);
  }
  for (const int rank : *comm.ranks) {
    const char* const reason = rank == endpoint.rank() ? nullptr : endpoint.why_ended(rank);
    if (reason != nullptr && comm.why_rank_ended == nullptr) comm.why_rank_ended = reason;
  }
  comm.known_news.store(news, std::memory_order_release);
}

int why_ended(MPI_Comm comm, std::uint64_t call, bool has_begun) {
  if (job->endpoint->news() == 0) return MPI_SUCCESS;
  if (const char* const reason = job->endpoint->failure()) return code_of(reason);
  take_in_news(*comm);
  if (call >= comm->ends_from.load(std::memory_order_acquire)) return code_of(comm->why_it_ends);
  const char* const reason = has_begun ? nullptr : comm->why_rank_ended.load();
  return reason == nullptr ? MPI_SUCCESS : code_of(reason);
}

void bind() {
#define STRETTO_SET(name, parameters)               \
  if constexpr (is_served(#name)) {                 \
    mpi.name = &Functions::name;                    \
  } else {                                          \
    mpi.name = &Unserved<decltype(mpi.name)>::call; \
  }
  STRETTO_MPI_FUNCTIONS(STRETTO_SET)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_SET)
#undef STRETTO_SET
  set_constants();
  static const char in_place = 0;
  mpi.in_place = &in_place;
  mpi.status_bytes = sizeof(OwnNetworkStatus);
  mpi.source_in_status = offsetof(OwnNetworkStatus, source);
  mpi.error_in_status = offsetof(OwnNetworkStatus, error);
  mpi.may_be_communicator = [](MPI_Comm comm) { return comm != nullptr; };
  mpi.may_be_user_op = [](MPI_Op op) { return op != nullptr; };
  mpi.may_be_user_datatype = [](MPI_Datatype type) { return type != nullptr; };
  mpi.why_ended = &why_ended;
  mpi.end_in = [](MPI_Comm comm, std::uint64_t from, const char* reason) {
    job->endpoint->end_in(comm->context, from, reason);
  };
  mpi.note_ended = [](int rank, bool gave_up_call) {
    const std::string name = "rank " + std::to_string(rank);
    if (gave_up_call) job->endpoint->await_any_news();
    if (gave_up_call) return code_of(keep_reason(name + " has given up the call; its own error says why"));
    job->endpoint->note_ended(rank, "its process has ended");
    return code_of(job->endpoint->why_ended(rank));
  };
  mpi.limit = [](MPI_Comm comm, double seconds, const char* reason) {
    const bool is_all = comm == &job->world;
    job->endpoint->limit(group_in(comm), seconds, reason, is_all ? std::vector<int>{} : *comm->ranks);
  };
  mpi.has_news = [] { return job->endpoint->news() > 0; };
  mpi.listen = [] { job->endpoint->progress(); };
  mpi.spare = [](MPI_Comm comm) { job->endpoint->spare(group_in(comm)); };
  mpi.steps = [](MPI_Request request) -> std::uint64_t {
    return request == nullptr ? 0 : request->message.steps.load(std::memory_order_relaxed);
  };
  mpi.endpoint = []() -> Endpoint& { return *job->endpoint; };
  mpi.context_of = [](MPI_Comm comm) { return comm->context; };
  mpi.code_of = &code_of;
}

/// The mutex that guards `job` against calls of other threads while the job ends.
std::mutex& guarding() {
  static auto& mutex = make_immortal<std::mutex>();
  return mutex;
}

/// Makes the mutex usable in a child of fork(), which may ask for the job, too.
void watch_forks() {
  static const int once =
      pthread_atfork([] { guarding().lock(); }, [] { guarding().unlock(); }, [] { guarding().unlock(); });
  static_cast<void>(once);
}

}  // namespace

Job::Job(std::shared_ptr<Endpoint> its_endpoint) : endpoint(std::move(its_endpoint)) {
  const int ranks = endpoint->ranks();
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  world.ranks = std::make_shared<const std::vector<int>>(std::move(all));
  world.rank = endpoint->rank();
  world.context = 2;
  self.ranks = std::make_shared<const std::vector<int>>(1, endpoint->rank());
  self.context = 4;
}

void wait_for(bool (*has_ended)(void*), void* what) {
  Backoff backoff;
  while (!has_ended(what)) {
    if (job->endpoint->progress()) {
      backoff.reset();
    } else {
      backoff.wait();
    }
  }
}

int run(std::unique_ptr<ShortCall> call) {
  wait_until([&] { return call->advance(); });
  return call->error();
}

namespace {

struct Reasons {
  std::mutex mutex;
  std::vector<const char*> all;
};
Reasons& reasons() {
  static auto& one = make_immortal<Reasons>();
  return one;
}

}  // namespace

int code_of(const char* reason) {
  const std::lock_guard guard(reasons().mutex);
  auto& all = reasons().all;
  const auto found = std::ranges::find(all, reason);
  const auto number = static_cast<int>(found - all.begin());
  if (found == all.end()) all.push_back(reason);
  return InterfaceTraits::first_reason + number;
}

const char* reason_of(int code) {
  const std::lock_guard guard(reasons().mutex);
  const auto number = static_cast<std::size_t>(code - InterfaceTraits::first_reason);
  return code < InterfaceTraits::first_reason || number >= reasons().all.size() ? nullptr
                                                                                : reasons().all[number];
}

}  // namespace faces::sockets

using faces::sockets::Job;
using faces::sockets::job;

std::string begin_own_network(std::unique_ptr<Endpoint> endpoint, double seconds) {
  faces::sockets::watch_forks();
  {
    const std::lock_guard guard(faces::sockets::guarding());
    job = new Job(std::move(endpoint));
  }
  faces::sockets::bind();
  Address own = job->endpoint->listens_at();
  std::vector<Address> all(static_cast<std::size_t>(job->endpoint->ranks()));
  const auto exchange = faces::sockets::ShortCall::allgather(job->world, &own, sizeof own, all.data());
  const std::string late = "not all " + std::to_string(all.size()) + " ranks arrived in time";
  mpi.limit(mpi.comm_world, seconds, late.c_str());
  faces::sockets::wait_until([&] { return exchange->advance(); });
  if (const char* const reason = faces::sockets::reason_of(exchange->error())) return reason;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    job->endpoint->set_address(static_cast<int>(rank), all[rank]);
  return {};
}

void end_own_network(double seconds, const std::string& reason) {
  job->endpoint->leave(seconds, reason);
  // Messages that are still in flight fail, but only on this rank.
  job->endpoint->close();
  MPI_Comm self = &job->self;
  mpi.Comm_free(&self);
  const std::lock_guard guard(faces::sockets::guarding());
  delete std::exchange(job, nullptr);
  mpi = MpiLibrary{};
}

std::shared_ptr<Endpoint> own_network() {
  const std::lock_guard guard(faces::sockets::guarding());
  return job == nullptr ? nullptr : job->endpoint;
}

}  // namespace stretto
