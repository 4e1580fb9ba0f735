// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace stretto {

/// What time goes into.
enum class Part : std::size_t {
  latency,    // of messages
  wire,       // bytes that move
  reduction,  // arithmetic
  overhead,   // what a message or a round costs, whatever its length
  waiting,    // for what ranks share: links, memory and the fabric, while they serve others
};
inline constexpr std::size_t part_count = 5;

/// A point in time, and what the time before it went into along the chain of causes that led to it (the
/// critical path). The parts add up to the time.
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

  /// The same causes, counted as if they had taken less time: `at` from 0 to at().
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

/// What has two causes happens at the later one.
inline const Instant& later(const Instant& one, const Instant& other) {
  return other.at() > one.at() ? other : one;
}

}  // namespace stretto
