// SPDX-License-Identifier: Apache-2.0
// MPI_Barrier inside a node: an allreduce of one byte through shared memory, whose result nobody reads.
//
// Every rank's result contains every rank's contribution (proven, as of every allreduce), which a rank makes
// only when it enters. So none leaves before all have entered. A contribution is published by a release and
// read by an acquire (transport/mailbox.hpp), from rank to rank. So what any rank wrote to memory before the
// barrier is there for all ranks after it.
//
// What decides whether it is the library's barrier is equal on all ranks: settings, the communicator, and
// what its ranks have agreed on. Whatever observes all calls (a trace, say) sees the library's.
#include <cstddef>
#include <memory>
#include <optional>

#include "interpose/collectives/collectives.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

std::optional<int> try_barrier(Form& form, MPI_Comm comm) {
  if (!session.may_repeat) return std::nullopt;
  static const CallKey key{.collective = Collective::allreduce,
                           .count = 1,
                           .datatype = MPI_BYTE,
                           .op = MPI_BOR,
                           .is_barrier = true};
  form.key = key;
  std::byte here{};
  std::byte all{};
  const Repetition again = try_repeat(form, key, &here, &all, comm);
  if (again.is_known) return again.result;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->native_only() || state->topology().nodes != 1) return std::nullopt;
  const CallTraits traits{.collective = Collective::allreduce, .bytes = 0, .is_barrier = true};
  return dispatch(form, traits, {}, comm, state, [&] {
    return Message(Call::whole(&here, &all, 1, find_element(key.datatype, key.op).value()));
  });
}

}  // namespace stretto
