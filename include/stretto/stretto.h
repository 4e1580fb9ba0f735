/* SPDX-License-Identifier: Apache-2.0 */
/* Stretto's own interface, for programs that link it (libstretto-openmpi or libstretto-mpich, before the MPI
 * library). A program that is preloaded needs none of it. */
#ifndef STRETTO_STRETTO_H
#define STRETTO_STRETTO_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, such as "0.1.0". */
const char* stretto_version(void);

/* MPI's collectives by a given spec, such as "ring:segments=16". NULL or "auto": the choice that the MPI
 * function makes; "native": the MPI library's own. The spec must be the same on all ranks. Errors as of the
 * MPI function; a spec that cannot be read is an MPI_ERR_ARG, with one line on standard error; one that does
 * not fit the operation or the communicator gives way to the MPI library's own (with STRETTO_STRICT=1:
 * MPI_ERR_OTHER). */
int stretto_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, const char* spec);
int stretto_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, const char* spec);
int stretto_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                   MPI_Comm comm, const char* spec);
int stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts, MPI_Datatype datatype,
                           MPI_Op op, MPI_Comm comm, const char* spec);
int stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                 MPI_Op op, MPI_Comm comm, const char* spec);
int stretto_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, const char* spec);

/* Writes the spec that a call of `collective` ("allreduce", "bcast", "reduce", "reduce_scatter", "allgather")
 * by a commutative operation on `comm` would take, whose whole message has `bytes` bytes (of all ranks'
 * blocks together): at most `length` characters, the ending zero included. MPI_ERR_ARG if there is no such
 * collective. */
int stretto_choice(const char* collective, MPI_Comm comm, size_t bytes, char* spec, int length);

#ifdef __cplusplus
}
#endif

#endif
