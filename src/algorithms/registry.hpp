// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto {

struct Algorithm;

/// The fastest link, in percent.
inline constexpr int whole_link = 100;

/// An algorithm with its parameters, as a spec names it: `ring`, `knomial:radix=4`, `smp(ring)`.
struct Recipe {
  const Algorithm* algorithm = nullptr;  // nullptr: the MPI library's own
  int radix = 0;                         // 0 if the algorithm has none
  int late = 0;                          // the late rank, of an algorithm that takes one
  std::vector<int> links;                // [node] percents of the fastest link; empty: links are alike
  std::vector<Recipe> parts;             // of a composed algorithm

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// The input of an algorithm that builds a schedule. It is the same on all ranks.
struct Task {
  const Topology& topology;
  int root = 0;                     // if the collective has one
  int late = 0;                     // the late rank, if the algorithm takes one
  int radix = 0;                    // at least 2 if the algorithm has one
  std::span<const int> links = {};  // [node] percents of the fastest link; empty: links are alike
  std::span<const Recipe> parts = {};

  [[nodiscard]] int ranks() const { return topology.ranks(); }
};

/// One algorithm of one collective. The command line, the tests, the documentation and the candidates all
/// derive from these rows. To add an algorithm, write its file and its row (CONTRIBUTING.md).
struct Algorithm {
  /// An algorithm inside a composed one: `ring` in smp(ring).
  struct Part {
    Collective collective = Collective::allreduce;
    std::string_view usual;  // unless the spec names another; empty: no such part
  };

  /// When the algorithm is worth trying. Online learning, studies, tuning, advice and the comparison of the
  /// models take their candidates from this (algorithms/short_list.hpp).
  struct Use {
    bool short_messages = false;    // few rounds
    bool long_messages = false;     // few bytes
    bool as_part = false;           // inside a composed algorithm
    bool only_in_segments = false;  // slow unless the message is cut into segments
    /// Segment sizes that make its rounds overlap well, ascending. 0: none.
    std::array<std::size_t, 2> segment_bytes{};
  };

  Collective collective;
  std::string_view name;
  std::string_view description;
  /// Builds the schedule of one rank. A pure function; message sizes do not matter.
  Schedule (*build)(const Task& task, int rank);
  /// Whether every result is a0 op a1 op … in rank order, as operations that do not commute require. The
  /// tests prove both answers.
  bool (*keeps_order)(const Task& task);
  /// Whether every result is the expression of the fixed tree (algorithms/fixed_tree.hpp), which
  /// STRETTO_REPRODUCIBLE requires. The tests prove a yes; a no is always allowed.
  bool (*has_fixed_tree)(const Task& task) = [](const Task&) { return false; };
  /// Why the algorithm is not useful on this topology, in a few words; empty if it is useful. It must be
  /// correct there in any case.
  std::string_view (*why_unsupported)(const Task& task) = [](const Task&) { return std::string_view{}; };
  int usual_radix = 0;  // 0: the algorithm has none
  bool takes_links = false;
  bool takes_late = false;
  /// Whether it sends runs of several blocks in one message. If the caller sets the lengths of blocks, such a
  /// schedule is not cut into segments, since a segment is a part of every block.
  bool moves_runs = false;
  /// Whether some blocks of private lengths do not go straight from the rank that has them to the one that
  /// wants them. Then their lengths travel first, by the same schedule
  /// (engine/execution/relayed_execution.hpp). The proof refutes a wrong no; a yes costs that walk.
  bool relays = false;
  std::array<Part, 2> parts{};
  Use use{};

  /// Whether the message is never cut: only then is a run of the caller's blocks contiguous.
  [[nodiscard]] bool stays_whole() const {
    return (moves_runs && has_block_of_each_rank(collective)) || is_never_cut(collective);
  }

  [[nodiscard]] std::size_t part_count() const {
    return (parts[0].usual.empty() ? 0 : 1) + (parts[1].usual.empty() ? 0 : 1);
  }
};

/// Returns the same row for the corresponding collective with private lengths. Whether it is worth trying is
/// decided elsewhere, since that must not depend on lengths.
constexpr Algorithm with_private_lengths(Algorithm row, Collective collective) {
  row.collective = collective;
  row.use = {};
  return row;
}
/// Does the same for an algorithm that relays.
constexpr Algorithm relaying(Algorithm row, Collective collective) {
  row = with_private_lengths(row, collective);
  row.relays = true;
  return row;
}

std::span<const Algorithm> algorithms();

/// Finds the algorithm of that name; nullptr if there is none.
const Algorithm* find_algorithm(Collective collective, std::string_view name);

/// Returns the algorithm with its usual parameters and parts.
Recipe usual_recipe(const Algorithm& algorithm);

/// Returns the recipes that the proof and the tests try: for each algorithm the usual one and others with
/// different parameters.
std::vector<Recipe> sample_recipes(Collective collective);

/// Returns the canonical spelling: `knomial:radix=4`, `smp(ring)`.
std::string to_string(const Recipe& recipe);

Task task_of(const Recipe& recipe, const Topology& topology, int root = 0);
/// `recipe` must name an algorithm.
Schedule build(const Recipe& recipe, const Topology& topology, int root, int rank);
bool keeps_order(const Recipe& recipe, const Topology& topology, int root = 0);
bool has_fixed_tree(const Recipe& recipe, const Topology& topology, int root = 0);

}  // namespace stretto
