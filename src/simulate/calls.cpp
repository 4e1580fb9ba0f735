// SPDX-License-Identifier: Apache-2.0
#include "simulate/calls.hpp"

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/relayed_execution.hpp"
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

/// Whether a block's length is known on this rank.
bool is_known(const Role& role, int rank) {
  const Collective collective = algorithms_for(role);
  return !has_private_lengths(collective) || is_alltoall(collective) || role.is_root() || rank == role.rank;
}

std::vector<std::size_t> borders_of(const Role& role, bool of_output) {
  std::vector<std::size_t> borders;
  const Collective collective = algorithms_for(role);
  if (!has_block_of_each_rank(collective) || (of_output && !has_private_lengths(collective))) return borders;
  borders.push_back(0);
  for (int rank = 0; rank < role.ranks; ++rank) {
    std::size_t count = is_known(role, rank) ? role.block_count(rank) : 0;
    if (is_alltoall(collective)) {
      count = of_output ? role.part_count(rank, role.rank) : role.part_count(role.rank, rank);
    }
    borders.push_back(borders.back() + count);
  }
  return borders;
}

/// A barrier's one block.
stretto::Call barrier_call() {
  static const std::byte block{};
  stretto::Call call = stretto::Call::whole(
      &block, nullptr, 1,
      {.datatype = MPI_BYTE, .op = MPI_BOR, .size = 1, .extent = 1, .true_extent = 1, .kernel = nullptr});
  call.output_holds = {};
  return call;
}

