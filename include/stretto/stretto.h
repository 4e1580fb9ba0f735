/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of Stretto, for programs that link it (libstretto.so, before the MPI library). Programs under
 * the preload do not need it. */
#ifndef STRETTO_STRETTO_H
#define STRETTO_STRETTO_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of Stretto, such as "0.1.0". */
const char* stretto_version(void);
/* The binary interfaces of MPI that this build serves, each followed by a space: "openmpi mpich abi ". */
const char* stretto_interfaces(void);

/* MPI's collectives with a given spec, such as "ring:segments=16". NULL or "auto" means the spec that the MPI
 * function itself would get; "native" means the MPI default. The spec must be the same on all ranks. Errors
 * are those of the MPI function. If a spec cannot be read, the result is MPI_ERR_ARG, with one line on
 * standard error. If it does not fit the operation or the communicator, the MPI default is used (with
 * STRETTO_STRICT=1: MPI_ERR_OTHER). */
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
int stretto_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm,
                       const char* spec);
int stretto_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                     MPI_Datatype recvtype, MPI_Comm comm, const char* spec);
int stretto_alltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                      void* recvbuf, const int* recvcounts, const int* rdispls, MPI_Datatype recvtype,
                      MPI_Comm comm, const char* spec);
int stretto_alltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls,
                      const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts, const int* rdispls,
                      const MPI_Datatype* recvtypes, MPI_Comm comm, const char* spec);
int stretto_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, const char* spec);
int stretto_gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int* recvcounts, const int* displs, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    const char* spec);
int stretto_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, const char* spec);
int stretto_scatterv(const void* sendbuf, const int* sendcounts, const int* displs, MPI_Datatype sendtype,
                     void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                     const char* spec);
int stretto_scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                 MPI_Comm comm, const char* spec);
int stretto_exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, const char* spec);
int stretto_barrier(MPI_Comm comm, const char* spec);

/* The non-blocking forms. The request is like that of MPI_Iallreduce and works in every function that
 * completes requests. These calls need MPI_THREAD_MULTIPLE, which Stretto requests from the MPI library by
 * itself. Without it, and for operations of the program, the MPI library's own function is used
 * (docs/c-interface.md). */
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
int stretto_iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm,
                        const char* spec, MPI_Request* request);
int stretto_ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_ialltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                       void* recvbuf, const int* recvcounts, const int* rdispls, MPI_Datatype recvtype,
                       MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_ialltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts,
                       const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm, const char* spec,
                       MPI_Request* request);
int stretto_igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const int* recvcounts, const int* displs, MPI_Datatype recvtype, int root, MPI_Comm comm,
                     const char* spec, MPI_Request* request);
int stretto_iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_iscatterv(const void* sendbuf, const int* sendcounts, const int* displs, MPI_Datatype sendtype,
                      void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                      const char* spec, MPI_Request* request);
int stretto_iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, const char* spec, MPI_Request* request);
int stretto_ibarrier(MPI_Comm comm, const char* spec, MPI_Request* request);

/* The persistent forms. A request is made once, started by MPI_Start or MPI_Startall (in any order on each
 * rank), and completed like any other request. The functions return MPI_ERR_UNSUPPORTED_OPERATION if Stretto
 * leaves the call to an MPI library that has no persistent collectives. */
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
int stretto_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                            const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm,
                            MPI_Info info, const char* spec, MPI_Request* request);
int stretto_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                          const char* spec, MPI_Request* request);
int stretto_alltoallv_init(const void* sendbuf, const int* sendcounts, const int* sdispls,
                           MPI_Datatype sendtype, void* recvbuf, const int* recvcounts, const int* rdispls,
                           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, const char* spec,
                           MPI_Request* request);
int stretto_alltoallw_init(const void* sendbuf, const int* sendcounts, const int* sdispls,
                           const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts,
                           const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm, MPI_Info info,
                           const char* spec, MPI_Request* request);
int stretto_gather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                        const char* spec, MPI_Request* request);
int stretto_gatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const int* recvcounts, const int* displs, MPI_Datatype recvtype, int root,
                         MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);
