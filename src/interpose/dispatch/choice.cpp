// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/choice.hpp"

#include <utility>

#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// Returns the spec that the user wants for a call; empty if none is forced. `by_call` is the spec that the
/// call itself forces.
const std::optional<Spec>& wanted_spec(const CallTraits& traits, const std::optional<Spec>& by_call) {
  return by_call ? by_call : session.forced_for(traits.collective, traits.bytes);
}

/// Whether the helper thread may advance the call. It may not if it is a reduction by an operation of the
/// program: while the program is blocked in a function of the library, only the helper thread could
/// advance it, and that thread may not run the program's operation.
bool may_be_in_background(const CallTraits& traits) {
  return session.non_blocking && (!traits.calls_program || session.settings.progress_thread);
}

/// Whether only the MPI library can carry the call out. It checks an empty message, too. Some ranks may send
/// no elements, and others empty ones.
bool is_of_library(const Communicator& state, const CallTraits& traits) {
  if (!traits.understood || state.native_only()) return true;
  const bool may_be_empty =
      has_private_lengths(traits.collective) || traits.collective == Collective::barrier;
  return traits.bytes == 0 && !may_be_empty;
}

/// Whether the library's own call may be cut into segments. All ranks must start the library's own calls in
/// the same order, but persistent ones may be started in any order.
bool may_be_cut(const CallTraits& traits, Form form) {
  return form == Form::blocking || (form == Form::non_blocking && !traits.blocks_in_segments);
}

void complain_of(const Spec& wanted, const Claim& claim) {
  const bool is_strict = session.settings.strict;
  complain_once_on_rank_0("spec \"" + to_string(wanted) + "\" " + claim.refusal + "; " +
                          (is_strict                       ? "the call fails (STRETTO_STRICT)"
                           : claim.spec->is_pass_through() ? "the MPI default is used"
                                                           : to_string(*claim.spec) + " is used"));
}

}  // namespace

Question question_of(const CallTraits& traits, const Topology& topology, Form form) {
  return {.call = shape_of(traits, topology, form, session.shares_memory),
          .topology = topology,
          .root = traits.root,
          .has_unequal_blocks = traits.has_unequal_blocks,
          .has_library = mpi.has_library(),
          .must_avoid_library = session.must_avoid_library(form),
          .learning = learning_settings(session.settings)};
}

KnownQuestion::KnownQuestion(const Communicator& state, const CallTraits& traits, Form form)
    : question(question_of(traits, state.topology(), form)) {
  question.table = state.table_shape();
  if (mpi.has_library()) return;
  if (state.fabric() != nullptr)
    learnt_ = find_decided(*state.fabric(), traits, state.topology(), Form::non_blocking);
  if (learnt_) question.learnt = &*learnt_;
  question.modelled = state.modelled().find(traits.collective, traits.bytes);
}

std::string why_unsupported(const Spec& spec, const CallTraits& traits, const Topology& topology) {
  return why_unsupported(spec, question_of(traits, topology, Form::blocking));
}

Choice decide(const Communicator& state, const CallTraits& traits, Form form,
              const std::optional<Spec>& forced) {
  if (is_of_library(state, traits)) return {};
  KnownQuestion known(state, traits, form);
  const std::optional<Spec>& wanted = wanted_spec(traits, forced);
  if (wanted) known.question.wanted = &*wanted;
  Claim claim = decide(known.question);
  if (!claim.refusal.empty()) {
    complain_of(*wanted, claim);
    if (session.settings.strict) return Choice{.spec = {}, .source = Source::none};
  }
  if (claim.spec->is_native() && !may_be_cut(traits, form)) claim.spec = Spec{};
  return {.spec = *claim.spec,
          .source = claim.source,
          .algorithm_of_library = std::move(claim.algorithm_of_library)};
}

bool is_out_of_reach(const CallTraits& traits, Form form, const std::optional<Spec>& forced) {
  if (form == Form::blocking || may_be_in_background(traits)) return false;
  const std::optional<Spec>& wanted = wanted_spec(traits, forced);
  if (!traits.understood || !wanted || wanted->is_native()) return true;
  if (session.non_blocking) {
    complain_once_on_rank_0(
        "the MPI library handles non-blocking reductions by the program's own operations, which no other "
        "thread may run; set STRETTO_PROGRESS_THREAD=1 if any thread may");
  } else {
    complain_once_on_rank_0(std::string("the MPI library handles non-blocking calls: ") +
                            reason_of(session.background));
  }
  return true;
}

bool may_be_tuned(const Communicator& state, const CallTraits& traits, Form form, const Choice& choice) {
  if (choice.source != Source::rule || form != Form::blocking || !choice.spec.is_pass_through()) return false;
  // Tuning measures equal blocks, operations that commute, and communicators like MPI_COMM_WORLD.
  if (has_private_lengths(traits.collective) || traits.collective == Collective::barrier ||
      traits.has_unequal_blocks || !traits.commutative) {
    return false;
  }
  const Topology& here = state.topology();
  const Topology& world = session.topology;
  return here.ranks() > 1 && here.nodes == world.nodes && here.min_ppn == world.min_ppn &&
         here.max_ppn == world.max_ppn;
}

std::string to_string(const Choice& choice) {
  return choice.algorithm_of_library.empty() ? to_string(choice.spec)
                                             : "native(" + choice.algorithm_of_library + ")";
}

}  // namespace stretto
