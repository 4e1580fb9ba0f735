// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/choice.hpp"

#include <string_view>

#include "engine/execution/native_execution.hpp"
#include "interpose/session/session.hpp"
#include "select/rule.hpp"

namespace stretto {

std::string why_unsupported(const Spec& spec, const CallTraits& traits, const Topology& topology) {
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  if (spec.is_native() && !mpi.has_library()) return "is not possible: the job has no MPI library";
  if (spec.is_native()) {
    const bool is_cut = is_cut_by_library(traits.collective) && !traits.has_unequal_blocks;
    if (!spec.is_pass_through() && !is_cut) {
      return "is not possible: Stretto does not cut the MPI library's own " +
             std::string(name_of(traits.collective));
    }
    return reproducible ? "is not reproducible, which STRETTO_REPRODUCIBLE requires" : "";
  }
  if (!traits.commutative && !keeps_order(spec.recipe, topology, traits.root)) {
    return "does not keep rank order on " + std::to_string(topology.ranks()) +
           " ranks, which a non-commutative operation requires";
  }
  if (reproducible && !has_fixed_tree(spec.recipe, topology, traits.root)) {
    return "does not reduce by the fixed tree, which STRETTO_REPRODUCIBLE requires";
  }
  const Algorithm& algorithm = *spec.recipe.algorithm;
  const std::string_view reason = algorithm.why_unsupported(task_of(spec.recipe, topology, traits.root));
  if (!reason.empty()) return "does not fit: " + std::string(reason);
  if (algorithm.stays_whole() && traits.bytes > Pipelining::most_segment_bytes) {
    return "sends runs of blocks, which cannot be cut, so it takes at most 1 GiB";
  }
  return {};
}

namespace {

/// Returns the spec that the user wants for a call; empty if none is forced. `by_call` is the spec that the
/// call itself forces.
const std::optional<Spec>& wanted_spec(const CallTraits& traits, const std::optional<Spec>& by_call) {
  return by_call ? by_call : session.forced_for(traits.collective, traits.bytes);
}

struct Question {
  const Communicator& state;
  const CallTraits& traits;
  Form form;
  const std::optional<Spec>& forced;  // by the call itself

  [[nodiscard]] bool is_reproducible() const {
    return session.settings.reproducible && is_reduction(traits.collective);
  }
};

Spec choose_by_rule(const Question& asked) {
  const CallShape shape = shape_of(asked.traits, asked.state.topology(), asked.form, session.shares_memory);
  if (asked.is_reproducible()) return choose_reproducible(shape);
  return session.must_avoid_library(asked.form) ? choose_own(shape) : choose(shape);
}

/// Whether the helper thread may advance the call. It may not if it is a reduction by an operation of the
/// program: while the program is blocked in a function of the library, only the helper thread could
/// advance it, and that thread may not run the program's operation.
bool may_be_in_background(const CallTraits& traits) {
  return session.non_blocking && (!traits.calls_program || session.settings.progress_thread);
}

std::optional<Choice> of_library(const Question& asked) {
  const CallTraits& traits = asked.traits;
  if (!traits.understood || asked.state.native_only()) return Choice{};
  // The library checks an empty message. Some ranks may send no elements, and others empty ones.
  const bool may_be_empty =
      has_private_lengths(traits.collective) || traits.collective == Collective::barrier;
  return traits.bytes == 0 && !may_be_empty ? std::optional(Choice{}) : std::nullopt;
}

std::optional<Choice> of_settings(const Question& asked) {
  const std::optional<Spec>& wanted = wanted_spec(asked.traits, asked.forced);
  if (!wanted) return std::nullopt;
  const std::string reason = why_unsupported(*wanted, asked.traits, asked.state.topology());
  if (reason.empty()) return Choice{.spec = *wanted, .source = Source::forced};
  const bool needs_own = asked.is_reproducible() || session.must_avoid_library(asked.form);
  const Spec instead = needs_own ? choose_by_rule(asked) : Spec{};
  complain_once_on_rank_0("spec \"" + to_string(*wanted) + "\" " + reason + "; " +
                          (session.settings.strict ? "the call fails (STRETTO_STRICT)"
                           : needs_own             ? to_string(instead) + " is used"
                                                   : "the MPI default is used"));
  if (session.settings.strict) return Choice{.spec = {}, .source = Source::none};
  return Choice{.spec = instead, .source = Source::forced};
}

/// Returns the choice of the row for this call; empty if there is no row, or if it cannot serve the call.
std::optional<Choice> of_rows(const Question& asked, const Table::Shape* shape, Source source) {
  // The rows are for equal blocks.
  if (shape == nullptr || asked.traits.has_dominant_node) return std::nullopt;
  const Table::Row* row = shape->find(asked.traits.collective, asked.form, asked.traits.bytes);
  if (row == nullptr || (row->spec.is_native() && session.must_avoid_library(asked.form)) ||
      !why_unsupported(row->spec, asked.traits, asked.state.topology()).empty()) {
    return std::nullopt;
  }
  return Choice{.spec = row->spec, .source = source, .algorithm_of_library = row->library};
}

std::optional<Choice> of_table(const Question& asked) {
  return of_rows(asked, asked.state.table_shape(), Source::table);
}

std::optional<Choice> of_model(const Question& asked) {
  return of_rows(asked, asked.state.modelled(), Source::model);
}

std::optional<Choice> of_rule(const Question& asked) {
  return Choice{.spec = choose_by_rule(asked), .source = Source::rule};
}

/// Whether the library's own call may be cut into segments. All ranks must start the library's own calls in
/// the same order, but persistent ones may be started in any order.
bool may_be_cut(const Question& asked) {
  return asked.form == Form::blocking ||
         (asked.form == Form::non_blocking && !asked.traits.blocks_in_segments);
}

}  // namespace

Choice decide(const Communicator& state, const CallTraits& traits, Form form,
              const std::optional<Spec>& forced) {
  const Question asked{.state = state, .traits = traits, .form = form, .forced = forced};
  for (const auto source : {of_library, of_settings, of_table, of_model, of_rule}) {
    std::optional<Choice> choice = source(asked);
    if (!choice) continue;
    if (choice->spec.is_native() && !may_be_cut(asked)) choice->spec = {};
    return *std::move(choice);
  }
  return {};
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
  const Topology& its = state.topology();
  const Topology& world = session.topology;
  return its.ranks() > 1 && its.nodes == world.nodes && its.min_ppn == world.min_ppn &&
         its.max_ppn == world.max_ppn;
}

std::string to_string(const Choice& choice) {
  return choice.algorithm_of_library.empty() ? to_string(choice.spec)
                                             : "native(" + choice.algorithm_of_library + ")";
}

}  // namespace stretto
