// SPDX-License-Identifier: Apache-2.0
// MPI_Barrier. Inside a node whose ranks share memory it takes as long as a short allreduce, and is repeated
// like one. What observes all calls (a trace, say) sees the library's.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "interpose/collectives/collectives.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// A byte that means nothing.
class Signal final : public Message {
 public:
  Signal() {
    call = {.element = byte_element(), .count = 1, .input_holds = {0, 1}, .output_holds = {}};
    call.input = byte_.data();
  }

 private:
  std::array<std::byte, 1> byte_{};
};

}  // namespace

std::optional<int> try_barrier(Form& form, MPI_Comm comm) {
  const bool is_wanted = form.forced || session.forced_for(Collective::barrier, 0);
  if (session.observes_all_calls() && !is_wanted) return std::nullopt;
  if (form.face == Face::blocking && !is_wanted && session.may_repeat) {
    static const CallKey key{.collective = Collective::barrier, .count = 1, .datatype = mpi.byte};
    form.key = key;
    const std::byte here{};
    const Repetition again = try_repeat(form, key, &here, nullptr, comm);
    if (again.is_known) return again.result;
  }
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->native_only()) return std::nullopt;
  const CallTraits traits{.collective = Collective::barrier};
  return dispatch(form, traits, {}, comm, state, [] { return Signal(); });
}

}  // namespace stretto
