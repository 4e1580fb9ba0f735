// SPDX-License-Identifier: Apache-2.0
// A few collectives of known sizes. `fail`: ends with status 3 after MPI_Finalize; `early`: with 4, before
// it.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { longest = 3000 };

int main(int argc, char** argv) {
  static float in[longest];
  static float out[longest];
  MPI_Init(&argc, &argv);
  for (int call = 0; call < 5; ++call) MPI_Allreduce(in, out, 1024, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  for (int call = 0; call < 2; ++call) MPI_Allreduce(in, out, longest, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(in, 25, MPI_FLOAT, 0, MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "early") == 0) _exit(4);
  MPI_Finalize();
  return argc > 1 && strcmp(argv[1], "fail") == 0 ? 3 : 0;
}
