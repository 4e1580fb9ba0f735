// SPDX-License-Identifier: Apache-2.0
// MPI_IN_PLACE on only some ranks, which MPI allows where it does not require it "at all processes": in
// MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan, blocking and not. The calls are
// repeated, since the results of the first calls decide about later calls.
#include <numeric>
#include <vector>

#include "check.hpp"

namespace {

/// Whether this rank calls in place: now one, now the other, now none, now all.
bool is_in_place(int turn) {
  return turn % 4 == 3 || (turn % 4 != 2 && (world_rank() + turn) % 2 == 0);
}

template <typename Call, typename Start>
void make(bool is_blocking, const Call& call, const Start& start) {
  if (is_blocking) return call();
  MPI_Request request{};
  start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

std::vector<double> own_input(std::size_t count, int turn) {
  std::vector<double> data(count);
  std::iota(data.begin(), data.end(), world_rank() + turn);
  return data;
}

void reduce_scatter(std::size_t block, int turn, bool is_blocking) {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  const auto rank = static_cast<std::size_t>(world_rank());
  // The last rank gets nothing, and need not have a receive buffer.
  std::vector<int> counts(ranks, static_cast<int>(block));
  if (turn % 2 == 0) counts.back() = 0;
  const auto all = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
  std::vector<double> input = own_input(all, turn);
  std::vector<double> output(static_cast<std::size_t>(counts[rank]));
  const bool in_place = counts[rank] > 0 && is_in_place(turn);
  const void* from = in_place ? MPI_IN_PLACE : input.data();
  void* into = in_place ? input.data() : output.empty() ? nullptr : output.data();
  make(
      is_blocking,
      [&] { MPI_Reduce_scatter(from, into, counts.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
      [&](MPI_Request* request) {
        MPI_Ireduce_scatter(from, into, counts.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
      });
  const auto n = static_cast<double>(ranks);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double wanted =
        n * static_cast<double>(rank * block + i + static_cast<std::size_t>(turn)) + n * (n - 1) / 2;
    CHECK(static_cast<double*>(into)[i] == wanted);
  }
}

void reduce_scatter_block(std::size_t block, int turn, bool is_blocking) {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  const auto rank = static_cast<std::size_t>(world_rank());
  const int count = static_cast<int>(block);
  std::vector<double> input = own_input(block * ranks, turn);
  std::vector<double> output(block);
  const bool in_place = is_in_place(turn);
  const void* from = in_place ? MPI_IN_PLACE : input.data();
  double* into = in_place ? input.data() : output.data();
  make(
      is_blocking, [&] { MPI_Reduce_scatter_block(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
      [&](MPI_Request* request) {
        MPI_Ireduce_scatter_block(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
      });
  const auto n = static_cast<double>(ranks);
  for (std::size_t i = 0; i < block; ++i)
    CHECK(into[i] ==
          n * static_cast<double>(rank * block + i + static_cast<std::size_t>(turn)) + n * (n - 1) / 2);
}

void prefix(std::size_t length, int turn, bool is_blocking, bool is_exclusive) {
  const int count = static_cast<int>(length);
  std::vector<double> input = own_input(length, turn);
  std::vector<double> output(length);
  const bool in_place = is_in_place(turn);
  const void* from = in_place ? MPI_IN_PLACE : input.data();
  double* into = in_place ? input.data() : output.data();
  if (is_exclusive) {
    make(
        is_blocking, [&] { MPI_Exscan(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
        [&](MPI_Request* r) { MPI_Iexscan(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r); });
  } else {
    make(
        is_blocking, [&] { MPI_Scan(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
        [&](MPI_Request* r) { MPI_Iscan(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r); });
  }
  const int ranks_before = world_rank() + (is_exclusive ? 0 : 1);
  if (ranks_before == 0) return;
  for (std::size_t i = 0; i < length; ++i) {
    const double wanted = ranks_before * static_cast<double>(i + static_cast<std::size_t>(turn)) +
                          ranks_before * (ranks_before - 1) / 2.0;
    CHECK(into[i] == wanted);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const std::size_t length : {1, 100, 1000, 10'000, 60'000}) {
    const int turns = length > 10'000 ? 12 : 40;
    for (int turn = 0; turn < turns; ++turn) {
      const bool is_blocking = turn % 5 != 4;
      reduce_scatter(length, turn, is_blocking);
      reduce_scatter_block(length, turn, is_blocking);
      prefix(length, turn, is_blocking, false);
      prefix(length, turn, is_blocking, true);
    }
  }
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
