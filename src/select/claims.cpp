// SPDX-License-Identifier: Apache-2.0
#include "select/claims.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "algorithms/registry.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// Whether the MPI library's own calls of a collective can be cut into segments: those of the pipelined
/// paper.
constexpr bool is_cut_by_library(Collective collective) {
  return collective <= Collective::allgather;
}

std::string why_not_native(const Spec& spec, const Question& question) {
  if (!question.has_library) return "is not possible: the job has no MPI library";
  const Collective collective = question.call.collective;
  if (!spec.is_pass_through() && (!is_cut_by_library(collective) || question.has_unequal_blocks)) {
    return "is not possible: Stretto does not cut the MPI library's own " + std::string(name_of(collective));
  }
  return question.is_reproducible() ? "is not reproducible, which STRETTO_REPRODUCIBLE requires" : "";
}

Claim of_rule(const Question& question) {
  const CallShape& call = question.call;
  const RuleRow* row = nullptr;
  if (question.is_reproducible()) {
    row = find_row(RuleSection::reproducible, call);
  } else {
    row = question.must_avoid_library ? find_own_row(call) : find_row(usual_section(call), call);
  }
  return {.source = Source::rule, .spec = row == nullptr ? Spec{} : row->spec_for(call), .row = row};
}

/// What the user names counts, whatever it is. If it cannot be, the MPI default is used where that can be.
Claim of_user(const Question& question) {
  Claim claim{.source = Source::forced};
  if (question.wanted == nullptr) return claim;
  claim.refusal = why_unsupported(*question.wanted, question);
  if (claim.refusal.empty()) {
    claim.spec = *question.wanted;
  } else {
    claim.spec = question.is_reproducible() || question.must_avoid_library ? of_rule(question).spec : Spec{};
  }
  return claim;
}

/// What a measurement or a model proposes counts if it can carry the call out.
Claim proposed(Source source, const Spec& spec, const Question& question) {
  Claim claim{.source = source};
  if (spec.is_native() && question.has_library && question.must_avoid_library) return claim;
  claim.refusal = why_unsupported(spec, question);
  if (claim.refusal.empty()) claim.spec = spec;
  return claim;
}

Claim of_table(const Question& question) {
  const CallShape& call = question.call;
  // The rows are for equal blocks.
  const bool applies = question.table != nullptr && !call.has_dominant_node;
  const Table::Row* row = applies ? question.table->find(call.collective, call.form, call.bytes) : nullptr;
  if (row == nullptr) return {.source = Source::table};
  Claim claim = proposed(Source::table, row->spec, question);
  if (claim.spec) claim.algorithm_of_library = row->library;
  return claim;
}

Claim of_finding(Source source, const Finding* finding, const Question& question) {
  if (finding == nullptr || !why_unused(source, question).empty()) return {.source = source};
  Question longest = question;
  longest.call.bytes = longest_of_kind(question.call.bytes);
  Claim claim = proposed(source, finding->spec, longest);
  claim.seconds = finding->seconds;
  claim.bytes = finding->bytes;
  return claim;
}

/// Which sources are asked: a call pays for each.
enum class Ask : std::uint8_t { all, those_that_know_something };

/// Calls take(claim) with one claim after the other, until it returns true.
template <Ask ask, typename Take>
void for_each_claim(const Question& question, const Take& take) {
  constexpr bool all = ask == Ask::all;
  if ((all || question.wanted != nullptr) && take(of_user(question))) return;
  if ((all || question.table != nullptr) && take(of_table(question))) return;
  if ((all || question.learnt != nullptr) && take(of_finding(Source::learnt, question.learnt, question)))
    return;
  if (all && question.modelled.empty()) take(of_finding(Source::model, nullptr, question));
  for (const Finding& finding : question.modelled) {
    if (take(of_finding(Source::model, &finding, question))) return;
  }
  take(of_rule(question));
}

}  // namespace

std::string_view name_of(Source source) {
  constexpr std::array<std::string_view, 7> names{"library",  "forced", "table", "learnt",
                                                  "modelled", "rule",   "none"};
  return names.at(static_cast<std::size_t>(source));
}

