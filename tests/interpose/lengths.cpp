// SPDX-License-Identifier: Apache-2.0
// One rank's message is longer or shorter than the others', which is an error. The communicator's handler
// returns errors. With every algorithm each rank returns, some with an error. Nothing is written beyond the
// memory that a rank expects to be written, and the next call is right. If only two ranks know the length of
// a block, the block may be shorter than expected.
#include <algorithm>
#include <vector>

#include "algorithms/mpi_function.hpp"
#include "check.hpp"
#include "forcing.hpp"

namespace {

using stretto::MpiFunction;

int on_comm = 0;
void count_comm(MPI_Comm* /*comm*/, int* /*error*/, ...) {
  ++on_comm;
}

constexpr int root = 1;
constexpr int untouched = 0x5a5a5a5a;
constexpr int margin = 100;  // after what a call may write, and between blocks that have places

std::vector<int> in;
std::vector<int> out;

/// The blocks of a call whose caller says where they are.
struct Blocks {
  std::vector<int> counts;
  std::vector<int> places;
  std::vector<int> bytes;  // to the places
  std::vector<MPI_Datatype> types;

  Blocks(int ranks, int block)
      : counts(static_cast<std::size_t>(ranks), block), types(counts.size(), MPI_INT) {
    for (int rank = 0; rank < ranks; ++rank) {
      places.push_back(rank * (block + margin));
      bytes.push_back(places.back() * static_cast<int>(sizeof(int)));
    }
  }
};

/// Numbers that the call may write, from each place that may be written to.
struct Written {
  std::vector<int> places{0};
  int count = 0;
};
Written written_by(MpiFunction function, int count, MPI_Comm comm) {
  const int ranks = size_of(comm);
  const int block = count / ranks;
  const bool is_root = rank_in(comm) == root;
  switch (function) {
    case MpiFunction::allreduce:
    case MpiFunction::scan:
      return {.count = count};
    case MpiFunction::exscan:
      return {.count = rank_in(comm) == 0 ? 0 : count};
    case MpiFunction::reduce:
      return {.count = is_root ? count : 0};
    case MpiFunction::bcast:
      return {};
    case MpiFunction::reduce_scatter:
    case MpiFunction::reduce_scatter_block:
    case MpiFunction::scatter:
    case MpiFunction::scatterv:
      return {.count = block};
    case MpiFunction::allgather:
    case MpiFunction::alltoall:
      return {.count = block * ranks};
    case MpiFunction::gather:
      return {.count = is_root ? block * ranks : 0};
    case MpiFunction::gatherv:
      if (!is_root) return {};
      [[fallthrough]];
    default:
      return {.places = Blocks(ranks, block).places, .count = block};
  }
}

int call(MpiFunction function, bool is_blocking, int count, MPI_Comm comm) {
  const int ranks = size_of(comm);
  const int block = count / ranks;
  const Blocks blocks(ranks, block);
  const int* counts = blocks.counts.data();
  const int* places = blocks.places.data();
  const int* bytes = blocks.bytes.data();
  const MPI_Datatype* types = blocks.types.data();
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
#define EITHER(blocking, other, ...) \
  error = is_blocking ? blocking(__VA_ARGS__) : other(__VA_ARGS__, &request)
  switch (function) {
    case MpiFunction::allreduce:
      EITHER(MPI_Allreduce, MPI_Iallreduce, in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
      break;
    case MpiFunction::bcast:
      EITHER(MPI_Bcast, MPI_Ibcast, in.data(), count, MPI_INT, root, comm);
      break;
    case MpiFunction::reduce:
      EITHER(MPI_Reduce, MPI_Ireduce, in.data(), out.data(), count, MPI_INT, MPI_SUM, root, comm);
      break;
    case MpiFunction::reduce_scatter:
      EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, in.data(), out.data(), counts, MPI_INT, MPI_SUM, comm);
      break;
    case MpiFunction::reduce_scatter_block:
      EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in.data(), out.data(), block, MPI_INT,
             MPI_SUM, comm);
      break;
    case MpiFunction::allgather:
      EITHER(MPI_Allgather, MPI_Iallgather, in.data(), block, MPI_INT, out.data(), block, MPI_INT, comm);
      break;
    case MpiFunction::allgatherv:
      EITHER(MPI_Allgatherv, MPI_Iallgatherv, in.data(), block, MPI_INT, out.data(), counts, places, MPI_INT,
             comm);
      break;
    case MpiFunction::alltoall:
      EITHER(MPI_Alltoall, MPI_Ialltoall, in.data(), block, MPI_INT, out.data(), block, MPI_INT, comm);
      break;
    case MpiFunction::alltoallv:
      EITHER(MPI_Alltoallv, MPI_Ialltoallv, in.data(), counts, places, MPI_INT, out.data(), counts, places,
             MPI_INT, comm);
      break;
    case MpiFunction::alltoallw:
      EITHER(MPI_Alltoallw, MPI_Ialltoallw, in.data(), counts, bytes, types, out.data(), counts, bytes, types,
             comm);
      break;
    case MpiFunction::gather:
      EITHER(MPI_Gather, MPI_Igather, in.data(), block, MPI_INT, out.data(), block, MPI_INT, root, comm);
      break;
    case MpiFunction::gatherv:
      EITHER(MPI_Gatherv, MPI_Igatherv, in.data(), block, MPI_INT, out.data(), counts, places, MPI_INT, root,
             comm);
      break;
    case MpiFunction::scatter:
      EITHER(MPI_Scatter, MPI_Iscatter, in.data(), block, MPI_INT, out.data(), block, MPI_INT, root, comm);
      break;
    case MpiFunction::scatterv:
      EITHER(MPI_Scatterv, MPI_Iscatterv, in.data(), counts, places, MPI_INT, out.data(), block, MPI_INT,
             root, comm);
      break;
    case MpiFunction::scan:
      EITHER(MPI_Scan, MPI_Iscan, in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
      break;
    case MpiFunction::exscan:
      EITHER(MPI_Exscan, MPI_Iexscan, in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
      break;
    case MpiFunction::barrier:
      break;  // has no length
  }
#undef EITHER
  // The arrays stay until the end of the call.
  return is_blocking ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Whether a rank gets more than it expects. If not, a block that only two ranks know may be shorter.
bool must_fail(MpiFunction function, bool is_at_root, bool is_longer) {
  if (function == MpiFunction::gatherv) return is_at_root != is_longer;
  if (function == MpiFunction::scatterv) return is_at_root == is_longer;
  return true;
}

void try_lengths(MpiFunction function, const std::string& spec, bool is_blocking, int most, int odd, int odds,
                 MPI_Comm comm) {
  const std::string context = std::string(name_of(function)) + " by " + spec + ", rank " +
                              std::to_string(odd) + " has " + std::to_string(odds) + " of " +
                              std::to_string(most) + (is_blocking ? "" : ", non-blocking");
  const int count = world_rank() == odd ? odds : most;
  const Written written = written_by(function, count, comm);
  const auto rest = [&](int place) {
    const auto begin = out.begin() + place + written.count;
    return std::pair(begin, begin + margin);
  };
  for (const int place : written.places) std::fill(rest(place).first, rest(place).second, untouched);
  on_comm = 0;
  const int error = error_class(call(function, is_blocking, count, comm));
  CHECK(error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE || error == MPI_ERR_OTHER,
        context + ": class " + std::to_string(error));
  CHECK(on_comm == (error == MPI_SUCCESS ? 0 : 1), context);
  for (const int place : written.places) {
    CHECK(std::all_of(rest(place).first, rest(place).second, [](int n) { return n == untouched; }),
          context + ": written beyond a block");
  }
  int failed = error == MPI_SUCCESS ? 0 : 1;
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (must_fail(function, odd == root, odds > most)) CHECK(failed > 0, context);
  CHECK(sums_right(comm, 128), context);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // The handler of MPI_COMM_WORLD ends the job.
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler counts{};
  MPI_Comm_create_errhandler(count_comm, &counts);
  MPI_Comm_set_errhandler(comm, counts);
  const int ranks = size_of(comm);
  constexpr int longest = 40000;
  in.resize(static_cast<std::size_t>(2 * longest * ranks));
  out.resize(in.size());
  int tried = 0;
  for (const auto& [function, name, algorithms] : stretto::mpi_functions) {
    if (function == MpiFunction::barrier) continue;
    const std::string collective(name_of(algorithms));
    for (const std::string& spec : specs_of(collective)) {
      const int few = 600 * ranks;  // more than there are blocks
      force(collective, spec);
      if (!fits(comm, collective, spec, sizeof(int) * static_cast<std::size_t>(few))) continue;
      for (int odd = 0; odd < ranks; ++odd) {
        try_lengths(function, spec, true, few, odd, few / 2, comm);
        try_lengths(function, spec, false, few / 2, odd, few, comm);
      }
      try_lengths(function, spec, true, longest * ranks, ranks - 1, longest / 2 * ranks, comm);
      ++tried;
    }
  }
  CHECK(tried > 50);
  MPI_Errhandler_free(&counts);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
