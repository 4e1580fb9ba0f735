// SPDX-License-Identifier: Apache-2.0
#include "select/rule.hpp"

#include <algorithm>
#include <bit>

#include "select/rule_text.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

Spec choose_in(RuleSection section, const CallShape& call, const RuleTable& rule = built_in_rule()) {
  const RuleRow* row = find_row(section, call, rule);
  return row == nullptr ? Spec{} : row->spec_for(call);
}

}  // namespace

bool RuleRow::holds(const CallShape& call) const {
  return std::ranges::all_of(conditions, [&](const Condition& one) { return one.allows(one.of(call)); });
}

Spec RuleRow::spec_for(const CallShape& call) const {
  Spec made = spec;
  if (!computed) return made;
  std::size_t value = std::clamp(computed->of(call), computed->least, computed->most);
  if (computed->most < SIZE_MAX) value = std::bit_floor(value);
  value *= times;
  if (spec.pipelining.segment_bytes > 0) {
    made.pipelining.segment_bytes = std::min(value, Pipelining::most_segment_bytes);
  } else {
    made.recipe.radix = static_cast<int>(value);
  }
  return made;
}

CallShape shape_of(Collective collective, std::size_t bytes, const Topology& topology, Form form) {
  return {.collective = collective,
          .bytes = bytes,
          .ranks = topology.ranks(),
          .nodes = topology.nodes,
          .min_ppn = topology.min_ppn,
          .max_ppn = topology.max_ppn,
          .min_cache = topology.min_cache,
          .form = form};
}

const RuleTable& built_in_rule() {
  static const auto& rule = make_immortal<const RuleTable>(read_rule(rule_text));
  return rule;
}

const RuleRow* find_row(RuleSection section, const CallShape& call, const RuleTable& rule) {
  for (const RuleRow& row : rule.rows_of(section, call.form, call.collective)) {
    if (row.holds(call)) return &row;
  }
  return nullptr;
}

const RuleRow* find_own_row(const CallShape& call) {
  for (const RuleSection section : {usual_section(call), RuleSection::reproducible, RuleSection::own}) {
    const RuleRow* row = find_row(section, call);
    if (row != nullptr && !row->spec.is_native()) return row;
  }
  return nullptr;
}

Spec choose(const CallShape& call, const RuleTable& rule) {
  return choose_in(usual_section(call), call, rule);
}

Spec choose_for_lengths(const CallShape& call) {
  return choose_in(RuleSection::lengths, call);
}

Spec choose_own(const CallShape& call) {
  const RuleRow* row = find_own_row(call);
  return row == nullptr ? Spec{} : row->spec_for(call);
}

std::size_t native_floor(Collective collective, Form form, int sharing_ranks) {
  if (collective == Collective::barrier) return 0;  // it has no bytes
  const auto& floors =
      built_in_rule().floors[form == Form::blocking ? 0 : 1][static_cast<std::size_t>(collective)];
  return floors[std::min(static_cast<std::size_t>(sharing_ranks), floors.size() - 1)].bytes;
}

std::size_t learning_floor(Collective collective, int sharing_ranks) {
  static const std::size_t of_pair = built_in_rule().figures.at("in_memory_of_pair");
  static const std::size_t of_more = built_in_rule().figures.at("in_memory");
  // An alltoall of short blocks is a short call, too.
  const std::size_t floor = collective == Collective::alltoall ? SIZE_MAX : native_floor(collective);
  return sharing_ranks > 0 ? std::min(floor, sharing_ranks == 2 ? of_pair : of_more) : floor;
}

}  // namespace stretto
