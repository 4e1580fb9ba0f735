// SPDX-License-Identifier: Apache-2.0
// Measures what Stretto adds to communicators that live for few calls: a duplicate of MPI_COMM_WORLD, some
// collectives on it, and its end, as solvers and libraries for files make them all day. Rounds by the
// functions that the program calls alternate with rounds by the library's own, which Stretto does not see.
// Prints medians over rounds, on the slowest rank, their difference, and the spread of the difference. Run it
// under the preload:
//   mpirun -n 2 -x LD_PRELOAD=.../libstretto.so new-communicators-openmpi [ROUNDS]
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../tests/interpose/library.hpp"

namespace {

struct Functions {
  decltype(&MPI_Comm_dup) dup;
  decltype(&MPI_Comm_free) free;
  decltype(&MPI_Allreduce) allreduce;
  decltype(&MPI_Bcast) bcast;
  decltype(&MPI_Reduce) reduce;
};

enum class Kind { allreduce, bcast, reduce };
constexpr std::array<const char*, 3> names{"allreduce", "bcast", "reduce"};

struct Buffers {
  std::vector<double> in;
  std::vector<double> out;
};

void call(const Functions& by, Kind kind, Buffers& buffers, MPI_Comm comm) {
  const int count = static_cast<int>(buffers.in.size());
  switch (kind) {
    case Kind::allreduce:
      by.allreduce(buffers.in.data(), buffers.out.data(), count, MPI_DOUBLE, MPI_SUM, comm);
      break;
    case Kind::bcast:
      by.bcast(buffers.in.data(), count, MPI_DOUBLE, 0, comm);
      break;
    case Kind::reduce:
      by.reduce(buffers.in.data(), buffers.out.data(), count, MPI_DOUBLE, MPI_SUM, 0, comm);
      break;
  }
}

/// Returns the microseconds of a communicator's life.
double live(const Functions& by, Kind kind, int calls, Buffers& buffers) {
  const auto began = std::chrono::steady_clock::now();
  MPI_Comm comm{};
  by.dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < calls; ++i) call(by, kind, buffers, comm);
  by.free(&comm);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void measure(Kind kind, int calls, std::size_t elements, int rounds) {
  const Functions program{MPI_Comm_dup, MPI_Comm_free, MPI_Allreduce, MPI_Bcast, MPI_Reduce};
  const Functions library{LIBRARY(PMPI_Comm_dup), LIBRARY(PMPI_Comm_free), LIBRARY(PMPI_Allreduce),
                          LIBRARY(PMPI_Bcast), LIBRARY(PMPI_Reduce)};
  Buffers buffers{std::vector<double>(elements, 1), std::vector<double>(elements)};
  std::vector<double> with;
  std::vector<double> without;
  for (int round = 0; round < rounds; ++round) {
    with.push_back(live(program, kind, calls, buffers));
    without.push_back(live(library, kind, calls, buffers));
  }
  for (std::vector<double>* times : {&with, &without})
    library.allreduce(MPI_IN_PLACE, times->data(), rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::vector<double> added;
  for (std::size_t i = 0; i < with.size(); ++i) added.push_back(with[i] - without[i]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  std::printf(
      "%-9s %3d x %7zu B: %8.1f us, the library alone %8.1f us, ratio %.2f; added %6.1f us (quartiles %.1f "
      "to %.1f)\n",
      names.at(static_cast<std::size_t>(kind)), calls, elements * sizeof(double), quantile(with, 0.5),
      quantile(without, 0.5), quantile(with, 0.5) / quantile(without, 0.5), quantile(added, 0.5),
      quantile(added, 0.25), quantile(added, 0.75));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 400;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool is_loaded = dlsym(RTLD_DEFAULT, "stretto_version") != nullptr;
  if (rank == 0) std::puts(is_loaded ? "under Stretto" : "Stretto is not loaded");
  for (const Kind kind : {Kind::allreduce, Kind::bcast, Kind::reduce}) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{10'000}}) {
      for (const int calls : {1, 10}) measure(kind, calls, elements, rounds);
    }
  }
  measure(Kind::allreduce, 1, std::size_t{1} << 17, rounds / 4);
  // Those that live for longer are prepared for Stretto in the course of it.
  for (const int calls : {1000, 2000, 4000}) measure(Kind::allreduce, calls, 10'000, rounds / 20);
  MPI_Finalize();
}
