/* SPDX-License-Identifier: Apache-2.0 */
/* Stretto for frameworks: collectives over groups of ranks without mpi.h, so that one binary works with every
 * MPI. The functions are in libstretto.so. A framework looks them up (dlsym) in the process, or loads that
 * library beside an MPI library.
 *
 * Every call starts without waiting and returns a work, which the caller tests or waits for, and then frees.
 * The buffers of a call must not change until its work has ended. As in MPI, all ranks of a group start the
 * same calls in the same order. Collectives are carried out like MPI's non-blocking ones under Stretto, with
 * the same rule, table and variables; the MPI library carries out messages between two ranks. Buffers may be
 * in device memory, even if those of other ranks are in host memory. Any thread may call any function, but
 * only one thread at a time may use a work.
 *
 * Unless stated otherwise, a function that fails returns 1 or NULL, and stretto_error() returns one line with
 * the reason. */
#ifndef STRETTO_GROUP_H
#define STRETTO_GROUP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C code */

/* Incremented when this file changes in a way that breaks programs that were compiled with an older one. */
#define STRETTO_GROUP_INTERFACE 8
int stretto_group_interface(void);

typedef struct stretto_group stretto_group;
typedef struct stretto_work stretto_work;

/* MPI has no float16 and no bfloat16. Stretto reduces both in float, and rounds each result to nearest. */
typedef enum stretto_type {
  STRETTO_INT8,
  STRETTO_UINT8,
  STRETTO_INT16,
  STRETTO_INT32,
  STRETTO_INT64,
  STRETTO_FLOAT16,
  STRETTO_BFLOAT16,
  STRETTO_FLOAT32,
  STRETTO_FLOAT64,
  STRETTO_BOOL
} stretto_type;

/* For booleans, sum, maximum and bitwise or are the logical or; product, minimum and bitwise and are the
 * logical and. Floats have no bitwise operations. */
typedef enum stretto_op {
  STRETTO_SUM,
  STRETTO_PRODUCT,
  STRETTO_MIN,
  STRETTO_MAX,
  STRETTO_BAND,
  STRETTO_BOR,
  STRETTO_BXOR
} stretto_op;

/* Returns the error of the last call of this thread that failed. */
const char* stretto_error(void);

/* Initializes MPI with MPI_THREAD_MULTIPLE, unless the program has initialized it. Collective over all
 * ranks. If MPI was initialized here, it is finalized when the process ends. If the process ends with a
 * status other than 0, or a work was given up, the job is ended instead, since other ranks may wait for
 * this one. Fails if there is no MPI library, or if MPI was initialized without MPI_THREAD_MULTIPLE. */
int stretto_begin(void);

/* A store of the framework through which ranks find each other. It holds short values, each under a key
 * (torch.distributed's Store). Both functions return -1 on failure. */
typedef struct stretto_store {
  void* of;
  int (*set)(void* of, const char* key, const void* value, size_t bytes);
  /* Waits for the key. Writes at most `capacity` bytes of its value, and returns its whole length. */
  long (*get)(void* of, const char* key, void* value, size_t capacity);
} stretto_store;

/* Begins a job without MPI: sockets of Stretto's own carry the messages between nodes. Collective over
 * `ranks` ranks, which have the same store. No other job may have used its keys. The store is not used after
 * the call. `host` is the name or address of the store's server, or NULL. It tells which interface leads to
 * the other ranks, unless STRETTO_INTERFACE or GLOO_SOCKET_IFNAME names one. `secret` has
 * STRETTO_SECRET_BYTES random bytes, the same on all ranks: whoever knows them can enter the job. Fails if a
 * rank does not come within `seconds`, or if this process uses Stretto with MPI. */
#define STRETTO_SECRET_BYTES 16
int stretto_begin_by_store(int rank, int ranks, const stretto_store* store, const char* host,
                           const void* secret, double seconds);
/* Ends what stretto_begin_by_store() began. Waits for no other rank, but waits up to `seconds` until all data
 * that was sent has left. All groups must have been freed. After that, the process may begin again. `reason`
 * (one line; NULL or empty: there is none) is why works of other ranks fail that still need this one. */
int stretto_end(double seconds, const char* reason);
/* The rank of this process and the number of ranks, in the job and on its node. */
typedef struct stretto_place {
  int rank;
  int ranks;
  int local_rank;
  int local_ranks;
} stretto_place;
int stretto_find_place(stretto_place* place);

/* Makes a group of these ranks of the job, or of all its ranks if `ranks` is NULL. Collective over the ranks
 * of the group, and waits for them; without MPI, for at most `seconds`. Groups that different threads make at
 * the same time need different tags. */
stretto_group* stretto_group_make(const int* ranks, int count, int tag, double seconds);
/* In a job without MPI, ends this rank's part in the group with this reason (one line). Its works fail. The
 * other ranks hear of it, and all of their works fail that need this rank. Nothing more can be started in the
 * group. Other groups go on. Has no effect in a job with MPI. */
