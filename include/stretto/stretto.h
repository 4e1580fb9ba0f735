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

/* MPI_Allreduce by a given spec, such as "ring:segments=16". NULL or "auto": the choice that MPI_Allreduce
 * makes; "native": the MPI library's own. The spec must be the same on all ranks. Errors as of MPI_Allreduce;
 * a spec that cannot be read is an MPI_ERR_ARG, with one line on standard error; one that does not fit the
 * operation gives way to the MPI library's own (with STRETTO_STRICT=1: MPI_ERR_OTHER). */
int stretto_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, const char* spec);

/* Writes the spec that a call of `collective` ("allreduce") of `bytes` bytes by a commutative operation on
 * `comm` would take: at most `length` characters, the ending zero included. MPI_ERR_ARG if there is no such
 * collective. */
int stretto_choice(const char* collective, MPI_Comm comm, size_t bytes, char* spec, int length);

#ifdef __cplusplus
}
#endif

#endif
