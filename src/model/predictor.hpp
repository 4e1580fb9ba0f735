// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "model/growth.hpp"
#include "model/walker.hpp"

namespace stretto {

struct Prediction {
  Instant end;  // of the last rank
  /// Whether the time was extrapolated in a straight line from smaller clusters or fewer segments.
  bool extrapolated = false;
};

/// Predicts calls by one recipe on one topology, of any size and on any machine.
///
/// If it would take too long to walk every message, the predictor extrapolates, since time is linear in two
/// numbers. It is linear in segments: once the window is full, each follows the previous one at the same
/// distance. It is also linear in what grows with the nodes (growth.hpp). For a recipe with a round or a
/// message for each node, that is the number of nodes, as long as its blocks keep their length. For a recipe
/// whose rounds grow with the logarithm, it is the number of rounds.
///
/// The numbers of steps that it walks and builds are bounded: a million ranks cost no more than some
/// thousand.
///
/// An algorithm that relays blocks of private lengths walks twice.
///
/// With copies of device memory, time is the greatest of several linear functions (links, copies), and the
/// two walks may follow one that is not the greatest in the end. So an extrapolated time is at least the time
/// without copies, and at least that of the copies alone. With 400 segments on 8 and 16 ranks, the result is
/// within 7 % of the full walk for rings, Rabenseifner and chains. It is up to 10 % too slow where segments
/// that begin one after the other are faster than all at once (pairwise), and up to 25 % where the result
/// without copies is too slow as well (segmented_ring, a binomial broadcast on 16 ranks).
class Predictor {
 public:
  /// The most steps (actions of a rank, for a segment) that are walked. If there are more, smaller clusters
  /// are walked. There may be many of them, so each has `smaller_by` times fewer steps.
  static constexpr std::size_t usual_most_steps = 3'000'000;
  static constexpr std::size_t smaller_by = 12;

  Predictor(Recipe recipe, Topology topology, int root = 0, std::size_t most_steps = usual_most_steps);
  // The plan holds a pointer to the topology.
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  Predictor(Predictor&&) = delete;
  Predictor& operator=(Predictor&&) = delete;
  ~Predictor() = default;

  /// Throws std::invalid_argument if the cluster is too large and its nodes are not alike or are few.
  [[nodiscard]] Prediction predict(const WalkedCall& call, const Machine& machine,
                                   const WalkOptions& options = {});

  /// Returns the time of a staged call's copies alone, on the root or on another rank: no call is faster. If
  /// the call is staged by segments, it is the time of the direction that takes longer.
  [[nodiscard]] Instant copies_alone(const WalkedCall& call, const Device& device) const;

 private:
  [[nodiscard]] Prediction walk_twice(const WalkedCall& call, const Machine& machine,
                                      const WalkOptions& options);
  [[nodiscard]] Prediction predict_walk(const WalkedCall& call, const Machine& machine,
                                        const WalkOptions& options);
  /// `parts`: the number of parts in which a segment is copied.
  [[nodiscard]] Prediction walk_segments(const WalkedCall& call, const Machine& machine,
                                         const WalkOptions& options, std::size_t parts);
  [[nodiscard]] Prediction shrink_nodes(const WalkedCall& call, const Machine& machine,
                                        const WalkOptions& options);
  /// Walks a part of the message on fewer nodes.
  [[nodiscard]] Instant walk_on(int nodes, double part, WalkedCall call, const Machine& machine,
                                const WalkOptions& options);
  [[nodiscard]] bool has_equal_nodes() const;
  void forget_ranks();
  void refuse_too_many(std::size_t steps);
  Growth& growth();
  [[nodiscard]] Walk walk_all(const WalkedCall& call, const Machine& machine, const WalkOptions& options,
                              std::size_t parts, std::span<const Instant> starts = {});

  Recipe recipe_;
  Topology topology_;
  int ranks_;
  int root_;
  std::size_t most_steps_;
  std::size_t steps_ = 0;  // of all ranks, approximately
  std::optional<Growth> growth_;
  std::map<int, std::unique_ptr<Predictor>> on_fewer_;  // by nodes
  std::optional<Plan> plan_;
  std::optional<StagedBlocks> staged_;  // of the last staged call
};

}  // namespace stretto
