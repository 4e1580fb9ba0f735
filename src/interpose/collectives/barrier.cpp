// SPDX-License-Identifier: Apache-2.0
// MPI_Barrier. Inside a node whose ranks share memory it takes as long as a short allreduce, and is repeated
// like one. If something observes all calls (a trace, for example), the MPI library carries barriers out.
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
class Signal final : public CallBuffers {
 public:
  Signal() {
    call = {.element = byte_element(), .count = 1, .input_holds = {0, 1}, .output_holds = {}};
    call.input = byte_.data();
  }

 private:
  std::array<std::byte, 1> byte_{};
};

bool is_wanted(bool is_forced) {
  return is_forced || session.forced_for(Collective::barrier, 0);
}

/// Returns the key of a barrier that may be repeated.
std::optional<CallKey> key_of(Form form, bool is_forced) {
  if (is_wanted(is_forced) || !may_repeat(form, is_forced)) return std::nullopt;
  return CallKey{.collective = Collective::barrier, .count = 1, .datatype = mpi.byte};
}

}  // namespace

FirstLook look_at_barrier(const FormArguments& form_arguments, MPI_Comm comm) {
  const bool is_forced = form_arguments.forced != nullptr;
  if (session.observes_all_calls() && !is_wanted(is_forced)) return {.is_left = true};
  const auto key = key_of(form_arguments.form, is_forced);
  if (!key) return {};
  const std::byte here{};
  Repetition again = try_repeat(*key, &here, nullptr, comm);
  if (!again.is_known) return {};
  return {.is_left = !again.result, .result = again.result, .learning = std::move(again.learning)};
}

std::optional<int> synchronize(ProgramCall& program_call) {
  program_call.key = key_of(program_call.form, program_call.forced.has_value());
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->native_only()) return std::nullopt;
  const CallTraits traits{.collective = Collective::barrier};
  return dispatch(program_call, traits, {}, state, [] { return Signal(); });
}

}  // namespace stretto
