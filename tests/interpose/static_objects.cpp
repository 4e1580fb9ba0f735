// SPDX-License-Identifier: Apache-2.0
// MPI before main and after it. The macros select the part: a program, or a library that it links.
//
// LIBRARY          a shared library
//   BEGINS           MPI_Init in its constructor
//   ENDS             the last calls and MPI_Finalize in its destructor
//   HAS_STATIC       in the destructor of a static object of the library
// otherwise        the program: MPI_Init in main
//   HAS_GLOBAL       the last calls and MPI_Finalize in the destructor of a global object
//   LIBRARY_BEGINS   the library has begun MPI
//   LIBRARY_ENDS     the library ends it
//
// If all results were right, rank 0 makes the file $DONE before MPI_Finalize: the launcher of MPICH 5 may
// kill ranks that continue after it.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// Makes enough calls of enough lengths that the ranks measure their network, and have findings to keep.
[[maybe_unused]] bool calls_are_right() {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = true;
  for (const int count : {1, 500, 20000, 60000}) {
    for (int turn = 0; turn < 40; ++turn) {
      std::vector<int> elements(static_cast<std::size_t>(count), rank + turn);
      MPI_Allreduce(MPI_IN_PLACE, elements.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      const int expected = ranks * (ranks - 1) / 2 + ranks * turn;
      if (elements.back() != expected) {
        std::fprintf(stderr, "rank %d: sum %d of %d elements: %d, not %d\n", rank, turn, count,
                     elements.back(), expected);
        right = false;
      }
      MPI_Bcast(elements.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
      MPI_Request request{};
      MPI_Iallreduce(MPI_IN_PLACE, elements.data(), count, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  return right;
}

[[maybe_unused]] void end() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool right = calls_are_right();
  const char* path = std::getenv("DONE");
  std::FILE* done = rank == 0 && right && path != nullptr ? std::fopen(path, "w") : nullptr;
  if (done != nullptr) std::fclose(done);
  MPI_Finalize();
}

struct Ending {
  Ending() = default;
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { end(); }
};

#if defined(HAS_GLOBAL) || defined(HAS_STATIC)
const Ending ending;
#endif

}  // namespace

#ifdef LIBRARY

extern "C" void be_needed() {}

#ifdef BEGINS
__attribute__((constructor)) static void begin() {
  MPI_Init(nullptr, nullptr);
}
#endif
#ifdef ENDS
__attribute__((destructor)) static void destroy() {
  end();
}
#endif

#else

#if defined(LIBRARY_BEGINS) || defined(LIBRARY_ENDS)
extern "C" void be_needed();
#else
static void be_needed() {}
#endif

int main(int argc, char** argv) {
  be_needed();
#ifndef LIBRARY_BEGINS
  MPI_Init(&argc, &argv);
#endif
  if (argc < 1 || argv == nullptr || !calls_are_right()) return EXIT_FAILURE;
#if !defined(LIBRARY_ENDS) && !defined(HAS_GLOBAL)
  end();
#endif
  return EXIT_SUCCESS;
}

#endif
