// SPDX-License-Identifier: Apache-2.0
// Measures collectives of the ranks of a node against what their memory allows. In turns: the library's own
// function, which Stretto does not see; the one that programs call; and two loops on all ranks at once, a
// copy and a sum of vectors as long. Hot: every call has the same buffers. Cold: calls walk through more
// memory than caches hold. Run it under the preload, with a core for each rank:
//   mpirun -n 2 -x LD_PRELOAD=.../libstretto.so memory-bound-openmpi 60 67108864 allreduce
// The arguments are the time in seconds for all sizes together, the largest size in bytes, and the
// collective: allreduce, allreduce_in_place, bcast, reduce, allgather or reduce_scatter (of the whole
// vector). Two ranks first pass a line to and fro: no exchange takes less than that.
//
// The bound is of an allreduce. It is the bytes that the best known algorithm must move, divided by the rate
// of the faster loop. Hot, that is s (5p - 2) bytes of loads and stores for p ranks with s bytes each: each
// writes all but its own part for the others, reads p parts and writes the sum of them, twice, and reads what
// the others have summed. Cold, each rank at least loads its vector and stores the result: 2 s p.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "../../tests/interpose/library.hpp"

namespace {

constexpr std::size_t area_bytes = std::size_t{96} << 20;  // of a rank's cold vectors, each of three
constexpr std::size_t step_beyond = 4096 + 64;  // no prefetch helps from one cold vector to the next
constexpr double sample_seconds = 1e-3;
constexpr int most_calls = 4096;

enum What : std::size_t { library, stretto, copy, sum, whats };

/// The vectors of a rank: the same ones, or one after another.
class Vectors {
 public:
  Vectors() : in_(elements(), 1.0F), other_(elements(), 2.0F), out_(elements(), 0.0F) {}

  struct Vector {
    const float* in;
    const float* other;
    float* out;
  };
  Vector next(std::size_t bytes, bool is_cold) {
    if (!is_cold || at_ + bytes > area_bytes) at_ = 0;
    const std::size_t at = at_;
    if (is_cold) at_ += bytes + step_beyond - bytes % 64;
    const std::size_t first = at / sizeof(float);
    return {in_.data() + first, other_.data() + first, out_.data() + first};
  }

 private:
  static std::size_t elements() { return area_bytes / sizeof(float); }
  std::size_t at_ = 0;
  std::vector<float> in_;
  std::vector<float> other_;
  std::vector<float> out_;
};

struct Job {
  std::string_view collective = "allreduce";
  int ranks = 1;
};

// `call` is a macro's argument: the library's function, or the one that the program calls.
#define CALL_COLLECTIVE(call)                                                                                \
  if (job.collective == "bcast")                                                                             \
    call(Bcast)(on.out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);                                                \
  else if (job.collective == "reduce")                                                                       \
    call(Reduce)(on.in, on.out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);                               \
  else if (job.collective == "allgather")                                                                    \
    call(Allgather)(on.in, part, MPI_FLOAT, on.out, part, MPI_FLOAT, MPI_COMM_WORLD);                        \
  else if (job.collective == "reduce_scatter")                                                               \
    call(Reduce_scatter_block)(on.in, on.out, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);                     \
  else                                                                                                       \
    call(Allreduce)(job.collective == "allreduce" ? on.in : MPI_IN_PLACE, on.out, count, MPI_FLOAT, MPI_SUM, \
                    MPI_COMM_WORLD)
#define BY_LIBRARY(name) LIBRARY(PMPI_##name)
#define BY_PROGRAM(name) MPI_##name

void work(What what, const Job& job, const Vectors::Vector& on, std::size_t bytes) {
  const auto count = static_cast<int>(bytes / sizeof(float));
  const int part = count / job.ranks;
  switch (what) {
    case library:
      CALL_COLLECTIVE(BY_LIBRARY);
      break;
    case stretto:
      CALL_COLLECTIVE(BY_PROGRAM);
      break;
    case copy:
      std::memcpy(on.out, on.in, bytes);
      break;
    default:
      for (int i = 0; i < count; ++i) on.out[i] = on.in[i] + on.other[i];
  }
}

class Bench {
 public:
  explicit Bench(const Job& job) : job_(job) {}

