// SPDX-License-Identifier: Apache-2.0
// The arguments that each rank gives a collective of MPI, in one place for all callers.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/cases/cases.hpp"
#include "mpi/places.hpp"

namespace stretto::bench {

class Arguments {
 public:
  Arguments(const Role& role, const Element& element);

  /// Returns pass(arguments...) with the arguments of the blocking function, in its order. `input` and
  /// `output` are this rank's buffers. Handles are raw, as the function gets them.
  template <typename Pass>
  int give(const void* input, void* output, MPI_Op op, MPI_Comm comm, const Pass& pass) const;

 private:
  /// The counts and begins that a call gives for each rank.
  struct Lengths {
    std::vector<int> counts;
    std::vector<int> begins;

    void add(std::size_t count, std::size_t begin) {
      counts.push_back(static_cast<int>(count));
      begins.push_back(static_cast<int>(begin));
    }
    [[nodiscard]] const int* all_counts() const { return counts.data(); }
    [[nodiscard]] const int* all_begins() const { return begins.data(); }
  };

  Role role_;
  MPI_Datatype type_;
  Lengths blocks_;
  Lengths sent_;                     // in an alltoall
  Lengths received_;                 // in an alltoall
  HandleArray<MPI_Datatype> types_;  // of each rank
};

template <typename Pass>
int Arguments::give(const void* input, void* output, MPI_Op op, MPI_Comm comm, const Pass& pass) const {
  // In place, the root of a scatter passes MPI_IN_PLACE for its output.
  const bool in_place = role_.calls_in_place();
  const bool keeps_input = is_scatter(role_.collective);
  const void* const from = in_place && !keeps_input ? mpi.in_place : input;
  void* const to = in_place && keeps_input ? const_cast<void*>(mpi.in_place) : output;
  const int count = static_cast<int>(role_.count);
  const int* const counts = blocks_.all_counts();
  const int* const begins = blocks_.all_begins();
  const int block = counts[role_.rank];
  switch (role_.collective) {
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan:
      return pass(from, to, count, type_, op, comm);
    case Collective::bcast:
      return pass(to, count, type_, role_.root, comm);
    case Collective::reduce:
      return pass(from, to, count, type_, op, role_.root, comm);
    case Collective::reduce_scatter:
      return pass(from, to, counts, type_, op, comm);
    case Collective::reduce_scatter_block:
      return pass(from, to, block, type_, op, comm);
    case Collective::allgather:
    case Collective::alltoall:
      return pass(from, block, type_, to, block, type_, comm);
    case Collective::allgatherv:
      return pass(from, block, type_, to, counts, begins, type_, comm);
    case Collective::alltoallv:
      return pass(from, sent_.all_counts(), sent_.all_begins(), type_, to, received_.all_counts(),
                  received_.all_begins(), type_, comm);
    case Collective::alltoallw:
      return pass(from, sent_.all_counts(), sent_.all_begins(), types_.data(), to, received_.all_counts(),
                  received_.all_begins(), types_.data(), comm);
    case Collective::gather:
    case Collective::scatter:
      return pass(from, block, type_, to, block, type_, role_.root, comm);
    case Collective::gatherv:
      return pass(from, block, type_, to, counts, begins, type_, role_.root, comm);
    case Collective::scatterv:
      return pass(from, counts, begins, type_, to, block, type_, role_.root, comm);
    case Collective::barrier:
      return pass(comm);
  }
  return mpi.err_intern;
}

}  // namespace stretto::bench
