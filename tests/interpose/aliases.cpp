// SPDX-License-Identifier: Apache-2.0
// Buffers that share memory without MPI_IN_PLACE, which is an error that not every rank may see. If the
// library compares addresses and reports the error (MPICH), Stretto reports it on the ranks that see it, and
// the call ends on the others. If the library tolerates the error (Open MPI, in most collectives) and gives
// the same result as with separate buffers, Stretto does so too.
#include <functional>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

#ifdef OPEN_MPI
constexpr bool reports_all = false;
#else
constexpr bool reports_all = true;
#endif

constexpr int block = 5000;
int rank = 0;
int ranks = 0;

/// Returns an element of a rank. The elements of rank r are r * 1000, r * 1000 + 1, …
int element(int of_rank, int index) {
  return of_rank * 1000 + index;
}

/// Returns a buffer with a block for each rank. This rank's own elements begin at `first`.
std::vector<int> buffer_with_own(int first, int count) {
  std::vector<int> buffer(static_cast<std::size_t>(block * ranks), -1);
  for (int i = 0; i < count; ++i) buffer[static_cast<std::size_t>(first + i)] = element(rank, i);
  return buffer;
}

/// Checks a call. `sees`: whether this rank sees the error. `is_right`: whether the result is right; called
/// if it must be.
void expect(const std::string& what, int error, bool sees, bool reports,
            const std::function<bool()>& is_right) {
  if (reports) {
    const int wanted = !reports_all && what == "reduce" ? MPI_ERR_ARG : MPI_ERR_BUFFER;
    CHECK(!sees || error_class(error) == wanted, what + ": " + std::to_string(error));
  } else {
    CHECK(error == MPI_SUCCESS, what);
    CHECK(is_right(), what);
  }
}

