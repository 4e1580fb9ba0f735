// SPDX-License-Identifier: Apache-2.0
#include "algorithms/registry.hpp"

#include <algorithm>

#include "algorithms/allgather/allgather.hpp"
#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/alltoall/alltoall.hpp"
#include "algorithms/barrier/barrier.hpp"
#include "algorithms/bcast/bcast.hpp"
#include "algorithms/gather/gather.hpp"
#include "algorithms/reduce/reduce.hpp"
#include "algorithms/reduce_scatter/reduce_scatter.hpp"
#include "algorithms/scan/scan.hpp"
#include "algorithms/scatter/scatter.hpp"
#include "threads/immortal.hpp"

namespace stretto {

std::span<const Algorithm> algorithms() {
  static const auto& all = []() -> const std::vector<Algorithm>& {
    auto& rows = make_immortal<std::vector<Algorithm>>();
    for (const auto table :
         {allreduce::table(), bcast::table(), reduce::table(), reduce_scatter::table(), allgather::table(),
          alltoall::table(), gather::table(), scatter::table(), scan::table(), barrier::table()}) {
      rows.insert(rows.end(), table.begin(), table.end());
    }
    return rows;
  }();
  return all;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

Recipe usual_recipe(const Algorithm& algorithm) {
  Recipe recipe{.algorithm = &algorithm, .radix = algorithm.usual_radix, .late = 0, .links = {}, .parts = {}};
  for (std::size_t i = 0; i < algorithm.part_count(); ++i) {
    const auto& part = algorithm.parts.at(i);
    recipe.parts.push_back(usual_recipe(*find_algorithm(part.collective, part.usual)));
  }
  return recipe;
}

std::vector<Recipe> sample_recipes(Collective collective) {
  std::vector<Recipe> recipes;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != collective) continue;
    const Recipe usual = usual_recipe(algorithm);
    recipes.push_back(usual);
    if (algorithm.usual_radix != 0) {
      for (const int radix : {2, 3, 5}) {
        if (radix == usual.radix) continue;
        recipes.push_back(usual);
        recipes.back().radix = radix;
      }
    }
    if (algorithm.takes_late) {
      for (const int late : {1, 6}) {
        recipes.push_back(usual);
        recipes.back().late = late;
      }
    }
    if (algorithm.takes_links) {
      for (const std::vector<int>& links : {std::vector{100, 50}, {100, 1, 80, 80}, {7, 100, 30}}) {
        recipes.push_back(usual);
        recipes.back().links = links;
      }
    }
    for (std::size_t i = 0; i < algorithm.part_count(); ++i) {
      for (const Algorithm& part : algorithms()) {
        if (part.collective != algorithm.parts.at(i).collective || part.part_count() > 0) continue;
        if (part.name == algorithm.parts.at(i).usual) continue;
        recipes.push_back(usual);
        recipes.back().parts[i] = usual_recipe(part);
      }
    }
  }
  return recipes;
}

namespace {

/// Returns the links one after the other: `100x7+50` is seven of 100 percent, and one of 50.
std::string links_text(const std::vector<int>& links) {
  std::string text;
  for (auto link = links.begin(); link != links.end();) {
    const auto end = std::find_if(link, links.end(), [&](int other) { return other != *link; });
    text += (text.empty() ? "" : "+") + std::to_string(*link);
    if (end - link > 1) text += "x" + std::to_string(end - link);
    link = end;
  }
  return text;
}

}  // namespace

std::string to_string(const Recipe& recipe) {
  if (recipe.algorithm == nullptr) return "native";
  std::string text(recipe.algorithm->name);
  for (std::size_t i = 0; i < recipe.parts.size(); ++i) {
    text += (i == 0 ? '(' : ',') + to_string(recipe.parts[i]);
  }
  if (!recipe.parts.empty()) text += ')';
  if (recipe.radix != 0) text += ":radix=" + std::to_string(recipe.radix);
  if (recipe.algorithm->takes_late) text += ":late=" + std::to_string(recipe.late);
  if (!recipe.links.empty()) text += ":links=" + links_text(recipe.links);
  return text;
}

Task task_of(const Recipe& recipe, const Topology& topology, int root) {
  return {.topology = topology,
          .root = root,
          .late = recipe.late,
          .radix = recipe.radix,
          .links = recipe.links,
          .parts = recipe.parts};
}

Schedule build(const Recipe& recipe, const Topology& topology, int root, int rank) {
  const Collective collective = recipe.algorithm->collective;
  if (topology.ranks() == 1 && is_reduction(collective) && !is_scan(collective)) {
    return Schedule(1, rank, 1).copy(output(0), input(0)).end_round();  // its contribution is the result
  }
  return recipe.algorithm->build(task_of(recipe, topology, root), rank);
}

bool keeps_order(const Recipe& recipe, const Topology& topology, int root) {
  return recipe.algorithm->keeps_order(task_of(recipe, topology, root));
}

bool has_fixed_tree(const Recipe& recipe, const Topology& topology, int root) {
  return recipe.algorithm->has_fixed_tree(task_of(recipe, topology, root));
}

}  // namespace stretto
