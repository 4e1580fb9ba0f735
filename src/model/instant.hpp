// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace stretto {

/// The kinds of costs.
enum class Part : std::size_t {
  latency,    // of messages
  wire,       // bytes that move
  reduction,  // arithmetic
  overhead,   // of a message or a round, whatever its length
  waiting,    // for shared links, memory and the fabric, while they serve others
  copy,       // between device and host memory
};
inline constexpr std::size_t part_count = 6;

/// A point in time and the costs on the chain of causes that led to it (the critical path). The costs add up
/// to the time.
class Instant {
 public:
  [[nodiscard]] double at() const { return at_; }
  [[nodiscard]] double part(Part part) const { return parts_[static_cast<std::size_t>(part)]; }

  [[nodiscard]] Instant after(double seconds, Part part) const {
    Instant later = *this;
    later.at_ += seconds;
    later.parts_[static_cast<std::size_t>(part)] += seconds;
    return later;
  }

  /// Returns the same causes, scaled to a shorter time. `at` is from 0 to at().
  [[nodiscard]] Instant shortened_to(double at) const {
    Instant earlier = *this;
    const double factor = at_ > 0 ? at / at_ : 0;
    earlier.at_ *= factor;
    for (double& part : earlier.parts_) part *= factor;
    return earlier;
  }

 private:
  double at_ = 0;
  std::array<double, part_count> parts_{};
};

/// Returns the later one of two causes of an event: the event happens then.
inline const Instant& later(const Instant& one, const Instant& other) {
  return other.at() > one.at() ? other : one;
}

}  // namespace stretto
