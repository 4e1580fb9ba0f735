// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/collectives.hpp"

#include "engine/device/device_stream.hpp"
#include "engine/device/host_memory.hpp"
#include "interpose/operations/staged_library_call.hpp"

namespace stretto {

FirstLook look_at_elements(const Way& way, Collective collective, const void* sent, const void* received,
                           std::size_t bytes, MPI_Comm comm) {
  note_live_bytes(bytes);
  if (!is_small(way.form, way.forced != nullptr, collective, bytes, comm)) return {};
  const auto is_host = [](const void* buffer) {
    return buffer == mpi.in_place || buffer == nullptr || is_surely_host_memory(buffer);
  };
  const bool is_plain = way.form == Form::blocking && device_stream() == nullptr &&
                        ((is_host(sent) && is_host(received)) || !may_need_staging());
  return {.is_left = true, .is_plain = is_plain};
}

std::optional<int> carry_out(ProgramCall& asked) {
  switch (asked.function) {
    case MpiFunction::allreduce:
    case MpiFunction::reduce:
    case MpiFunction::scan:
    case MpiFunction::exscan:
      return reduce_elements(asked);
    case MpiFunction::reduce_scatter:
    case MpiFunction::reduce_scatter_block:
      return reduce_blocks(asked);
    case MpiFunction::bcast:
      return broadcast(asked);
    case MpiFunction::allgather:
      return gather_from_all(asked);
    case MpiFunction::allgatherv:
      return gather_unequal(asked);
    case MpiFunction::alltoall:
      return exchange_equal(asked);
    case MpiFunction::alltoallv:
    case MpiFunction::alltoallw:
      return exchange_unequal(asked);
    case MpiFunction::gather:
    case MpiFunction::gatherv:
    case MpiFunction::scatter:
    case MpiFunction::scatterv:
      return move_blocks_of_root(asked);
    case MpiFunction::barrier:
      return synchronize(asked);
  }
  return std::nullopt;
}

}  // namespace stretto
