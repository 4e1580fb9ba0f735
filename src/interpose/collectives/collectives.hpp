// SPDX-License-Identifier: Apache-2.0
// Carries out the program's collectives.
#pragma once

#include <optional>

#include "interpose/dispatch/program_call.hpp"

namespace stretto {

/// Carries a call out. If the result is empty, the MPI library must do so, by its own function with unchanged
/// arguments. Otherwise the result is an MPI error code, already reported to the handler of the communicator.
/// After a success, a non-blocking or persistent call has its request.
std::optional<int> carry_out(ProgramCall& program_call);

/// Carries out a call that has no schedule, in a job without MPI: one without data, or on one rank, whose
/// output is its input. `input` and `output` are host memory in place of its buffers, if they are not null.
/// Returns an MPI error code.
int finish_at_once(const ProgramCall& program_call, const void* input, void* output);

// The parts of carry_out(), each for similar calls.
/// Allreduce, reduce, scan, exscan.
std::optional<int> reduce_elements(ProgramCall& program_call);
/// Both functions of reduce-scatter.
std::optional<int> reduce_blocks(ProgramCall& program_call);
std::optional<int> broadcast(ProgramCall& program_call);
std::optional<int> gather_from_all(ProgramCall& program_call);   // allgather
std::optional<int> gather_unequal(ProgramCall& program_call);    // allgatherv
std::optional<int> exchange_equal(ProgramCall& program_call);    // alltoall
std::optional<int> exchange_unequal(ProgramCall& program_call);  // alltoallv, alltoallw
/// Gather(v), scatter(v).
std::optional<int> move_blocks_of_root(ProgramCall& program_call);
std::optional<int> synchronize(ProgramCall& program_call);  // barrier

/// The result of a first look at a call, before its record is made. Programs make many short calls, most of
/// which need no record.
struct FirstLook {
  bool is_left = false;                      // to the MPI library
  bool is_plain = false;                     // left, and the library gets the program's buffers at once
  std::optional<int> result = std::nullopt;  // of a call that has been carried out
  /// To be kept alive while the library carries the call out.
  std::shared_ptr<LearningCall> learning = nullptr;
};

FirstLook look_at_allreduce(const FormArguments& form_arguments, const void* sendbuf, void* recvbuf,
                            std::int64_t count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
FirstLook look_at_broadcast(const FormArguments& form_arguments, void* buffer, std::int64_t count,
                            MPI_Datatype datatype, int root, MPI_Comm comm);
FirstLook look_at_reduce(const FormArguments& form_arguments, const void* sendbuf, void* recvbuf,
                         std::int64_t count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
FirstLook look_at_barrier(const FormArguments& form_arguments, MPI_Comm comm);

/// Takes a first look at a call with elements of a predefined type, `bytes` in all. Stretto never carries out
/// calls of few bytes.
FirstLook look_at_elements(const FormArguments& form_arguments, Collective collective, const void* sent,
                           const void* received, std::size_t bytes, MPI_Comm comm);

}  // namespace stretto
