// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/aliasing.hpp"

#include <algorithm>

#include "engine/data/element.hpp"

namespace stretto {
namespace {

/// Whether the MPI library reports equal buffers. MPICH and Intel MPI compare addresses in every collective.
/// Open MPI 4 and 5 compare only the buffers of allreduce and reduce, and never blocks.
bool is_reported(Collective collective, std::size_t count) {
  return !mpi.is(Interface::openmpi) || (collective == Collective::allreduce && count > 1) ||
         collective == Collective::reduce;
}
bool reports_blocks() {
  return !mpi.is(Interface::openmpi);
}

bool share_bytes(const UserBlock& one, const UserBlock& other) {
  const std::size_t one_bytes = one.count * predefined_size(one.datatype);
  const std::size_t other_bytes = other.count * predefined_size(other.datatype);
  if (one_bytes == 0 || other_bytes == 0) return false;
  const std::less<> before;  // for any two addresses
  const auto* const one_begin = static_cast<const std::byte*>(one.users);
  const auto* const other_begin = static_cast<const std::byte*>(other.users);
  return before(one_begin, other_begin + other_bytes) && before(other_begin, one_begin + one_bytes);
}

}  // namespace

Aliasing aliasing_of_reduction(Collective collective, const UserBlock& input, const UserBlock& output) {
  if (input.count == 0 || output.count == 0) return Aliasing::none;
  // With a datatype of absolute addresses, MPI_BOTTOM is no error.
  if (input.users == output.users && output.users != nullptr) {
    return is_reported(collective, input.count) ? Aliasing::reported : Aliasing::borne;
  }
  return share_bytes(input, output) ? Aliasing::borne : Aliasing::none;
}

Aliasing aliasing_of_blocks(const UserBlock& own, const UserBlock& same, std::span<const UserBlock> others) {
  const bool is_same = own.users == same.users && own.users != nullptr && own.count > 0 &&
                       own.count == same.count && own.datatype == same.datatype;
  if (is_same) return reports_blocks() ? Aliasing::reported : Aliasing::borne;
  const auto is_shared = [&](const UserBlock& other) { return share_bytes(own, other); };
  return std::ranges::any_of(others, is_shared) ? Aliasing::borne : Aliasing::none;
}

Aliasing aliasing_of_exchange(const void* sendbuf, const void* recvbuf, bool has_same_blocks) {
  if (sendbuf != recvbuf || recvbuf == nullptr) return Aliasing::none;
  return reports_blocks() && has_same_blocks ? Aliasing::reported : Aliasing::borne;
}

void refuse_if_reported(CallBuffers& message, [[maybe_unused]] Collective collective, Aliasing aliasing) {
  if (aliasing != Aliasing::reported) return;
  if (!mpi.is(Interface::openmpi)) return message.refuse(mpi.err_buffer);
  if (collective == Collective::reduce) return message.refuse(mpi.err_arg);
  message.refuse(mpi.err_buffer, mpi.comm_world);
}

}  // namespace stretto
