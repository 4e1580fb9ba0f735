// SPDX-License-Identifier: Apache-2.0
#include "learn/races/watch.hpp"

#include <algorithm>

namespace stretto {
namespace {

/// Calls that take this many times longer or shorter than before show that the network has changed.
constexpr double other_regime = 1.6;
constexpr int strikes_of_regime = 2;
/// The number of calls for which the watch waits for another one of its size.
constexpr std::uint64_t most_others = 64;

}  // namespace

bool are_of_two_networks(double shorter, double longer) {
  return longer > other_regime * shorter;
}

void Watch::expect(double seconds, std::size_t bytes) {
  reference_ = seconds;
  bytes_ = bytes;
  was_surprised_ = false;
}

void Watch::forget() {
  const Watch before = *this;
  *this = {};
  last_ = before.last_;
  saved_ = before.saved_;
}

void Watch::count(double seconds, std::size_t bytes, std::uint64_t number) {
  if (bytes_ == 0 || number > last_ + most_others) {
    forget();
    bytes_ = bytes;
  }
  if (bytes != bytes_) return;
  last_ = number;
  times_[count_++ % window] = seconds;
}

Recent Watch::recent() const {
  if (count_ < window) return {};
  std::array<double, window> sorted = times_;
  std::ranges::sort(sorted);
  return {.fast = sorted[1], .usual = sorted[window / 2], .slow = sorted[window - 2]};
}

/// Nearly all calls must take longer, or shorter: the median alone may move in noise.
Watch::Finding Watch::look(const Recent& agreed) {
  if (!(agreed.usual > 0)) return Finding::as_usual;
  if (!(reference_ > 0)) {
    reference_ = agreed.usual;
    return Finding::as_usual;
  }
  if (agreed.fast < other_regime * reference_ && reference_ < other_regime * (agreed.slow + saved_)) {
    strikes_ = 0;
    return Finding::as_usual;
  }
  return ++strikes_ < strikes_of_regime ? Finding::suspicious : Finding::changed;
}

bool Watch::is_surprised_by(double seconds, std::size_t bytes) {
  if (was_surprised_ || !(reference_ > 0) || bytes != bytes_ || !(seconds > 0)) return false;
  was_surprised_ =
      are_of_two_networks(reference_, seconds) || are_of_two_networks(seconds + saved_, reference_);
  if (was_surprised_) strikes_ = 1;
  return was_surprised_;
}

}  // namespace stretto
