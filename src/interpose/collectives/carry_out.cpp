// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/collectives.hpp"

#include <cstring>

#include "engine/device/device_stream.hpp"
#include "engine/device/host_memory.hpp"
#include "interpose/operations/staged_library_call.hpp"

namespace stretto {

FirstLook look_at_elements(const FormArguments& form_arguments, Collective collective, const void* sent,
                           const void* received, std::size_t bytes, MPI_Comm comm) {
  note_live_bytes(bytes);
  if (!is_small(form_arguments.form, form_arguments.forced != nullptr, collective, bytes, comm)) return {};
  const auto is_host = [](const void* buffer) {
    return buffer == mpi.in_place || buffer == nullptr || is_surely_host_memory(buffer);
  };
  const bool is_plain = form_arguments.form == Form::blocking && device_stream() == nullptr &&
                        ((is_host(sent) && is_host(received)) || !may_need_staging());
  return {.is_left = true, .is_plain = is_plain};
}

std::optional<int> carry_out(ProgramCall& program_call) {
  switch (program_call.function) {
    case MpiFunction::allreduce:
    case MpiFunction::reduce:
    case MpiFunction::scan:
    case MpiFunction::exscan:
      return reduce_elements(program_call);
    case MpiFunction::reduce_scatter:
    case MpiFunction::reduce_scatter_block:
      return reduce_blocks(program_call);
    case MpiFunction::bcast:
      return broadcast(program_call);
    case MpiFunction::allgather:
      return gather_from_all(program_call);
    case MpiFunction::allgatherv:
      return gather_unequal(program_call);
    case MpiFunction::alltoall:
      return exchange_equal(program_call);
    case MpiFunction::alltoallv:
    case MpiFunction::alltoallw:
      return exchange_unequal(program_call);
    case MpiFunction::gather:
    case MpiFunction::gatherv:
    case MpiFunction::scatter:
    case MpiFunction::scatterv:
      return move_blocks_of_root(program_call);
    case MpiFunction::barrier:
      return synchronize(program_call);
  }
  return std::nullopt;
}

int finish_at_once(const ProgramCall& program_call, const void* input, void* output) {
  const BufferArgument& sent = program_call.sent;
  const BufferArgument& received = program_call.received;
  int ranks = 0;
  mpi.Comm_size(program_call.comm, &ranks);
  std::int64_t count = 0;
  for (int rank = 0; received.exists && rank < ranks; ++rank)
    count += received.counts.exist() ? received.counts[rank] : received.count;
  if (count > 0) {
    if (ranks > 1) return mpi.err_unsupported_operation;
    int bytes = 0;
    mpi.Type_size(received.datatype, &bytes);
    const void* const from = input != nullptr ? input : sent.address;
    void* const to = output != nullptr ? output : received.memory();
    if (sent.exists && !program_call.in_place() && from != to)
      std::memmove(to, from, static_cast<std::size_t>(count * bytes));
  }
  program_call.request.store(mpi.request_null);
  return MPI_SUCCESS;
}

}  // namespace stretto
