// SPDX-License-Identifier: Apache-2.0
// One rank's message is longer or shorter than the others': an error that the communicator's handler
// returns. With every algorithm each rank returns, some with an error, and the next call is right.
#include <vector>

#include "algorithms/registry.hpp"
#include "check.hpp"

namespace {

using stretto::Collective;
using stretto::collectives;
using stretto::Recipe;

int on_comm = 0;
void count_comm(MPI_Comm* /*comm*/, int* /*error*/, ...) {
  ++on_comm;
}

void force(const std::string& collective, const std::string& spec) {
  using Force = int (*)(const char*, const char*, std::size_t);
  static const auto function = reinterpret_cast<Force>(dlsym(RTLD_DEFAULT, "stretto_force"));
  CHECK(function != nullptr && function(collective.c_str(), spec.c_str(), 1) == MPI_SUCCESS, spec);
}

/// Whether the algorithm can serve this communicator.
bool fits(MPI_Comm comm, const std::string& collective, const std::string& spec, std::size_t bytes) {
  using Choice = int (*)(const char*, MPI_Comm, std::size_t, char*, int);
  static const auto ask = reinterpret_cast<Choice>(dlsym(RTLD_DEFAULT, "stretto_choice"));
  std::array<char, 200> text{};
  CHECK(ask != nullptr &&
        ask(collective.c_str(), comm, bytes, text.data(), static_cast<int>(text.size())) == MPI_SUCCESS);
  return text.data() == spec;
}

std::vector<int> in;
std::vector<int> out;

int call(Collective collective, bool is_blocking, int count, MPI_Comm comm) {
  const int ranks = size_of(comm);
  const int block = count / ranks;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
#define EITHER(blocking, other, ...) \
  error = is_blocking ? blocking(__VA_ARGS__) : other(__VA_ARGS__, &request)
  switch (collective) {
    case Collective::allreduce:
      EITHER(MPI_Allreduce, MPI_Iallreduce, in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
      break;
    case Collective::bcast:
      EITHER(MPI_Bcast, MPI_Ibcast, in.data(), count, MPI_INT, 1, comm);
      break;
    case Collective::reduce:
      EITHER(MPI_Reduce, MPI_Ireduce, in.data(), out.data(), count, MPI_INT, MPI_SUM, 1, comm);
      break;
    case Collective::allgather:
      EITHER(MPI_Allgather, MPI_Iallgather, in.data(), block, MPI_INT, out.data(), block, MPI_INT, comm);
      break;
    case Collective::reduce_scatter:
      EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in.data(), out.data(), block, MPI_INT,
             MPI_SUM, comm);
      break;
    default:
      break;
  }
#undef EITHER
  return is_blocking ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void try_lengths(const Recipe& recipe, bool is_blocking, int most, int odd, int odds, MPI_Comm comm) {
  const std::string collective(name_of(recipe.algorithm->collective));
  const std::string spec = to_string(recipe);
  const std::string context = collective + " by " + spec + ", rank " + std::to_string(odd) + " has " +
                              std::to_string(odds) + " of " + std::to_string(most);
  on_comm = 0;
  const int error =
      error_class(call(recipe.algorithm->collective, is_blocking, world_rank() == odd ? odds : most, comm));
  CHECK(error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE || error == MPI_ERR_OTHER,
        context + ": class " + std::to_string(error));
  CHECK(on_comm == (error == MPI_SUCCESS ? 0 : 1), context);
  int failed = error == MPI_SUCCESS ? 0 : 1;
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(failed > 0, context);
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
  for (const Collective collective : {Collective::allreduce, Collective::bcast, Collective::reduce,
                                      Collective::reduce_scatter, Collective::allgather}) {
    for (const Recipe& recipe : stretto::sample_recipes(collective)) {
      const std::string spec = to_string(recipe);
      const int few = 600 * ranks;  // more than there are blocks
      force(std::string(name_of(collective)), spec);
      if (!fits(comm, std::string(name_of(collective)), spec, sizeof(int) * static_cast<std::size_t>(few)))
        continue;
      for (int odd = 0; odd < ranks; ++odd) {
        try_lengths(recipe, true, few, odd, few / 2, comm);
        try_lengths(recipe, false, few / 2, odd, few, comm);
      }
      try_lengths(recipe, true, longest * ranks, ranks - 1, longest / 2 * ranks, comm);
      ++tried;
    }
  }
  CHECK(tried > 20);
  MPI_Errhandler_free(&counts);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
