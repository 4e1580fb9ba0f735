// SPDX-License-Identifier: Apache-2.0
#include "faces/sockets/short_call.hpp"

#include <cstdint>
#include <numeric>
#include <utility>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/gather/gather.hpp"
#include "algorithms/reduce/reduce.hpp"
#include "engine/messages/connection_transport.hpp"
#include "faces/sockets/objects.hpp"

namespace stretto::faces::sockets {
namespace {

/// Messages of these calls have the other context of the group.
constexpr std::uint64_t own_context = 1;

Element bytes_of(std::size_t bytes) {
  const auto size = static_cast<std::ptrdiff_t>(bytes);
  return {.datatype = mpi.byte, .op = mpi.op_null, .size = size, .extent = size, .true_extent = size};
}

}  // namespace

ShortCall::ShortCall(OpaqueComm& comm)
    : comm_(comm), tag_(static_cast<int>(comm.calls.fetch_add(1) & INT32_MAX)) {}

void ShortCall::add(Schedule schedule, const Call& call) {
  auto transport = std::make_unique<ConnectionTransport>(*job->endpoint, comm_.context ^ own_context);
  steps_.push_back({std::make_unique<ScheduleExecution>(std::move(transport), comm_.ranks,
                                                        std::move(schedule), Pipelining{}),
                    call});
}

void ShortCall::begin() {
  steps_[now_].execution->start(steps_[now_].call, {.first_tag = tag_});
}

std::unique_ptr<ShortCall> ShortCall::allreduce(OpaqueComm& comm, void* data, std::size_t count,
                                                const Element& element) {
  const Topology topology = Topology::flat(comm.size());
  std::unique_ptr<ShortCall> made(new ShortCall(comm));
  Call whole = Call::whole(data, data, count, element);
  whole.in_place = true;
  Call reduce = whole;
  if (comm.rank != 0) {
    reduce.in_place = false;
    reduce.output = nullptr;
    reduce.output_holds = {};
  }
  if (comm.size() > 1) made->add(reduce::binomial({.topology = topology}, comm.rank), reduce);
  made->add(bcast::binomial({.topology = topology}, comm.rank), whole);
  made->begin();
  return made;
}

std::unique_ptr<ShortCall> ShortCall::allgather(OpaqueComm& comm, const void* part, std::size_t bytes,
                                                void* all) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto rank = static_cast<std::size_t>(comm.rank);
  const Topology topology = Topology::flat(comm.size());
  std::unique_ptr<ShortCall> made(new ShortCall(comm));
  made->borders_.resize(ranks + 1);
  std::iota(made->borders_.begin(), made->borders_.end(), std::size_t{0});
  const Call gather{.input = part,
                    .output = all,
                    .element = bytes_of(bytes),
                    .count = ranks,
                    .input_holds = {rank, 1},
                    .output_holds = {0, comm.rank == 0 ? ranks : 0},
                    .borders = made->borders_};
  made->add(gather::binomial({.topology = topology}, comm.rank), gather);
  Call bcast = Call::whole(all, all, ranks, bytes_of(bytes));
  bcast.in_place = true;
  made->add(bcast::binomial({.topology = topology}, comm.rank), bcast);
  made->begin();
  return made;
}

std::unique_ptr<ShortCall> ShortCall::bcast(OpaqueComm& comm, void* data, std::size_t bytes, int root) {
  const Topology topology = Topology::flat(comm.size());
  std::unique_ptr<ShortCall> made(new ShortCall(comm));
  Call call = Call::whole(data, data, bytes, bytes_of(1));
  call.in_place = true;
  call.root = root;
  made->add(bcast::binomial({.topology = topology, .root = root}, comm.rank), call);
  made->begin();
  return made;
}

bool ShortCall::advance() {
  while (now_ < steps_.size()) {
    ScheduleExecution& execution = *steps_[now_].execution;
    execution.progress();
    if (!execution.ended()) return false;
    error_ = execution.error();
    now_ = error_ == MPI_SUCCESS ? now_ + 1 : steps_.size();
    if (now_ < steps_.size()) begin();
  }
  return true;
}

}  // namespace stretto::faces::sockets
