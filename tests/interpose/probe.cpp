// SPDX-License-Identifier: Apache-2.0
// A small program for the tests of loading and settings: three sums of 1000 int, two of 10, and other
// things that a program may do. Rank 0 prints "right" if all is. Argument "children": each rank also starts
// a shell and a Python.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) CHECK(sums_right(MPI_COMM_WORLD, 1000));
  for (int i = 0; i < 2; ++i) CHECK(sums_right(MPI_COMM_WORLD, 10));
  if (argc > 1 && std::string_view(argv[1]) == "children") {
    CHECK(std::system("sh -c 'ls / >/dev/null'") == 0);
    CHECK(std::system("python3 -c pass") == 0);
  }
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
}
