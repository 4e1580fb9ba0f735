// SPDX-License-Identifier: Apache-2.0
// An allreduce of memory from the heap, for the address sanitizer. `overflow`: writes behind its end.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double* in = malloc(count * sizeof *in);
  double* out = malloc(count * sizeof *out);
  for (int i = 0; i < count; ++i) in[i] = i;
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  puts(out[count - 1] == (double)ranks * (count - 1) ? "right" : "wrong");
  if (argc > 1) out[count] = 1;
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
