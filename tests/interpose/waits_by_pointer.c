/* SPDX-License-Identifier: Apache-2.0 */
/* A module that calls one function of MPI directly and another one by its address. Where it looks past a
 * preload, an auditor is told of the former only: if that alone came to Stretto, the library would wait for a
 * request that it did not make. */
#include <mpi.h>
#include <stdio.h>

int main_of_module(int argc, char** argv);

static int (*volatile wait_by_pointer)(MPI_Request*, MPI_Status*) = MPI_Wait;

int main_of_module(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  enum { count = 1000000 };
  static int in[count];
  static int out[count];
  int wrong = 0;
  for (int repetition = 0; repetition < 10; ++repetition) {
    for (int i = 0; i < count; ++i) {
      in[i] = 1;
      out[i] = 0;
    }
    MPI_Request request;
    MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_by_pointer(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) wrong += out[i] != 2;
  }
  MPI_Finalize();
  if (rank == 0) puts(wrong == 0 ? "right" : "wrong");
  return 0;
}
