// SPDX-License-Identifier: Apache-2.0
// Measures what a job loses, or gains, by STRETTO_ONLINE=1. Each call of MPI_Allreduce is paired with a call
// of the library's own function, which Stretto does not see (the MPI default). The order alternates. Run it
// under the preload:
//   stretto lab run --mpi openmpi --stretto -x STRETTO_ONLINE=1 -- online-regret-openmpi 120 16384 65536
// The first argument is the time in seconds for all sizes together; the others are sizes in bytes.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../tests/interpose/library.hpp"

namespace {

using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
constexpr std::size_t parts = 10;  // parts of the time: they show the spread, and the learning

double seconds_of(Function function, std::vector<float>& in, std::vector<float>& out) {
  const double began = MPI_Wtime();
  function(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Wtime() - began;
}

struct Sums {
  std::array<double, parts> online{};
  std::array<double, parts> library{};
  std::size_t calls = 0;  // of each function
};

void print(std::size_t bytes, const Sums& mine) {
  Sums all;  // the sum over the ranks: what the job loses, not what one rank waits for
  MPI_Reduce(mine.online.data(), all.online.data(), parts, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine.library.data(), all.library.data(), parts, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  double online = 0;
  double library = 0;
  std::array<double, parts> losses{};
  for (std::size_t part = 0; part < parts; ++part) {
    online += all.online[part];
    library += all.library[part];
    losses[part] = 100 * (all.online[part] / all.library[part] - 1);
  }
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double each = 1e6 * library / static_cast<double>(mine.calls) / ranks;
  std::printf(
      "%10zu bytes, %zu calls of %.0f us: loss against the MPI default %+.1f %%; by tenths of the time:",
      bytes, mine.calls, each, 100 * (online / library - 1));
  for (const double loss : losses) std::printf(" %+.1f", loss);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS BYTES...\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const double seconds = std::atof(argv[1]);
  const Function library = LIBRARY(PMPI_Allreduce);
  for (int argument = 2; argument < argc; ++argument) {
    const std::size_t bytes = std::strtoul(argv[argument], nullptr, 10);
    std::vector<float> in(bytes / sizeof(float), 1.0F);
    std::vector<float> out(in.size());
    Sums sums;
    const double share = seconds / (argc - 2);
    const double began = MPI_Wtime();
    double part = 0;
    for (bool library_first = false; part < parts; library_first = !library_first) {
      const auto at = static_cast<std::size_t>(part);
      ++sums.calls;
      if (library_first) sums.library[at] += seconds_of(library, in, out);
      sums.online[at] += seconds_of(MPI_Allreduce, in, out);
      if (!library_first) sums.library[at] += seconds_of(library, in, out);
      part = parts * (MPI_Wtime() - began) / share;
      // All ranks end together. Stretto does not see this call.
      LIBRARY(PMPI_Bcast)(&part, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    print(bytes, sums);
  }
  MPI_Finalize();
}
