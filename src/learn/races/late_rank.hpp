// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stretto {

/// Finds out whether one rank comes late to one call after another. That rank measures the shortest calls,
/// because the other ranks wait for it. The greatest figures of all ranks decide, so all ranks find the same.
class LateRank {
 public:
  struct Found {
    int rank;
    double seconds;       // by which the rank comes later than any other
    double call_seconds;  // of a call once the rank has come

    friend bool operator==(const Found&, const Found&) = default;
  };

  static constexpr std::size_t figure_count = 2;

  /// Appends this rank's figures for the others. `usual`: seconds of its calls; 0: not known.
  void append_figures(std::vector<double>& figures, int rank, double usual) const;
  /// The first look suspects a rank, and the second one finds out how long the others have waited for it.
  void look(std::span<const double> agreed);
  /// The rank that comes late, according to the last look.
  [[nodiscard]] const std::optional<Found>& found() const { return found_; }

 private:
  int suspect_ = -1;
  std::optional<Found> found_;
};

}  // namespace stretto
