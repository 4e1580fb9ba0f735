// SPDX-License-Identifier: Apache-2.0
#include "interpose/carry_out.hpp"

#include <chrono>
#include <string>

#include "select/rule.hpp"

namespace stretto {
namespace {

/// Why a forced spec cannot serve a call; empty if it can.
std::string find_misfit(const Spec& spec, const CallTraits& traits, const Topology& topology) {
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  if (spec.is_native()) {
    return reproducible ? "is not reproducible, which STRETTO_REPRODUCIBLE asks for" : "";
  }
  if (!traits.commutative && !keeps_order(spec.recipe, topology, traits.root)) {
    return "does not keep rank order on " + std::to_string(topology.ranks()) +
           " ranks, which an operation that does not commute needs";
  }
  if (reproducible && !has_fixed_tree(spec.recipe, topology, traits.root)) {
    return "does not reduce by the fixed tree, which STRETTO_REPRODUCIBLE asks for";
  }
  const Algorithm& algorithm = *spec.recipe.algorithm;
  const std::string_view misfit = algorithm.misfit(task_of(spec.recipe, topology, traits.root));
  if (!misfit.empty()) return "does not fit: " + std::string(misfit);
  if (algorithm.moves_runs && has_block_of_each_rank(traits.collective) &&
      traits.bytes > Pipelining::most_segment_bytes) {
    return "sends runs of blocks, which cannot be cut, so it takes at most 1 GiB";
  }
  return {};
}

Spec choose_by_rule(const CallTraits& traits, const Topology& topology) {
  const CallShape shape{.collective = traits.collective,
                        .bytes = traits.bytes,
                        .ranks = topology.ranks(),
                        .nodes = topology.nodes,
                        .min_ppn = topology.min_ppn,
                        .max_ppn = topology.max_ppn,
                        .commutative = traits.commutative};
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  return reproducible ? choose_reproducible(shape) : choose(shape);
}

}  // namespace

std::optional<Spec> choose_for(const Communicator& state, const CallTraits& traits,
                               const std::optional<Spec>& forced) {
  const std::optional<Spec>& wanted = forced ? forced : session.settings.forced_for(traits.collective);
  const Topology& topology = state.topology();
  if (!wanted) return choose_by_rule(traits, topology);
  const std::string misfit = find_misfit(*wanted, traits, topology);
  if (misfit.empty()) return wanted;
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  const Spec instead = reproducible ? choose_by_rule(traits, topology) : Spec{};
  complain_once_on_rank_0("spec \"" + to_string(*wanted) + "\" " + misfit + "; " +
                          (session.settings.strict ? "the call fails (STRETTO_STRICT)"
                           : reproducible          ? to_string(instead) + " is used"
                                                   : "the MPI library's own is used"));
  if (session.settings.strict) return std::nullopt;
  return instead;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int report(MPI_Comm comm, int error) {
  mpi.Comm_call_errhandler(comm, error);
  return error;
}

}  // namespace stretto