int stretto_scatter_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                         const char* spec, MPI_Request* request);
int stretto_scatterv_init(const void* sendbuf, const int* sendcounts, const int* displs,
                          MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                          int root, MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);
int stretto_scan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);
int stretto_exscan_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);
int stretto_barrier_init(MPI_Comm comm, MPI_Info info, const char* spec, MPI_Request* request);

/* Below, a collective is "allreduce", "bcast", "reduce", "reduce_scatter", "allgather" (also of
 * MPI_Allgatherv), "alltoall", "alltoallv" (also of MPI_Alltoallw), "gather", "gatherv", "scatter",
 * "scatterv", "scan", "exscan" or "barrier"; other names give MPI_ERR_ARG. At most `length` characters of
 * text are written, including the terminating zero. */

/* Reads a spec and writes it in its usual form. If it cannot be read, writes the reason and returns
 * MPI_ERR_ARG. May be called before MPI_Init. */
int stretto_parse_spec(const char* collective, const char* spec, char* text, int length);

/* Writes the spec of a call of `collective` with a commutative operation on `comm` whose whole message has
 * `bytes` bytes (the blocks of all ranks together). This is the spec that earlier calls of the job have
 * settled on, or else the choice of the table and the rule. Other forms of a call have their own names:
 * "iallreduce", "allreduce_init". If a tuning table names one of the MPI library's own algorithms, the text
 * is "native(NAME)". That is true only if the library was configured for it when the job was started, as
 * `stretto run` does. */
int stretto_choice(const char* collective, MPI_Comm comm, size_t bytes, char* spec, int length);

/* From now on, MPI's function of that name uses this spec for messages of `least_bytes` bytes and more;
 * "auto" restores the choice of the table and the rule. This is for programs that compare specs while they
 * run. All ranks must call it between the same two calls for messages of such lengths; other calls may be in
 * flight. It takes precedence over STRETTO_ALLREDUCE and the like. Returns MPI_ERR_ARG if the spec cannot be
 * read, and MPI_ERR_OTHER if Stretto is not active. */
int stretto_force(const char* collective, const char* spec, size_t least_bytes);

/* From now on, a SIMD kernel of Stretto computes `op`, an operation that the program has made, on elements of
 * `datatype`, of two bytes each. `type` is "float16" or "bfloat16", `operation` "sum", "product", "min" or
 * "max". The kernel converts both operands to float and rounds the result to nearest. The program's own
 * function must do the same: it is still called where the MPI library carries a collective out. This holds
 * until the operation or the datatype is freed. It does not affect the choice of a spec, so one rank alone
 * may call it. Returns MPI_ERR_ARG for other names, a predefined operation or other elements, and
 * MPI_ERR_OTHER if Stretto is not active. */
int stretto_know_operation(MPI_Op op, MPI_Datatype datatype, const char* type, const char* operation);

/* The default stream of a device, by its name (CU_STREAM_LEGACY). */
#define STRETTO_DEFAULT_STREAM ((void*)1)
/* From now on, collectives that this thread calls begin when the device has done everything that the program
 * had put into `stream` (a CUstream, which is a cudaStream_t) before the call, so the program need not wait
 * for it. NULL, the initial value, names no stream: a call begins after the work in the default stream of the
 * buffer's context, and in the streams that wait for that one. But the calls that an MPI library with support
 * for device memory carries out go to it at once. Before other calls that the MPI library carries out, the
 * calling thread waits. When a call has ended, its results are in device memory for all streams. The stream
 * must exist until another one is set. Returns the previous stream. */
void* stretto_set_device_stream(void* stream);

/* Writes what this rank has counted so far, as the JSON of STRETTO_STATS, which must be set. Must be called
 * between MPI_Init and MPI_Finalize. Returns the length of the whole text without the terminating zero, or 0
 * if Stretto counts nothing. */
size_t stretto_statistics(char* json, size_t length);

#ifdef __cplusplus
}
#endif

#endif
