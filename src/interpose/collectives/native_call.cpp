// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/native_call.hpp"

#include "interpose/observe/statistics.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/operations/run_operation.hpp"
#include "threads/clock.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

ObservedCall::ObservedCall(const LibraryCall& call, Face face)
    : call_(call),
      began_(seconds_now()),
      trace_(call.state->native_only() ? nullptr
                                       : trace_call(call.state, call.traits, Spec{}, face, call.sequence)) {
  watch(*this);
}

ObservedCall::~ObservedCall() {
  unwatch(*this);
  if (!session.counts_calls()) return;
  record_call(call_.traits.collective, call_.traits.bytes, Spec{}, seconds_now() - began_);
}

bool ObservedCall::try_describe(std::string& text) {
  text = describe_call(*call_.state, call_.traits, Spec{}, call_.sequence) +
         " has not ended: it is in the MPI library";
  return true;
}

int await_device_stream(const void* input, const void* output, MPI_Comm comm) {
  const int error = wait_for_device_stream({input, output});
  if (error == 0) return MPI_SUCCESS;
  complain(this_rank() + ": the CUDA driver could not wait for a stream (error " + std::to_string(error) +
           "), before a call that the MPI library carries out");
  return report(comm, mpi.err_other);
}

}  // namespace stretto
