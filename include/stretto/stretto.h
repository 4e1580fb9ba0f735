/* SPDX-License-Identifier: Apache-2.0 */
/* Stretto's own interface, for programs that link it (libstretto-openmpi or libstretto-mpich, before the MPI
 * library). A program that is preloaded needs none of it. */
#ifndef STRETTO_STRETTO_H
#define STRETTO_STRETTO_H

#include <mpi.h>
#include <stddef.h>

/* Defined where CMake or pkg-config says which library is linked. */
#if defined(STRETTO_LIBRARY_OPENMPI) && !defined(OPEN_MPI)
#error "libstretto-openmpi is for programs that are compiled with the mpi.h of an Open MPI"
#endif
#if defined(STRETTO_LIBRARY_MPICH) && defined(OPEN_MPI)
#error "libstretto-mpich is for programs that are compiled with the mpi.h of an MPICH or Intel MPI"
#endif

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

/* The same without waiting. The request is like that of MPI_Iallreduce and its kin, and works in every
 * function that completes requests. Needs MPI_THREAD_MULTIPLE of the MPI library, which Stretto asks for by
 * itself; where that is not to be had, and for operations of the program's own, the MPI library's own
 * function is used (docs/c-interface.md). */
int stretto_iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, const char* spec,
                   MPI_Request* request);
int stretto_ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_ireduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts, MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                  MPI_Op op, MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm, const char* spec,
                       MPI_Request* request);

/* Persistent: set up once, started by MPI_Start or MPI_Startall, in any order on each rank, and completed
 * like any other request. Where Stretto leaves a call to the MPI library that has no persistent collectives,
 * MPI_ERR_UNSUPPORTED_OPERATION. */
int stretto_allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);
int stretto_bcast_init(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                       const char* spec, MPI_Request* request);
int stretto_reduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                        int root, MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);
int stretto_reduce_scatter_init(const void* sendbuf, void* recvbuf, const int* recvcounts,
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                const char* spec, MPI_Request* request);
int stretto_reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int recvcount,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                      const char* spec, MPI_Request* request);
int stretto_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                           const char* spec, MPI_Request* request);

/* Below, a collective is "allreduce", "bcast", "reduce", "reduce_scatter" or "allgather", and text is written
 * to at most `length` characters, the ending zero included. Of what is no collective: MPI_ERR_ARG. */

/* Reads a spec and writes it as Stretto would; or writes why it cannot be read, and returns MPI_ERR_ARG. May
 * be called before MPI_Init. */
int stretto_parse_spec(const char* collective, const char* spec, char* text, int length);

/* Writes the spec that a call of `collective` by a commutative operation on `comm` would take, whose whole
 * message has `bytes` bytes (of all ranks' blocks together). Of the other forms of a call: "iallreduce",
 * "allreduce_init". Where a tuning table means one of the MPI library's own algorithms that is
 * "native(NAME)", which holds if the library was told so when the job was started, as `stretto run` does. */
int stretto_choice(const char* collective, MPI_Comm comm, size_t bytes, char* spec, int length);

/* From now on MPI's function of that name takes this spec for messages of `least_bytes` bytes and more;
 * "auto": the choice of the table and the rule again. For programs that compare specs while they run. To be
 * called on all ranks, each between the same two calls of so many bytes; other calls may be under way. Takes
 * precedence over STRETTO_ALLREDUCE and its kin. Of a spec that cannot be read: MPI_ERR_ARG; where Stretto
 * is not in force: MPI_ERR_OTHER. */
int stretto_force(const char* collective, const char* spec, size_t least_bytes);

/* From now on `op`, an operation that the program has made, is done on elements of `datatype`, of two bytes
 * each, by a SIMD kernel of Stretto's: `type` is "float16" or "bfloat16", `operation` "sum", "product", "min"
 * or "max". The kernel makes floats of both operands, and rounds the result to nearest. The program's own
 * function must do the same, as it is still called where a collective is the MPI library's. It holds until
 * the operation or the datatype is freed. Nothing is chosen by it, so one rank alone may tell of it. Of
 * other names, a predefined operation or other elements: MPI_ERR_ARG; where Stretto is not in force:
 * MPI_ERR_OTHER. */
int stretto_know_operation(MPI_Op op, MPI_Datatype datatype, const char* type, const char* operation);

/* Writes what this rank has counted so far, as the JSON of STRETTO_STATS, which must be set for that. Between
 * MPI_Init and MPI_Finalize. Returns the characters that all of it takes, without the ending zero; 0 if
 * nothing is counted. */
size_t stretto_statistics(char* json, size_t length);

#ifdef __cplusplus
}
#endif

#endif
