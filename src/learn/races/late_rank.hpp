// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stretto {

/// Finds out whether one rank comes late to one call after the other. It measures the shortest calls, because
/// the others wait for it. What is looked at is the greatest figure of all ranks, so all of them find the
/// same.
class LateRank {
 public:
  struct Found {
    int rank;
    double seconds;       // by which it comes later than any other rank
    double call_seconds;  // of a call once it has come

    friend bool operator==(const Found&, const Found&) = default;
  };

  static constexpr std::size_t figure_count = 2;

  /// Appends what this rank tells the others. `usual`: seconds of its calls; 0: not known.
  void append_figures(std::vector<double>& figures, int rank, double usual) const;
  /// The first look suspects a rank, and the second one finds out how long the others have waited for it.
  void look(std::span<const double> agreed);
  /// Who comes late, by the last look.
  [[nodiscard]] const std::optional<Found>& found() const { return found_; }

 private:
  int suspect_ = -1;
  std::optional<Found> found_;
};

}  // namespace stretto
