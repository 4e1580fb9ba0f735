// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <mpi.h>
#include <stretto/stretto.h>

#include <utility>

#include "library.hpp"

namespace stretto::bench {

Call::Call(const Role& role, Element element, std::string spec)
    : role_(role),
      element_(std::move(element)),
      spec_(std::move(spec)),
      native_(spec_ == "native"),
      automatic_(spec_ == "auto") {
  for (int rank = 0; rank < role.ranks; ++rank) {
    block_counts_.push_back(static_cast<int>(role.block_count(rank)));
  }
}

template <typename Plain, typename BySpec, typename... Arguments>
int Call::call(Plain native, Plain automatic, BySpec by_spec, Arguments... arguments) const {
  if (native_) return native(arguments...);
  if (automatic_) return automatic(arguments...);
  return by_spec(arguments..., spec_.c_str());
}

int Call::operator()(const void* input, void* output) const {
  const void* const from = role_.calls_in_place() ? MPI_IN_PLACE : input;
  const MPI_Datatype type = element_.datatype;
  const int count = static_cast<int>(role_.count);
  const int block_count = block_counts_[static_cast<std::size_t>(role_.rank)];
  switch (role_.collective) {
    case Collective::allreduce:
      return call(LIBRARY(PMPI_Allreduce), MPI_Allreduce, stretto_allreduce, from, output, count, type, MPI_SUM,
                  MPI_COMM_WORLD);
    case Collective::bcast:
      return call(LIBRARY(PMPI_Bcast), MPI_Bcast, stretto_bcast, output, count, type, role_.root, MPI_COMM_WORLD);
    case Collective::reduce:
      return call(LIBRARY(PMPI_Reduce), MPI_Reduce, stretto_reduce, from, output, count, type, MPI_SUM, role_.root,
                  MPI_COMM_WORLD);
    case Collective::reduce_scatter:
      return call(LIBRARY(PMPI_Reduce_scatter), MPI_Reduce_scatter, stretto_reduce_scatter, from, output,
                  block_counts_.data(), type, MPI_SUM, MPI_COMM_WORLD);
    case Collective::reduce_scatter_block:
      return call(LIBRARY(PMPI_Reduce_scatter_block), MPI_Reduce_scatter_block, stretto_reduce_scatter_block, from,
                  output, block_count, type, MPI_SUM, MPI_COMM_WORLD);
    case Collective::allgather:
      return call(LIBRARY(PMPI_Allgather), MPI_Allgather, stretto_allgather, from, block_count, type, output,
                  block_count, type, MPI_COMM_WORLD);
  }
  return MPI_ERR_INTERN;
}

}  // namespace stretto::bench
