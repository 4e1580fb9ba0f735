/* SPDX-License-Identifier: Apache-2.0 */
/* Stretto for frameworks: collectives over groups of ranks that need no mpi.h, so that one binary serves
 * every MPI. The functions stand in libstretto-openmpi and libstretto-mpich; a framework looks them up
 * (dlsym) in whichever of the two the process has loaded beside its MPI library.
 *
 * All calls start without waiting and give a work, to be tested or waited for, and freed. Their buffers must
 * stay as they are until it has ended. As in MPI, all ranks of a group start the same calls in the same
 * order. Allreduce, bcast, reduce, reduce_scatter and allgather are carried out as Stretto would MPI's
 * non-blocking ones, by the same rule, table and variables; the others are the MPI library's. Any thread may
 * call any function, but one thread at a time the functions of a work.
 *
 * Unless said otherwise, a function that fails returns 1 or NULL, and stretto_error() has one line that says
 * why. */
#ifndef STRETTO_GROUP_H
#define STRETTO_GROUP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C's */

/* Counts up when this file changes in a way that breaks who was compiled with an older one. */
#define STRETTO_GROUP_INTERFACE 1
int stretto_group_interface(void);

typedef struct stretto_group stretto_group;
typedef struct stretto_work stretto_work;

/* float16 and bfloat16 are reduced in float, each result rounded to nearest; MPI itself knows neither. */
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

/* Of booleans the sum, the maximum and the bitwise or are the logical or; the product, the minimum and the
 * bitwise and the logical and. Floats have no bitwise operations. */
typedef enum stretto_op {
  STRETTO_SUM,
  STRETTO_PRODUCT,
  STRETTO_MIN,
  STRETTO_MAX,
  STRETTO_BAND,
  STRETTO_BOR,
  STRETTO_BXOR
} stretto_op;

/* What went wrong in the last call of this thread that failed. */
const char* stretto_error(void);

/* Initializes MPI for threads, unless the program has. Collective over all ranks. If it was initialized here,
 * the end of the process finalizes it; or ends the job, if the process ends with another status than 0 or a
 * work was given up, since other ranks may wait for this one. Fails where there is no MPI library, or MPI was
 * initialized without MPI_THREAD_MULTIPLE. */
int stretto_begin(void);

/* Where this process is: its rank of how many, and its place among how many on its node. */
typedef struct stretto_place {
  int rank;
  int ranks;
  int local_rank;
  int local_ranks;
} stretto_place;
int stretto_find_place(stretto_place* place);

/* A group of ranks of the job; NULL for all. Collective over these ranks. Groups that different threads
 * make at once need different tags. Waits for the other ranks. */
stretto_group* stretto_group_make(const int* ranks, int count, int tag);
/* Works of it that have not ended go on. */
void stretto_group_free(stretto_group* group);

/* `in` may be `out`. */
stretto_work* stretto_group_allreduce(stretto_group* group, const void* in, void* out, size_t count,
                                      stretto_type type, stretto_op op);
/* `out` counts on the root only. */
stretto_work* stretto_group_reduce(stretto_group* group, const void* in, void* out, size_t count,
                                   stretto_type type, stretto_op op, int root);
/* `counts`: the elements of each rank's part. */
stretto_work* stretto_group_reduce_scatter(stretto_group* group, const void* in, void* out,
                                           const size_t* counts, stretto_type type, stretto_op op);
stretto_work* stretto_group_bcast(stretto_group* group, void* data, size_t bytes, int root);
/* `bytes`: of each rank. */
stretto_work* stretto_group_allgather(stretto_group* group, const void* in, void* out, size_t bytes);
stretto_work* stretto_group_gather(stretto_group* group, const void* in, void* out, size_t bytes, int root);
stretto_work* stretto_group_scatter(stretto_group* group, const void* in, void* out, size_t bytes, int root);
/* The parts for the ranks, and those from them, stand one after the other. */
stretto_work* stretto_group_alltoall(stretto_group* group, const void* in, const size_t* in_bytes, void* out,
                                     const size_t* out_bytes);
stretto_work* stretto_group_barrier(stretto_group* group);
/* Tags from 0 to 32767. */
stretto_work* stretto_group_send(stretto_group* group, const void* in, size_t bytes, int to, int tag);
#define STRETTO_ANY_SOURCE (-1)
stretto_work* stretto_group_recv(stretto_group* group, void* out, size_t bytes, int from, int tag);

/* Takes all that is under way as far as it gets; whether anything happened. For a thread that calls it again
 * and again while works are under way: Stretto's own helper thread then stays away. */
int stretto_progress(void);
/* Whether it has ended, with success or not. Wakes nobody and waits for nobody; a work may need
 * stretto_progress() to end. */
int stretto_work_test(stretto_work* work);
/* The same after at most so many seconds, which are spent on making progress. */
int stretto_work_wait(stretto_work* work, double seconds);
/* Of a work that has ended: NULL, or one line that says what went wrong. */
const char* stretto_work_error(const stretto_work* work);
/* The rank from which it received. */
int stretto_work_source(const stretto_work* work);
/* Writes what is known of where a work stands and for whom it waits: nothing for those of the MPI library. */
void stretto_work_describe(stretto_work* work, char* text, size_t length);
/* One that has not ended is given up: MPI still uses its buffers, which must stay. */
void stretto_work_free(stretto_work* work);

/* Ends all ranks of the job, with this exit status, when the launcher has had time to read what was written.
 */
void stretto_abort(int status);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
