// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/native_call.hpp"

#include "engine/device/host_memory.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/observe/statistics.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/session/session.hpp"
#include "threads/clock.hpp"

namespace stretto {

ObservedCall::ObservedCall(const LibraryCall& call, Form form)
    : call_(call),
      began_(seconds_now()),
      trace_(call.state->native_only() ? nullptr
                                       : trace_call(call.state, call.traits, Spec{}, form, call.sequence)) {
  watch(*this);
}

ObservedCall::~ObservedCall() {
  unwatch(*this);
  if (!session.counts_calls()) return;
  const double seconds = seconds_now() - began_;
  record_call(call_.traits.collective, call_.traits.bytes, Spec{}, seconds);
  if (call_.may_be_tuned) record_untuned_call(call_.traits.collective, call_.traits.bytes, seconds);
}

bool ObservedCall::try_describe(std::string& text) {
  text = describe_call(*call_.state, call_.traits, Spec{}, call_.sequence) +
         " has not ended: it is in the MPI library";
  return true;
}

bool has_one_group(MPI_Comm comm) {
  int has_two = 0;
  return comm != mpi.comm_null && mpi.Comm_test_inter(comm, &has_two) == MPI_SUCCESS && has_two == 0;
}

void note_background_reduction(MPI_Op op) {
  if (!session.non_blocking) return;
  if (is_program_operation(op) && !is_short_operation(op)) guard_program_functions();
}

bool may_concern_device(const ProgramCall& program_call) {
  const auto is_host = [](const BufferArgument& buffer) {
    if (!buffer.exists || buffer.in_place() || is_surely_host_memory(buffer.address)) return true;
    return buffer.address == nullptr && buffer.datatypes == nullptr && predefined_size(buffer.datatype) != 0;
  };
  return !(is_host(program_call.sent) && is_host(program_call.received)) && may_need_staging();
}

int await_device_stream(const void* input, const void* output, MPI_Comm comm) {
  const int error = wait_for_device_stream({input, output});
  if (error == 0) return MPI_SUCCESS;
  complain(this_rank() + ": the CUDA driver could not wait for a stream (error " + std::to_string(error) +
           "), before a call that the MPI library carries out");
  return report(comm, mpi.err_other);
}

}  // namespace stretto
