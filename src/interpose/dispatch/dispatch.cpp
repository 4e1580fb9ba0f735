// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/dispatch.hpp"

namespace stretto {

std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const Form& form, MPI_Comm comm,
                                           Spec& spec) {
  // A shorter call may not have got here on all ranks: where the datatypes differ, some need no look.
  if (traits.bytes < session.online_floor(traits.collective) || form.face != Face::blocking || form.forced ||
      session.program_forced(traits.collective) != nullptr || !traits.understood || traits.is_own ||
      state->native_only()) {
    return nullptr;
  }
  Learner* learner = consider(*state, traits, comm, spec);
  return learner == nullptr ? nullptr : std::make_shared<LearningCall>(state, *learner);
}

bool prepare(Communicator& state, const CallTraits& traits, const Spec& spec, Face face) {
  if (state.native_only()) return false;
  // Its number names a communicator in a trace.
  if (!session.settings.trace_folder.empty()) state.channel();
  if (spec.is_native()) return true;
  if (face == Face::blocking) return wait_for_channel(state, state.channel(), traits, spec);
  // A refusal must be known on all ranks in the same call, from which on the library's own are used. It is
  // rare, and where it may be, this is the case on all ranks or there is none.
  if (face == Face::non_blocking) {
    return !state.channel()->may_be_refused() || wait_for_channel(state, state.channel(), traits, spec);
  }
  // To make a persistent collective may wait for other ranks (MPI 4.1, section 6.13).
  const std::size_t tags = Communicator::pipelining_of(spec).in_flight();
  return wait_for_channel(state, state.channel_with_fresh(tags), traits, spec);
}

int report(MPI_Comm comm, int error) {
  mpi.Comm_call_errhandler(comm, error);
  return error;
}

}  // namespace stretto
