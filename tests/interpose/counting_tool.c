// SPDX-License-Identifier: Apache-2.0
// Somebody else's PMPI tool: it counts the allreduces that reach the MPI library.
#include <mpi.h>
#include <stdio.h>

static int seen = 0;

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  ++seen;
  return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("the tool saw %d\n", seen);
  return PMPI_Finalize();
}