void stretto_group_fail(stretto_group* group, const char* reason);
/* In a job without MPI, makes a group of the members that are left, in the order of `group`. Collective over
 * the members that have not ended. They agree on who is left by messages between each other, and all of them
 * get the same group, or an error. `without`: members that are left out in any case, the same on all. A
 * member that does not call this within `seconds` after the others is left out, and its part in the group
 * ends. Writes the ranks of those left in `group` to `left`, which has room for all members, and their number
 * to `left_count`. Collectives of `group` that are under way fail. If nobody has ended, it may be used on. A
 * member of the new group that ends after the agreement is noticed at the next call. */
stretto_group* stretto_group_shrink(stretto_group* group, const int* without, int count, double seconds,
                                    int* left, int* left_count);
/* Works of the group that have not ended go on. */
void stretto_group_free(stretto_group* group);

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

/* Returns 1 if the CUDA driver of this process knows the memory at an address: device memory, managed memory,
 * or registered host memory. Such memory may be a buffer, whether or not the MPI library accepts it. If the
 * function returns 0, only host memory may be a buffer. */
int stretto_knows_device_memory(const void* address);

/* `in` may be `out`. */
stretto_work* stretto_group_allreduce(stretto_group* group, const void* in, void* out, size_t count,
                                      stretto_type type, stretto_op op);
/* `out` is used on the root only. */
stretto_work* stretto_group_reduce(stretto_group* group, const void* in, void* out, size_t count,
                                   stretto_type type, stretto_op op, int root);
/* `counts`: the number of elements of each rank's part. */
stretto_work* stretto_group_reduce_scatter(stretto_group* group, const void* in, void* out,
                                           const size_t* counts, stretto_type type, stretto_op op);
stretto_work* stretto_group_bcast(stretto_group* group, void* data, size_t bytes, int root);
/* `bytes`: the length of each rank's part. */
stretto_work* stretto_group_allgather(stretto_group* group, const void* in, void* out, size_t bytes);
/* `bytes`: the length of each rank's part. All ranks give the same lengths. */
stretto_work* stretto_group_allgatherv(stretto_group* group, const void* in, void* out, const size_t* bytes);
stretto_work* stretto_group_gather(stretto_group* group, const void* in, void* out, size_t bytes, int root);
stretto_work* stretto_group_scatter(stretto_group* group, const void* in, void* out, size_t bytes, int root);
/* `bytes`: the length of each part, the same on all ranks. */
stretto_work* stretto_group_alltoall(stretto_group* group, const void* in, void* out, size_t bytes);
/* The parts for the ranks are adjacent, and so are the parts from them. */
stretto_work* stretto_group_alltoallv(stretto_group* group, const void* in, const size_t* in_bytes, void* out,
                                      const size_t* out_bytes);
stretto_work* stretto_group_barrier(stretto_group* group);
/* Tags are from 0 to 32767. */
stretto_work* stretto_group_send(stretto_group* group, const void* in, size_t bytes, int to, int tag);
#define STRETTO_ANY_SOURCE (-1)
stretto_work* stretto_group_recv(stretto_group* group, void* out, size_t bytes, int from, int tag);

/* Advances all works in flight as far as possible. Returns whether anything happened. A thread may call it
 * again and again while works are in flight; Stretto's own helper thread then stays away. */
int stretto_progress(void);
/* In a job without MPI, sleeps until something may have come from another node, or another thread calls
 * stretto_wake(), but for at most `seconds`. In a job with MPI, returns at once. */
void stretto_await(double seconds);
void stretto_wake(void);
/* Returns whether the work has ended, with success or not. Does not wait, and makes no progress: a work may
 * need stretto_progress() to end. */
int stretto_work_test(stretto_work* work);
/* Waits for the work for at most `seconds`, and makes progress meanwhile. Returns whether the work has
 * ended. */
int stretto_work_wait(stretto_work* work, double seconds);
/* For a program that waits in another way: `stretto top` shows that this thread waits for a work, until the
 * thread calls stretto_work_end_wait(). In between it may make no call of a collective. */
void stretto_work_begin_wait(stretto_work* work);
void stretto_work_end_wait(void);
/* Returns a number that changes whenever bytes of the work have moved, as far as Stretto knows: an MPI
 * library does not tell of its messages. */
unsigned long long stretto_work_steps(stretto_work* work);
/* In a job without MPI, makes a work fail with this reason (one line), and ends this rank's part in the group
 * from this work on, as stretto_group_fail() does. Collectives that were started earlier go on. Returns
 * whether the work has ended, and its buffers are free. In a job with MPI, returns 0: a call cannot be taken
 * back. */
int stretto_work_fail(stretto_work* work, const char* reason);
/* Returns the error of a work that has ended, as one line, or NULL if it succeeded. */
const char* stretto_work_error(const stretto_work* work);
/* Returns the rank from which the work received. */
int stretto_work_source(const stretto_work* work);
/* Writes which ranks have not come to a work that has not ended, then its state here and the ranks that it
 * waits for. Who has not come is known by asking the other ranks; their answers are awaited for `seconds` at
 * most (0: none is asked). Writes nothing for works of the MPI library. */
void stretto_work_describe(stretto_work* work, double seconds, char* text, size_t length);
/* Frees a work. A work that has not ended is given up; MPI still uses its buffers, so these must stay. */
void stretto_work_free(stretto_work* work);

/* Ends all ranks of the job with this exit status, once the launcher has had time to read their output. */
void stretto_abort(int status);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