  /// Seconds of one of `calls` in a row, on the slowest rank.
  double sample(What what, std::size_t bytes, bool is_cold, int calls) {
    LIBRARY(PMPI_Barrier)(MPI_COMM_WORLD);
    const double began = PMPI_Wtime();
    for (int i = 0; i < calls; ++i) work(what, job_, vectors_.next(bytes, is_cold), bytes);
    const double own = (PMPI_Wtime() - began) / calls;
    double slowest = 0;
    LIBRARY(PMPI_Allreduce)(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
  }

  /// Medians of samples that are taken in turns.
  std::array<double, whats> measure(std::size_t bytes, bool is_cold, double seconds) {
    constexpr std::size_t least_rounds = 5;
    std::array<int, whats> calls{};
    for (std::size_t what = 0; what < whats; ++what) {
      sample(static_cast<What>(what), bytes, is_cold, 2);
      const double one = sample(static_cast<What>(what), bytes, is_cold, 8);
      calls.at(what) = static_cast<int>(std::clamp(sample_seconds / one, 1.0, most_calls * 1.0));
    }
    std::array<std::vector<double>, whats> taken;
    double elapsed = 0;
    for (const double began = PMPI_Wtime(); taken[0].size() < least_rounds || elapsed < seconds;) {
      for (std::size_t i = 0; i < whats; ++i) {
        const std::size_t what = (i + taken[0].size()) % whats;
        pending_.at(what) = sample(static_cast<What>(what), bytes, is_cold, calls.at(what));
      }
      for (std::size_t what = 0; what < whats; ++what) taken.at(what).push_back(pending_.at(what));
      elapsed = PMPI_Wtime() - began;
      LIBRARY(PMPI_Bcast)(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    std::array<double, whats> medians{};
    for (std::size_t what = 0; what < whats; ++what) {
      std::vector<double>& all = taken.at(what);
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), middle, all.end());
      medians.at(what) = *middle;
    }
    return medians;
  }

 private:
  Job job_;
  Vectors vectors_;
  std::array<double, whats> pending_{};
};

/// Seconds in which two ranks pass a line to and fro: the best of some rows of them.
double line_round_trip(int rank, int ranks) {
  if (ranks != 2) return 0;
  constexpr std::size_t line = 128;
  constexpr int times = 1000;
  char* own = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate_shared(rank == 0 ? 2 * line : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  char* lines = nullptr;
  MPI_Win_shared_query(window, 0, &bytes, &unit, static_cast<void*>(&lines));
  const auto number = [&](int of) {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(lines + static_cast<std::size_t>(of) * line));
  };
  number(rank).store(0);
  double best = 1;
  for (std::uint32_t row = 0; row < 20; ++row) {
    LIBRARY(PMPI_Barrier)(MPI_COMM_WORLD);
    const double began = PMPI_Wtime();
    for (std::uint32_t i = 1; i <= times; ++i) {
      const std::uint32_t now = row * times + i;
      if (rank == 0) number(0).store(now, std::memory_order_release);
      while (number(1 - rank).load(std::memory_order_acquire) != now) {
      }
      if (rank == 1) number(1).store(now, std::memory_order_release);
    }
    best = std::min(best, (PMPI_Wtime() - began) / times);
  }
  MPI_Win_free(&window);
  return best;
}

void print(std::size_t bytes, bool is_cold, int ranks, const std::array<double, whats>& seconds) {
  const auto length = static_cast<double>(bytes);
  // Of all ranks together: a copy loads and stores each byte, a sum loads two and stores one.
  const double rate = ranks * length * std::max(2 / seconds[copy], 3 / seconds[sum]);
  const double bound = length * (is_cold ? 2 * ranks : 5 * ranks - 2) / rate;
  std::printf("%10zu  %-4s  %10.2f  %10.2f  %5.2f  %8.1f  %10.2f  %5.2f  %5.2f\n", bytes,
              is_cold ? "cold" : "hot", 1e6 * seconds[library], 1e6 * seconds[stretto],
              seconds[library] / seconds[stretto], rate / 1e9, 1e6 * bound, bound / seconds[library],
              bound / seconds[stretto]);
  static_cast<void>(std::fflush(stdout));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const std::size_t longest =
      std::min(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : std::size_t{64} << 20, area_bytes);
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 8; bytes <= longest; bytes *= bytes < 4096 ? 8 : 4) sizes.push_back(bytes);
  if (sizes.back() != longest) sizes.push_back(longest);
  Job job{.ranks = ranks};
  if (argc > 3) job.collective = argv[3];
  const double round_trip = line_round_trip(rank, ranks);
  if (rank == 0) {
    std::printf("%s of float, %d ranks; us: medians in turns, of the slowest rank\n", job.collective.data(),
                ranks);
    if (ranks == 2) std::printf("a line to and fro: %.2f us\n", 1e6 * round_trip);
    std::printf("%10s  %-4s  %10s  %10s  %5s  %8s  %10s  %11s\n%68s  %5s  %5s\n", "bytes", "", "library",
                "Stretto", "ratio", "GB/s", "bound", "of bound", "", "libr.", "Str.");
  }
  Bench bench(job);
  for (const bool is_cold : {false, true}) {
    for (const std::size_t bytes : sizes) {
      const auto found = bench.measure(bytes, is_cold, seconds / 2 / static_cast<double>(sizes.size()));
      if (rank == 0) print(bytes, is_cold, ranks, found);
    }
  }
  MPI_Finalize();
}
