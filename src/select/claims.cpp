// SPDX-License-Identifier: Apache-2.0
#include "select/claims.hpp"

#include <array>
#include <string_view>

#include "algorithms/registry.hpp"

namespace stretto {
namespace {

/// Whether the MPI library's own calls of a collective can be cut into segments: those of the pipelined
/// paper.
constexpr bool is_cut_by_library(Collective collective) {
  return collective <= Collective::allgather;
}

std::string why_not_native(const Spec& spec, const Question& asked) {
  if (!asked.has_library) return "is not possible: the job has no MPI library";
  const Collective collective = asked.call.collective;
  if (!spec.is_pass_through() && (!is_cut_by_library(collective) || asked.has_unequal_blocks)) {
    return "is not possible: Stretto does not cut the MPI library's own " + std::string(name_of(collective));
  }
  return asked.is_reproducible ? "is not reproducible, which STRETTO_REPRODUCIBLE requires" : "";
}

Spec choose_by_rule(const Question& asked) {
  if (asked.is_reproducible) return choose_reproducible(asked.call);
  return asked.must_avoid_library ? choose_own(asked.call) : choose(asked.call);
}

/// What the user names counts, whatever it is. If it cannot be, the MPI default is used where that can be.
Claim of_user(const Question& asked) {
  Claim claim{.source = Source::forced};
  if (asked.wanted == nullptr) return claim;
  claim.refusal = why_unsupported(*asked.wanted, asked);
  if (claim.refusal.empty()) {
    claim.spec = *asked.wanted;
  } else {
    claim.spec = asked.is_reproducible || asked.must_avoid_library ? choose_by_rule(asked) : Spec{};
  }
  return claim;
}

/// What a measurement or a model proposes counts if it can carry the call out.
Claim proposed(Source source, const Spec& spec, const Question& asked) {
  Claim claim{.source = source};
  if (spec.is_native() && asked.has_library && asked.must_avoid_library) return claim;
  claim.refusal = why_unsupported(spec, asked);
  if (claim.refusal.empty()) claim.spec = spec;
  return claim;
}

Claim of_rows(Source source, const Table::Shape* shape, const Question& asked) {
  // The rows are for equal blocks.
  const bool applies = shape != nullptr && !asked.call.has_dominant_node;
  const Table::Row* row =
      applies ? shape->find(asked.call.collective, asked.call.form, asked.call.bytes) : nullptr;
  if (row == nullptr) return {.source = source};
  Claim claim = proposed(source, row->spec, asked);
  if (claim.spec) claim.algorithm_of_library = row->library;
  return claim;
}

Claim of_table(const Question& asked) {
  return of_rows(Source::table, asked.table, asked);
}

Claim of_learnt(const Question& asked) {
  return asked.learnt == nullptr ? Claim{.source = Source::learnt}
                                 : proposed(Source::learnt, *asked.learnt, asked);
}

Claim of_model(const Question& asked) {
  return of_rows(Source::model, asked.modelled, asked);
}

Claim of_rule(const Question& asked) {
  return {.source = Source::rule, .spec = choose_by_rule(asked)};
}

constexpr std::array sources{of_user, of_table, of_learnt, of_model, of_rule};

}  // namespace

std::string_view name_of(Source source) {
  constexpr std::array<std::string_view, 7> names{"library",  "forced", "table", "learnt",
                                                  "modelled", "rule",   "none"};
  return names.at(static_cast<std::size_t>(source));
}

std::string why_unsupported(const Spec& spec, const Question& asked) {
  if (spec.is_native()) return why_not_native(spec, asked);
  const Topology& topology = asked.topology;
  if (!asked.call.commutative && !keeps_order(spec.recipe, topology, asked.root)) {
    return "does not keep rank order on " + std::to_string(topology.ranks()) +
           " ranks, which a non-commutative operation requires";
  }
  if (asked.is_reproducible && !has_fixed_tree(spec.recipe, topology, asked.root)) {
    return "does not reduce by the fixed tree, which STRETTO_REPRODUCIBLE requires";
  }
  const Algorithm& algorithm = *spec.recipe.algorithm;
  const std::string_view reason = algorithm.why_unsupported(task_of(spec.recipe, topology, asked.root));
  if (!reason.empty()) return "does not fit: " + std::string(reason);
  if (algorithm.stays_whole() && asked.call.bytes > Pipelining::most_segment_bytes) {
    return "sends runs of blocks, which cannot be cut, so it takes at most 1 GiB";
  }
  return {};
}

Claim decide(const Question& asked) {
  for (const auto source : sources) {
    Claim claim = source(asked);
    if (claim.spec) return claim;
  }
  return {};
}

std::vector<Claim> all_claims(const Question& asked) {
  std::vector<Claim> claims;
  claims.reserve(sources.size());
  for (const auto source : sources) claims.push_back(source(asked));
  return claims;
}

}  // namespace stretto
