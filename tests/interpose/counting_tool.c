// SPDX-License-Identifier: Apache-2.0
// A PMPI tool behind Stretto that counts the calls on their way to the MPI library.
#include <mpi.h>
#include <stdio.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name
#define NEXT_PERSISTENT(name) PMPIX_##name
#else
#define PERSISTENT(name) MPI_##name
#define NEXT_PERSISTENT(name) PMPI_##name
#endif

static struct {
  int Allreduce, Iallreduce, Allreduce_init, Barrier, Bcast, Ibcast, Reduce, Start, Wait, Waitall;
} seen;

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  ++seen.Allreduce;
  return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  ++seen.Iallreduce;
  return PMPI_Iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request);
}

int PERSISTENT(Allreduce_init)(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  ++seen.Allreduce_init;
  return NEXT_PERSISTENT(Allreduce_init)(sendbuf, recvbuf, count, datatype, op, comm, info, request);
}

int MPI_Barrier(MPI_Comm comm) {
  ++seen.Barrier;
  return PMPI_Barrier(comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  ++seen.Bcast;
  return PMPI_Bcast(buffer, count, datatype, root, comm);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
               MPI_Request* request) {
  ++seen.Ibcast;
  return PMPI_Ibcast(buffer, count, datatype, root, comm, request);
}

int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm) {
  ++seen.Reduce;
  return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

int MPI_Start(MPI_Request* request) {
  ++seen.Start;
  return PMPI_Start(request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++seen.Wait;
  return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  ++seen.Waitall;
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
#define TELL(name) \
  if (rank == 0) printf("the tool saw MPI_" #name " %d\n", seen.name)
  TELL(Allreduce);
  TELL(Iallreduce);
  TELL(Allreduce_init);
  TELL(Barrier);
  TELL(Bcast);
  TELL(Ibcast);
  TELL(Reduce);
  TELL(Start);
  TELL(Wait);
  TELL(Waitall);
  return PMPI_Finalize();
}
