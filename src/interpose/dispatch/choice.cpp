// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/choice.hpp"

#include <string_view>

#include "engine/execution/native_execution.hpp"
#include "interpose/session/session.hpp"
#include "select/rule.hpp"

namespace stretto {

std::string find_misfit(const Spec& spec, const CallTraits& traits, const Topology& topology) {
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  if (spec.is_native()) {
    const bool is_cut = is_cut_by_library(traits.collective) && !traits.has_unequal_blocks;
    if (!spec.is_pass_through() && !is_cut) {
      return "is not possible: the library's own " + std::string(name_of(traits.collective)) + " is not cut";
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
  const std::string_view misfit = algorithm.misfit(task_of(spec.recipe, topology, traits.root));
  if (!misfit.empty()) return "does not fit: " + std::string(misfit);
  if (algorithm.stays_whole() && traits.bytes > Pipelining::most_segment_bytes) {
    return "sends runs of blocks, which cannot be cut, so it takes at most 1 GiB";
  }
  return {};
}

namespace {

Spec choose_by_rule(const CallTraits& traits, const Topology& topology, Form form) {
  const CallShape shape = shape_of(traits, topology, form, session.shares_memory);
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  if (reproducible) return choose_reproducible(shape);
  return session.must_avoid_library(form) ? choose_own(shape) : choose(shape);
}

/// Returns nullptr if the table has no row, or one that cannot serve this call.
const Table::Row* find_in_table(const Communicator& state, const CallTraits& traits, Form form) {
  // Its rows were measured with equal blocks.
  if (state.table_shape() == nullptr || traits.has_dominant_node) return nullptr;
  const Table::Row* row = state.table_shape()->find(traits.collective, form, traits.bytes);
  if (row == nullptr) return nullptr;
  if (row->spec.is_native() && session.must_avoid_library(form)) return nullptr;
  return find_misfit(row->spec, traits, state.topology()).empty() ? row : nullptr;
}

/// Whether the helper thread may advance the call. It may not if it is a reduction by an operation of the
/// program: while the program is blocked in a function of the library, only the helper thread could
/// advance it, and that thread may not run the program's operation.
bool may_be_in_background(const CallTraits& traits) {
  return session.non_blocking && (!traits.calls_program || session.settings.progress_thread);
}

void remark_on_background() {
  if (session.non_blocking) {
    complain_once_on_rank_0(
        "the MPI library handles non-blocking reductions by the program's own operations, which no other "
        "thread may run; set STRETTO_PROGRESS_THREAD=1 if any thread may");
  } else {
    complain_once_on_rank_0(std::string("the MPI library handles non-blocking calls: ") +
                            reason_of(session.background));
  }
}

}  // namespace

std::optional<Spec> choose_for_form(const Communicator& state, const CallTraits& traits,
                                    const ProgramCall& asked) {
  if (!traits.understood || state.native_only()) return Spec{};
  // The library checks an empty message. Some ranks may send no elements, and others empty ones.
  const bool may_be_empty =
      has_private_lengths(traits.collective) || traits.collective == Collective::barrier;
  if (traits.bytes == 0 && !may_be_empty) return Spec{};
  const bool is_blocking = asked.form == Form::blocking;
  if (!is_blocking && !may_be_in_background(traits)) {
    const std::optional<Spec>& wanted =
        asked.forced ? asked.forced : session.forced_for(traits.collective, traits.bytes);
    if (wanted && !wanted->is_native()) remark_on_background();
    return Spec{};
  }
  std::optional<Spec> spec = choose_spec(state, traits, asked.form, asked.forced);
  if (!spec || !spec->is_native()) return spec;
  // All ranks must start the library's own calls in the same order. Persistent ones may be started in
  // any order.
  const bool may_be_cut = is_blocking || (asked.form == Form::non_blocking && !traits.blocks_in_segments);
  return may_be_cut ? spec : Spec{};
}

std::optional<Spec> choose_spec(const Communicator& state, const CallTraits& traits, Form form,
                                const std::optional<Spec>& forced) {
  const std::optional<Spec>& wanted = forced ? forced : session.forced_for(traits.collective, traits.bytes);
  const Topology& topology = state.topology();
  if (!wanted) {
    const Table::Row* tuned = find_in_table(state, traits, form);
    return tuned != nullptr ? tuned->spec : choose_by_rule(traits, topology, form);
  }
  const std::string misfit = find_misfit(*wanted, traits, topology);
  if (misfit.empty()) return wanted;
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  const Spec instead = reproducible ? choose_by_rule(traits, topology, form) : Spec{};
  complain_once_on_rank_0("spec \"" + to_string(*wanted) + "\" " + misfit + "; " +
                          (session.settings.strict ? "the call fails (STRETTO_STRICT)"
                           : reproducible          ? to_string(instead) + " is used"
                                                   : "the MPI default is used"));
  if (session.settings.strict) return std::nullopt;
  return instead;
}

bool is_tuned(const Communicator& state, const CallTraits& traits, Form form) {
  return !session.forced_for(traits.collective, traits.bytes) &&
         find_in_table(state, traits, form) != nullptr;
}

std::string choice_text(const Communicator& state, const CallTraits& traits, Form form) {
  const Spec spec = choose_spec(state, traits, form, std::nullopt).value_or(Spec{});
  const Table::Row* tuned = is_tuned(state, traits, form) ? find_in_table(state, traits, form) : nullptr;
  const bool is_named = tuned != nullptr && !tuned->library.empty();
  return is_named ? "native(" + tuned->library + ")" : to_string(spec);
}

}  // namespace stretto