std::string why_unsupported(const Spec& spec, const Question& question) {
  if (spec.is_native()) return why_not_native(spec, question);
  const Topology& topology = question.topology;
  if (!question.call.commutative && !keeps_order(spec.recipe, topology, question.root)) {
    return "does not keep rank order on " + std::to_string(topology.ranks()) +
           " ranks, which a non-commutative operation requires";
  }
  if (question.is_reproducible() && !has_fixed_tree(spec.recipe, topology, question.root)) {
    return "does not reduce by the fixed tree, which STRETTO_REPRODUCIBLE requires";
  }
  const Algorithm& algorithm = *spec.recipe.algorithm;
  const std::string_view reason = algorithm.why_unsupported(task_of(spec.recipe, topology, question.root));
  if (!reason.empty()) return "does not fit: " + std::string(reason);
  if (algorithm.stays_whole() && question.call.bytes > Pipelining::most_segment_bytes) {
    return "sends runs of blocks, which cannot be cut, so it takes at most 1 GiB";
  }
  return {};
}

std::string_view why_nothing_is_learnt(const LearningSettings& settings) {
  if (settings.reproducible) return "STRETTO_REPRODUCIBLE=1";
  return settings.check ? "STRETTO_CHECK=1" : "";
}

std::string why_unused(Source source, const Question& question) {
  const LearningSettings& settings = question.learning;
  const std::string_view setting = why_nothing_is_learnt(settings);
  if (!setting.empty()) return std::string(setting);
  if (settings.online == Online::off) return "STRETTO_ONLINE=0";
  if (question.call.has_dominant_node) return "one node has most of the bytes";
  if (!question.has_library) return question.topology.nodes < 2 ? "there is one node" : "";
  // With a library, the model only proposes specs, and calls show which is faster.
  if (source == Source::model && settings.online == Online::freeze) return "STRETTO_ONLINE=freeze";
  if (question.call.bytes >= question.least_learnt) return {};
  return "calls below " + size_text(question.least_learnt) +
         (of_rule(question).spec->is_native() ? " go to the MPI library at once"
                                              : " have a race with the MPI library instead");
}

Claim decide(const Question& question) {
  Claim found;
  for_each_claim<Ask::those_that_know_something>(question, [&](Claim&& claim) {
    if (claim.spec) found = std::move(claim);
    return found.spec.has_value();
  });
  return found;
}

std::vector<Claim> all_claims(const Question& question) {
  std::vector<Claim> claims;
  for_each_claim<Ask::all>(question, [&](Claim&& claim) {
    const bool is_finding = claim.source == Source::learnt || claim.source == Source::model;
    if (is_finding) claim.unused = why_unused(claim.source, question);
    claims.push_back(std::move(claim));
    return false;
  });
  return claims;
}

std::vector<Candidate> challengers_of(std::span<const Claim> claims, bool has_library) {
  constexpr double most_expected = 3;
  constexpr std::size_t most = 4;
  const auto standing =
      std::ranges::find_if(claims, [](const Claim& claim) { return claim.spec.has_value(); });
  std::vector<Candidate> challengers;
  if (standing == claims.end() || standing->source < Source::learnt) return challengers;
  const auto consider = [&](const Claim& claim) {
    if (!claim.spec || claim.spec->is_pass_through() || challengers.size() == most) return;
    const double expected = standing->seconds > 0 ? claim.seconds / standing->seconds : 0;
    const bool is_known = *claim.spec == *standing->spec ||
                          std::ranges::find(challengers, *claim.spec, &Candidate::spec) != challengers.end();
    if (expected <= most_expected && !is_known)
      challengers.push_back({.spec = *claim.spec, .expected = expected > 0 ? expected : 1});
  };
  // The rule was made from measurements. It is right in most cases in which the model is wrong. With an MPI
  // library, its own call challenges the model's spec in place of the rule's.
  auto others = std::span(standing, claims.end()).subspan(1);
  if (!others.empty() && others.back().source == Source::rule) {
    if (!has_library || standing->source == Source::learnt) consider(others.back());
    others = others.first(others.size() - 1);
  }
  for (const Claim& claim : others) consider(claim);
  return challengers;
}

bool is_compared(const Claim& claim, std::span<const Claim> claims, const Question& question) {
  if (!claim.spec || claim.spec->is_native() || !why_unused(Source::model, question).empty()) return false;
  if (!question.has_library)
    return question.learning.online == Online::guard && claim.source > Source::learnt &&
           !challengers_of(claims, false).empty();
  // A duel of an earlier job is believed if it says how long a call takes.
  const bool is_known = claim.source == Source::learnt && claim.seconds > 0;
  return claim.source > Source::forced && !is_known;
}

}  // namespace stretto