stretto::Call call_of(const Operands& operands, const std::vector<std::size_t>& borders) {
  const Role& role = operands.role;
  const Collective collective = algorithms_for(role);
  if (collective == Collective::barrier) return barrier_call();
  stretto::Call call = stretto::Call::whole(role.in_place ? operands.output : operands.input, operands.output,
                                            role.count, operands.element);
  call.in_place = role.in_place;
  call.root = role.root;
  const auto rank = static_cast<std::size_t>(role.rank);
  const Range own = borders.empty() ? Range{} : Range{borders[rank], borders[rank + 1] - borders[rank]};
  // As on all ranks, some of which do not know how many elements there are.
  if (has_private_lengths(collective)) call.count = 0;
  switch (collective) {
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
    case Collective::alltoall:
    case Collective::alltoallv:
      call.in_place = false;
      if (role.in_place) call.input = operands.copy;
      break;
    case Collective::gather:
    case Collective::gatherv:
      call.in_place = role.calls_in_place();
      call.input = call.in_place ? operands.output : operands.input;
      if (!call.in_place) call.input_holds = own;
      if (!role.is_root()) call.output_holds = {};
      break;
    case Collective::scatter:
    case Collective::scatterv:
      call.in_place = role.calls_in_place();
      call.input = operands.input;
      call.output = call.in_place ? operands.input : operands.output;
      if (!call.in_place) call.output_holds = own;
      if (!role.is_root()) call.input_holds = {};
      break;
    case Collective::scan:
      break;
    case Collective::exscan:
      if (role.rank == 0) call.output_holds = {};
      break;
    case Collective::barrier:
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

/// MPI_Alltoallv or MPI_Alltoallw.
void run_native_alltoall(const Operands& operands, const void* from) {
  const Role& role = operands.role;
  const auto ranks = static_cast<std::size_t>(role.ranks);
  const bool by_types = role.collective == bench::Collective::alltoallw;
  const auto unit = static_cast<int>(by_types ? operands.element.size : 1);
  MPI_Datatype const type = operands.element.datatype;
  const std::vector<MPI_Datatype> types(ranks, type);
  std::array<std::vector<int>, 2> counts;
  std::array<std::vector<int>, 2> begins;
  for (int rank = 0; rank < role.ranks; ++rank) {
    counts[0].push_back(static_cast<int>(role.part_count(role.rank, rank)));
    begins[0].push_back(unit * static_cast<int>(role.part_begin_in_input(role.rank, rank)));
    counts[1].push_back(static_cast<int>(role.part_count(rank, role.rank)));
    begins[1].push_back(unit * static_cast<int>(role.part_begin_in_output(rank, role.rank)));
  }
  if (by_types) {
    PMPI_Alltoallw(from, counts[0].data(), begins[0].data(), types.data(), operands.output, counts[1].data(),
                   begins[1].data(), types.data(), MPI_COMM_WORLD);
  } else {
    PMPI_Alltoallv(from, counts[0].data(), begins[0].data(), type, operands.output, counts[1].data(),
                   begins[1].data(), type, MPI_COMM_WORLD);
  }
}

std::unique_ptr<Execution> make_execution(Schedule schedule, const Spec& spec) {
  if (spec.recipe.algorithm->relays) {
    return std::make_unique<RelayedExecution>(MPI_COMM_WORLD, nullptr, std::move(schedule), nullptr);
  }
  return std::make_unique<ScheduleExecution>(MPI_COMM_WORLD, nullptr, std::move(schedule),
                                             pipelining_of(spec));
}

}  // namespace

OwnCall::OwnCall(const Operands& operands, const Spec& spec, const Topology& topology, double round)
    : operands_(operands),
      borders_(borders_of(operands.role, false)),
      output_borders_(borders_of(operands.role, true)),
      call_(call_of(operands, borders_)),
      rounds_(std::make_unique<Rounds>(round)),
      execution_(make_execution(schedule_of(operands, spec, topology), spec)) {
  call_.borders = borders_;
  call_.output_borders = output_borders_;
  execution_->observe(rounds_.get());
}

void OwnCall::run() {
  if (operands_.copies) {
    std::memcpy(operands_.copy, operands_.output,
                operands_.role.count * static_cast<std::size_t>(operands_.element.size));
  }
  execution_->start(call_, {});
  while (!execution_->ended()) execution_->progress();
  if (execution_->error() != MPI_SUCCESS) throw std::runtime_error("a message failed in the simulation");
}

void run_native(const Operands& operands, MPI_Op operation) {
  const Role& role = operands.role;
  const bool in_place = role.calls_in_place();
  const bool keeps_input = is_scatter(role.collective);
  const void* const from = in_place && !keeps_input ? MPI_IN_PLACE : operands.input;
  void* const output = in_place && keeps_input ? MPI_IN_PLACE : operands.output;
  MPI_Datatype const type = operands.element.datatype;
  const int count = static_cast<int>(role.count);
  const int block = static_cast<int>(role.block_count(role.rank));
  MPI_Comm const comm = MPI_COMM_WORLD;
  std::vector<int> blocks;
  std::vector<int> begins;
  for (int rank = 0; rank < role.ranks; ++rank) {
    blocks.push_back(static_cast<int>(role.block_count(rank)));
    begins.push_back(static_cast<int>(role.block_begin(rank)));
  }
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
    case bench::Collective::allgatherv:
      PMPI_Allgatherv(from, block, type, output, blocks.data(), begins.data(), type, comm);
      return;
    case bench::Collective::alltoall:
      PMPI_Alltoall(from, block, type, output, block, type, comm);
      return;
    case bench::Collective::alltoallv:
    case bench::Collective::alltoallw:
      run_native_alltoall(operands, from);
      return;
    case bench::Collective::gather:
      PMPI_Gather(from, block, type, output, block, type, role.root, comm);
      return;
    case bench::Collective::gatherv:
      PMPI_Gatherv(from, block, type, output, blocks.data(), begins.data(), type, role.root, comm);
      return;
    case bench::Collective::scatter:
      PMPI_Scatter(from, block, type, output, block, type, role.root, comm);
      return;
    case bench::Collective::scatterv:
      PMPI_Scatterv(from, blocks.data(), begins.data(), type, output, block, type, role.root, comm);
      return;
    case bench::Collective::scan:
      PMPI_Scan(from, output, count, type, operation, comm);
      return;
    case bench::Collective::exscan:
      PMPI_Exscan(from, output, count, type, operation, comm);
      return;
    case bench::Collective::barrier:
      PMPI_Barrier(comm);
      return;
  }
}

}  // namespace stretto::simulate
