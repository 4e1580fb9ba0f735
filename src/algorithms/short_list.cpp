// SPDX-License-Identifier: Apache-2.0
#include "algorithms/short_list.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "threads/immortal.hpp"

namespace stretto {
namespace {

bool same_messages(const Algorithm& a, const Algorithm& b) {
  return a.use.short_messages == b.use.short_messages && a.use.long_messages == b.use.long_messages;
}

std::vector<std::size_t> segment_sizes(const Algorithm& algorithm) {
  std::vector<std::size_t> sizes;
  std::ranges::copy_if(algorithm.use.segment_bytes, std::back_inserter(sizes),
                       [](std::size_t bytes) { return bytes > 0; });
  return sizes;
}

ShortListed simple(const Algorithm& algorithm) {
  return {
      .recipe = usual_recipe(algorithm),
      .short_messages = algorithm.use.short_messages,
      .long_messages = algorithm.use.long_messages,
      .needs_shared_nodes = needs_shared_nodes(algorithm),
      .whole = algorithm.stays_whole() || (!algorithm.use.only_in_segments && !needs_shared_nodes(algorithm)),
      .segment_bytes = segment_sizes(algorithm)};
}

void add_composed(std::vector<ShortListed>& list, const Algorithm& algorithm) {
  for (Recipe& recipe : recipes_to_search(algorithm)) {
    const Algorithm& part = *recipe.parts[0].algorithm;
    const std::vector<std::size_t> sizes = segment_sizes(part);
    if (algorithm.stays_whole()) {
      list.push_back({.recipe = std::move(recipe),
                      .short_messages = algorithm.use.short_messages && part.use.short_messages,
                      .long_messages = algorithm.use.long_messages && part.use.long_messages,
                      .needs_shared_nodes = needs_shared_nodes(algorithm),
                      .whole = true,
                      .segment_bytes = {}});
      continue;
    }
    if (sizes.empty() || !part.use.long_messages) continue;
    list.push_back({.recipe = std::move(recipe),
                    .short_messages = algorithm.use.short_messages && part.use.short_messages,
                    .long_messages = algorithm.use.long_messages,
                    .needs_shared_nodes = needs_shared_nodes(algorithm),
                    .whole = false,
                    .segment_bytes = {sizes.back()}});
  }
}

std::vector<ShortListed> make_short_list(Collective collective) {
  std::vector<ShortListed> list;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != collective) continue;
    if (!algorithm.use.short_messages && !algorithm.use.long_messages) continue;
    if (algorithm.part_count() == 0) {
      list.push_back(simple(algorithm));
    } else {
      add_composed(list, algorithm);
    }
  }
  return list;
}

}  // namespace

std::span<const ShortListed> short_list(Collective collective) {
  using Lists = std::array<std::vector<ShortListed>, collectives.size()>;
  static const auto& lists = []() -> const Lists& {
    auto& all = make_immortal<Lists>();
    std::ranges::transform(collectives, all.begin(), make_short_list);
    return all;
  }();
  return lists.at(static_cast<std::size_t>(collective));
}

std::vector<Recipe> recipes_to_search(const Algorithm& algorithm) {
  const Recipe usual = usual_recipe(algorithm);
  std::vector<Recipe> recipes{usual};
  const auto parts_of = [](Collective collective) {
    std::vector<const Algorithm*> parts;
    for (const Algorithm& part : algorithms()) {
      if (part.collective == collective && part.use.as_part) parts.push_back(&part);
    }
    return parts;
  };
  const auto add = [&](std::vector<Recipe> parts) {
    recipes.push_back(usual);
    recipes.back().parts = std::move(parts);
    if (recipes.back() == usual) recipes.pop_back();
  };
  if (algorithm.part_count() == 0) return recipes;
  for (const Algorithm* first : parts_of(algorithm.parts[0].collective)) {
    if (algorithm.part_count() == 1) {
      add({usual_recipe(*first)});
      continue;
    }
    for (const Algorithm* second : parts_of(algorithm.parts[1].collective)) {
      if (same_messages(*first, *second)) add({usual_recipe(*first), usual_recipe(*second)});
    }
  }
  return recipes;
}

bool needs_shared_nodes(const Algorithm& algorithm) {
  const Topology one_rank_each = Topology::flat(8);
  const Recipe usual = usual_recipe(algorithm);
  return !algorithm.why_unsupported(task_of(usual, one_rank_each)).empty();
}

bool needs_segments(const Recipe& recipe) {
  return recipe.algorithm->use.only_in_segments || std::ranges::any_of(recipe.parts, needs_segments);
}

}  // namespace stretto