/// Returns a new communicator, for use after errors.
MPI_Comm fresh() {
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

int sum_of(int first_rank, int end, int index) {
  int sum = 0;
  for (int r = first_rank; r < end; ++r) sum += element(r, index);
  return sum;
}

bool has_sums(const std::vector<int>& buffer, int first_rank, int end, int first_index, int count) {
  for (int i = 0; i < count; ++i) {
    if (buffer[static_cast<std::size_t>(i)] != sum_of(first_rank, end, first_index + i)) return false;
  }
  return true;
}

void reductions() {
  MPI_Comm comm = fresh();
  const int all = block * ranks;
  std::vector<int> b = buffer_with_own(0, all);
  int error = MPI_Allreduce(b.data(), b.data(), block, MPI_INT, MPI_SUM, comm);
  expect("allreduce", error, true, true, {});
  b = buffer_with_own(0, all);
  std::vector<int> other(b.size());
  // Only the root sees it.
  const bool is_root = rank == 1;
  error = MPI_Reduce(b.data(), is_root ? b.data() : other.data(), block, MPI_INT, MPI_SUM, 1, comm);
  expect("reduce", error, is_root, true, {});
  b = buffer_with_own(0, all);
  const std::vector<int> counts(static_cast<std::size_t>(ranks), block);
  error = MPI_Reduce_scatter(b.data(), b.data(), counts.data(), MPI_INT, MPI_SUM, comm);
  expect("reduce_scatter", error, true, reports_all,
         [&] { return has_sums(b, 0, ranks, rank * block, block); });
  b = buffer_with_own(0, all);
  error = MPI_Reduce_scatter_block(b.data(), b.data(), block, MPI_INT, MPI_SUM, comm);
  expect("reduce_scatter_block", error, true, reports_all,
         [&] { return has_sums(b, 0, ranks, rank * block, block); });
  b = buffer_with_own(0, all);
  error = MPI_Scan(b.data(), b.data(), block, MPI_INT, MPI_SUM, comm);
  expect("scan", error, true, reports_all, [&] { return has_sums(b, 0, rank + 1, 0, block); });
  b = buffer_with_own(0, all);
  error = MPI_Exscan(b.data(), b.data(), block, MPI_INT, MPI_SUM, comm);
  // Rank 0 has no receive buffer.
  expect("exscan", error, rank > 0, reports_all, [&] { return rank == 0 || has_sums(b, 0, rank, 0, block); });
  MPI_Comm_free(&comm);
}

bool has_all_blocks(const std::vector<int>& buffer) {
  for (int r = 0; r < ranks; ++r) {
    for (int i = 0; i < block; ++i) {
      if (buffer[static_cast<std::size_t>(r * block + i)] != element(r, i)) return false;
    }
  }
  return true;
}

void gathers() {
  MPI_Comm comm = fresh();
  std::vector<int> counts(static_cast<std::size_t>(ranks), block);
  std::vector<int> begins(counts.size());
  for (int r = 0; r < ranks; ++r) begins[static_cast<std::size_t>(r)] = r * block;
  const int own = rank * block;
  std::vector<int> b = buffer_with_own(own, block);
  int error =
      MPI_Allgather(&b[static_cast<std::size_t>(own)], block, MPI_INT, b.data(), block, MPI_INT, comm);
  expect("allgather", error, true, reports_all, [&] { return has_all_blocks(b); });
  b = buffer_with_own(own, block);
  error = MPI_Allgatherv(&b[static_cast<std::size_t>(own)], block, MPI_INT, b.data(), counts.data(),
                         begins.data(), MPI_INT, comm);
  expect("allgatherv", error, true, reports_all, [&] { return has_all_blocks(b); });
  const int root = 1;
  const bool is_root = rank == root;
  b = buffer_with_own(own, block);
  error = MPI_Gather(&b[static_cast<std::size_t>(own)], block, MPI_INT, b.data(), block, MPI_INT, root, comm);
  expect("gather", error, is_root, reports_all, [&] { return !is_root || has_all_blocks(b); });
  b = buffer_with_own(own, block);
  error = MPI_Gatherv(&b[static_cast<std::size_t>(own)], block, MPI_INT, b.data(), counts.data(),
                      begins.data(), MPI_INT, root, comm);
  expect("gatherv", error, is_root, reports_all, [&] { return !is_root || has_all_blocks(b); });
  // The blocks are in the first rank's buffer, where no library detects the error.
  if (!reports_all) {
    b = buffer_with_own(0, block);
    error = MPI_Allgather(b.data(), block, MPI_INT, b.data(), block, MPI_INT, comm);
    expect("allgather of the first block", error, true, false, [&] { return has_all_blocks(b); });
  }
  MPI_Comm_free(&comm);
}

void scatters() {
  MPI_Comm comm = fresh();
  const std::vector<int> counts(static_cast<std::size_t>(ranks), block);
  std::vector<int> begins(counts.size());
  for (int r = 0; r < ranks; ++r) begins[static_cast<std::size_t>(r)] = r * block;
  const auto own = static_cast<std::size_t>(rank * block);
  const int root = 1;
  const bool is_root = rank == root;
  const auto has_own = [&](const std::vector<int>& buffer) {
    for (int i = 0; i < block; ++i) {
      if (buffer[own + static_cast<std::size_t>(i)] != element(root, rank * block + i)) return false;
    }
    return true;
  };
  std::vector<int> b = buffer_with_own(0, block * ranks);
  int error = MPI_Scatter(b.data(), block, MPI_INT, &b[own], block, MPI_INT, root, comm);
  expect("scatter", error, is_root, reports_all, [&] { return has_own(b); });
  b = buffer_with_own(0, block * ranks);
  error = MPI_Scatterv(b.data(), counts.data(), begins.data(), MPI_INT, &b[own], block, MPI_INT, root, comm);
  expect("scatterv", error, is_root, reports_all, [&] { return has_own(b); });
  MPI_Comm_free(&comm);
}

void exchanges() {
  MPI_Comm comm = fresh();
  const std::vector<int> counts(static_cast<std::size_t>(ranks), block);
  std::vector<int> begins(counts.size());
  std::vector<int> bytes(counts.size());
  const std::vector<MPI_Datatype> types(counts.size(), MPI_INT);
  for (int r = 0; r < ranks; ++r) {
    begins[static_cast<std::size_t>(r)] = r * block;
    bytes[static_cast<std::size_t>(r)] = r * block * static_cast<int>(sizeof(int));
  }
  const auto has_exchanged = [&](const std::vector<int>& buffer) {
    for (int r = 0; r < ranks; ++r) {
      for (int i = 0; i < block; ++i) {
        if (buffer[static_cast<std::size_t>(r * block + i)] != element(r, rank * block + i)) return false;
      }
    }
    return true;
  };
  std::vector<int> b = buffer_with_own(0, block * ranks);
  int error = MPI_Alltoall(b.data(), block, MPI_INT, b.data(), block, MPI_INT, comm);
  expect("alltoall", error, true, reports_all, [&] { return has_exchanged(b); });
  b = buffer_with_own(0, block * ranks);
  error = MPI_Alltoallv(b.data(), counts.data(), begins.data(), MPI_INT, b.data(), counts.data(),
                        begins.data(), MPI_INT, comm);
  expect("alltoallv", error, true, reports_all, [&] { return has_exchanged(b); });
  b = buffer_with_own(0, block * ranks);
  error = MPI_Alltoallw(b.data(), counts.data(), bytes.data(), types.data(), b.data(), counts.data(),
                        bytes.data(), types.data(), comm);
  expect("alltoallw", error, true, reports_all, [&] { return has_exchanged(b); });
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // which Open MPI calls for MPI_Allreduce
  rank = world_rank();
  ranks = size_of(MPI_COMM_WORLD);
  reductions();
  gathers();
  scatters();
  exchanges();
  CHECK(sums_right(MPI_COMM_WORLD, 20000));
  MPI_Finalize();
}
