// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stretto {

/// How long the steps of a program usually take. A step is the time between two calls in a row on one
/// communicator.
class UsualSteps {
 public:
  /// Adds so many steps that took `seconds` together. It is not known how that was shared, so one of them may
  /// have taken all of it.
  void add(double seconds, std::uint64_t steps = 1) {
    add_one(seconds);
    for (std::uint64_t i = 1; i < std::min<std::uint64_t>(steps, most_known); ++i) add_one(0);
  }

  /// Returns the seconds that a step takes only if a rank is stuck; nothing while too few steps are known.
  [[nodiscard]] std::optional<double> limit() const {
    if (count_ < least_known) return std::nullopt;
    std::array<double, most_known> sorted = last_;
    const auto known = static_cast<std::ptrdiff_t>(std::min(count_, most_known));
    std::nth_element(sorted.begin(), sorted.begin() + known / 2, sorted.begin() + known);
    const double median = sorted[static_cast<std::size_t>(known) / 2];
    return std::max({shortest, 4 * median, 2 * longest_});
  }

 private:
  void add_one(double seconds) {
    last_[count_++ % last_.size()] = seconds;
    // The first steps also set things up.
    if (count_ >= least_known) longest_ = std::max(seconds, longest_ * remembered);
  }

  static constexpr std::size_t least_known = 8;
  static constexpr std::size_t most_known = 64;
  static constexpr double shortest = 0.5;                // an operating system may take a core for this long
  static constexpr double remembered = 1 - 1.0 / 16384;  // of the longest step, after each step

  std::array<double, most_known> last_{};
  std::size_t count_ = 0;
  double longest_ = 0;
};

}  // namespace stretto
