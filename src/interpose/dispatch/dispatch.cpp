// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/dispatch.hpp"

namespace stretto {

std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const Form& form, MPI_Comm comm,
                                           Spec& spec) {
  if (form.face != Face::blocking || !traits.understood || traits.is_own || state->native_only())
    return nullptr;
  if (!form.forced) agree_on_races(*state, traits, spec, comm);
  // A shorter call may not get here on all ranks: with different datatypes, some ranks pass it straight
  // on.
  if (traits.bytes < session.online_floor(traits.collective) || form.forced ||
      session.program_forced(traits.collective) != nullptr) {
    return nullptr;
  }
  // Inside a node a short call takes less time than finding out who is faster.
  if (state->topology().nodes == 1 &&
      traits.bytes < session.floor_inside_node(traits.collective, Face::blocking)) {
    return nullptr;
  }
  Learner* learner = consider(*state, traits, comm, spec);
  return learner == nullptr ? nullptr : std::make_shared<LearningCall>(state, *learner);
}

bool prepare(Communicator& state, const CallTraits& traits, const Spec& spec, Face face) {
  if (state.native_only()) return false;
  // The channel's number names the communicator in a trace.
  if (!session.settings.trace_folder.empty()) state.channel();
  if (spec.is_native()) return true;
  if (face == Face::blocking) return wait_for_channel(state, state.channel(), traits, spec);
  // A refusal must be known on all ranks in the same call: from then on they use the library's own
  // collectives. Refusals are rare. If one is possible, either all ranks know that or there is none.
  if (face == Face::non_blocking) {
    return !state.channel()->may_be_refused() || wait_for_channel(state, state.channel(), traits, spec);
  }
  // Making a persistent collective may wait for other ranks (MPI 4.1, section 6.13).
  const std::size_t tags = Communicator::pipelining_of(spec).in_flight();
  return wait_for_channel(state, state.channel_with_fresh(tags), traits, spec);
}

int report(MPI_Comm comm, int error) {
  mpi.Comm_call_errhandler(comm, error);
  return error;
}

}  // namespace stretto
