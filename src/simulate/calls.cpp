// SPDX-License-Identifier: Apache-2.0
#include "simulate/calls.hpp"

#include <stdexcept>
#include <vector>

#include "simulate/virtual_time.hpp"

namespace stretto::simulate {
namespace {

using bench::Role;

/// Charges the time of the rounds.
class Rounds final : public Observer {
 public:
  explicit Rounds(double seconds) : seconds_(seconds) {}
  void segment_begins(std::size_t /*flight*/, std::size_t /*segment*/) override {}
  void round_ends(std::size_t /*flight*/, int /*round*/) override { compute(seconds_); }
  void segment_ends(std::size_t /*flight*/) override {}

 private:
  double seconds_;
};

/// The collective whose algorithms perform it.
Collective algorithms_for(const Role& role) {
  return stretto::find_collective(bench::names_of(role.collective).algorithms).value();
}

std::vector<std::size_t> borders_of(const Role& role) {
  std::vector<std::size_t> borders;
  if (!has_block_of_each_rank(algorithms_for(role))) return borders;
  for (int rank = 0; rank <= role.ranks; ++rank) borders.push_back(role.block_begin(rank));
  return borders;
}

stretto::Call call_of(const Operands& operands) {
  const Role& role = operands.role;
  stretto::Call call = stretto::Call::whole(role.in_place ? operands.output : operands.input, operands.output,
                                            role.count, operands.element);
  call.in_place = role.in_place;
  call.root = role.root;
  const Range own{role.block_begin(role.rank), role.block_count(role.rank)};
  switch (algorithms_for(role)) {
    case Collective::allreduce:
      break;
    case Collective::bcast:
      call.input = operands.output;
      call.in_place = true;
      break;
    case Collective::reduce:
      call.in_place = role.calls_in_place();
      call.input = call.in_place ? operands.output : operands.input;
      if (!role.is_root()) call.output_holds = {};
      break;
    case Collective::reduce_scatter:
      call.output_holds = own;
      break;
    case Collective::allgather:
      if (!role.in_place) call.input_holds = own;
      break;
    default:
      break;
  }
  return call;
}

Schedule schedule_of(const Operands& operands, const Spec& spec, const Topology& topology) {
  return build(spec.recipe, topology, operands.role.root, operands.role.rank);
}

/// A run of the caller's blocks is contiguous only in a message that is not cut
/// (interpose/operations/operation.cpp).
Pipelining pipelining_of(const Spec& spec) {
  return spec.recipe.algorithm->stays_whole() ? Pipelining{} : spec.pipelining;
}

}  // namespace

OwnCall::OwnCall(const Operands& operands, const Spec& spec, const Topology& topology, double round)
    : call_(call_of(operands)),
      borders_(borders_of(operands.role)),
      rounds_(std::make_unique<Rounds>(round)),
      execution_(MPI_COMM_WORLD, nullptr, schedule_of(operands, spec, topology), pipelining_of(spec)) {
  call_.borders = borders_;
  execution_.observe(rounds_.get());
}

void OwnCall::run() {
  execution_.start(call_, {});
  while (!execution_.ended()) execution_.progress();
  if (execution_.error() != MPI_SUCCESS) throw std::runtime_error("a message failed in the simulation");
}

void run_native(const Operands& operands, MPI_Op operation) {
  const Role& role = operands.role;
  const void* const from = role.calls_in_place() ? MPI_IN_PLACE : operands.input;
  MPI_Datatype const type = operands.element.datatype;
  const int count = static_cast<int>(role.count);
  const int block = static_cast<int>(role.block_count(role.rank));
  MPI_Comm const comm = MPI_COMM_WORLD;
  std::vector<int> blocks;
  blocks.reserve(static_cast<std::size_t>(role.ranks));
  for (int rank = 0; rank < role.ranks; ++rank) blocks.push_back(static_cast<int>(role.block_count(rank)));
  switch (role.collective) {
    case bench::Collective::allreduce:
      PMPI_Allreduce(from, operands.output, count, type, operation, comm);
      return;
    case bench::Collective::bcast:
      PMPI_Bcast(operands.output, count, type, role.root, comm);
      return;
    case bench::Collective::reduce:
      PMPI_Reduce(from, operands.output, count, type, operation, role.root, comm);
      return;
    case bench::Collective::reduce_scatter:
      PMPI_Reduce_scatter(from, operands.output, blocks.data(), type, operation, comm);
      return;
    case bench::Collective::reduce_scatter_block:
      PMPI_Reduce_scatter_block(from, operands.output, block, type, operation, comm);
      return;
    case bench::Collective::allgather:
      PMPI_Allgather(from, block, type, operands.output, block, type, comm);
      return;
    default:
      throw std::invalid_argument(std::string(bench::names_of(role.collective).name) + ": not simulated");
  }
}

}  // namespace stretto::simulate
