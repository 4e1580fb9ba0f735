// SPDX-License-Identifier: Apache-2.0
// Errors of a program in broadcast and allgather give the same error class as in the library.
#include <functional>
#include <vector>

#include "check.hpp"

namespace {

struct Case {
  const char* name;
  std::function<int(bool by_library, MPI_Comm comm)> call;
};

int ints[64];
int more[64];

Case bcast(const char* name, int count, MPI_Datatype type, int root) {
  return {name, [=](bool by_library, MPI_Comm comm) {
            return (by_library ? LIBRARY(PMPI_Bcast) : MPI_Bcast)(ints, count, type, root, comm);
          }};
}
Case allgather(const char* name, void* to, int count, MPI_Datatype type) {
  return {name, [=](bool by_library, MPI_Comm comm) {
            return (by_library ? LIBRARY(PMPI_Allgather) : MPI_Allgather)(ints, 4, MPI_INT, to, count, type,
                                                                          comm);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const std::vector<Case> cases{bcast("negative root", 8, MPI_INT, -1),
                                bcast("root beyond the last rank", 8, MPI_INT, size_of(comm)),
                                bcast("negative count", -1, MPI_INT, 0),
                                bcast("null datatype", 8, MPI_DATATYPE_NULL, 0),
                                allgather("negative count, allgather", more, -1, MPI_INT),
                                allgather("null datatype, allgather", more, 4, MPI_DATATYPE_NULL)};
  // Before and after Stretto has seen the communicator.
  for (int turn = 0; turn < 2; ++turn) {
    for (const Case& test : cases) {
      const int wanted = error_class(test.call(true, comm));
      const int got = error_class(test.call(false, comm));
      CHECK(wanted != MPI_SUCCESS && got == wanted,
            std::string(test.name) + ": " + std::to_string(got) + ", not " + std::to_string(wanted));
    }
    ints[0] = world_rank() == 0 ? 42 : 0;
    CHECK(MPI_Bcast(ints, 1, MPI_INT, 0, comm) == MPI_SUCCESS && ints[0] == 42);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
