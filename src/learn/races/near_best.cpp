// SPDX-License-Identifier: Apache-2.0
#include "learn/races/near_best.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/short_list.hpp"
#include "select/rule_constants.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

// With segments four times as large, or four times as many messages, a call cannot take more than four times
// as long.
constexpr double risk_of_segments = 2;
// If the standing choice is three times as fast as the library, a trial of the library loses 2.
constexpr double risk_of_native = 2;
constexpr double risk_of_others = 5;

constexpr std::size_t least_segment = 4 * kibibyte;
/// The bytes of each message of an algorithm that sends blocks.
constexpr std::size_t message_bytes = rule_constants.message;

/// The registry's short list for a message of so many bytes. Node-aware recipes come first: on shared nodes
/// they gain most.
std::vector<Recipe> short_listed(Collective collective, std::size_t bytes) {
  const bool is_short = bytes < rule_constants.allreduce;
  std::vector<Recipe> recipes;
  for (const bool node_aware : {true, false}) {
    for (const ShortListed& one : short_list(collective)) {
      const bool is_good = is_short ? one.short_messages : one.long_messages;
      if (is_good && one.needs_shared_nodes == node_aware) recipes.push_back(one.recipe);
    }
  }
  return recipes;
}

class List {
 public:
  List(const Spec& standing, std::size_t bytes) : standing_(standing), bytes_(bytes) {}

  void add(const Spec& spec, double risk) {
    const auto same = [&](const Candidate& other) { return other.spec == spec; };
    if (spec == standing_ || std::ranges::any_of(all_, same)) return;
    all_.push_back({.spec = spec, .risk = risk});
  }

  void add_segments(std::size_t segment_bytes) {
    if (segment_bytes < least_segment || segment_bytes > bytes_) return;
    Spec spec = standing_;
    spec.pipelining.segment_bytes = segment_bytes;
    add(spec, risk_of_segments);
  }

  std::vector<Candidate> take() { return std::move(all_); }

 private:
  const Spec& standing_;
  std::size_t bytes_;
  std::vector<Candidate> all_;
};

void add_of_table(List& list, const CallShape& shape, const Table& table, const Table::Shape* own) {
  if (own != nullptr) {
    const std::span<const Table::Row> rows = own->rows_of(shape.collective, shape.form);
    const Table::Row* here = own->find(shape.collective, shape.form, shape.bytes);
    const auto after = std::ranges::upper_bound(rows, shape.bytes, {}, &Table::Row::from);
    const auto up_to_here = static_cast<std::size_t>(after - rows.begin());
    const std::size_t before = up_to_here - (here == nullptr ? 0 : 1);
    if (before > 0) list.add(rows[before - 1].spec, risk_of_others);
    if (after != rows.end()) list.add(after->spec, risk_of_others);
  }
  for (const Table::Shape& other : table.shapes) {
    // With lanes, other specs are best.
    if (&other == own || (other.min_ppn > 1) != (shape.min_ppn > 1)) continue;
    const Table::Row* row = other.find(shape.collective, shape.form, shape.bytes);
    if (row != nullptr) list.add(row->spec, risk_of_others);
  }
}

}  // namespace

std::vector<Candidate> near_best(const Spec& standing, const CallShape& shape, const Table* table,
                                 const Table::Shape* own) {
  List list(standing, shape.bytes);
  list.add(Spec{}, risk_of_native);
  if (const std::size_t segment = standing.pipelining.segment_bytes; segment > 0) {
    list.add_segments(segment / 4);
    list.add_segments(segment > Pipelining::most_segment_bytes / 4 ? 0 : segment * 4);
  }
  if (table != nullptr) add_of_table(list, shape, *table, own);
  const std::size_t blocks = message_bytes * static_cast<std::size_t>(shape.ranks);
  for (Recipe& recipe : short_listed(shape.collective, shape.bytes)) {
    Spec spec{.recipe = std::move(recipe), .pipelining = {}};
    const bool in_blocks = !has_root(shape.collective);
    const std::size_t segment = std::min(in_blocks ? blocks : message_bytes, Pipelining::most_segment_bytes);
    if (segment < shape.bytes) spec.pipelining.segment_bytes = segment;
    list.add(spec, risk_of_others);
  }
  return list.take();
}

}  // namespace stretto
