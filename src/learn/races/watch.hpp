// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// Times of recent calls: a fast one, the median, and a slow one. 0: not known.
struct Recent {
  double fast = 0;
  double usual = 0;
  double slow = 0;
};

/// Whether two times of a call are so different that the network must have changed between them.
[[nodiscard]] bool are_of_two_networks(double shorter, double longer);

/// Notices that the network has changed, because calls take other times than when the spec in force was
/// chosen. Each rank counts its own calls; figures that the ranks have agreed on decide.
class Watch {
 public:
  /// The number of calls that are looked at.
  static constexpr std::size_t window = 8;

  enum class Finding : std::uint8_t { as_usual, suspicious, changed };

  /// Sets the time that a call of this length took when the spec was chosen.
  void expect(double seconds, std::size_t bytes);
  /// Sets the seconds by which calls may be faster because links were idle before them.
  void expect_saved(double seconds) { saved_ = seconds; }
  /// Forgets all times.
  void forget();
  /// Counts a call by the incumbent, the rank's `number`-th one. Only calls of one size are compared.
  void count(double seconds, std::size_t bytes, std::uint64_t number);
  [[nodiscard]] Recent recent() const;

  /// Compares the recent calls of the slowest rank with the expected time, which they set if there is none.
  Finding look(const Recent& agreed);
  /// Returns whether a single call of this length took another time than expected. If so, the next look
  /// decides. That happens once for each expected time: if the look finds calls as usual, single calls
  /// between others are no measure here. On a slow link they meet bytes that the call before has left in it.
  bool is_surprised_by(double seconds, std::size_t bytes);
  /// The seconds expected of a call of this length; 0: none are.
  [[nodiscard]] double expected(std::size_t bytes) const { return bytes == bytes_ ? reference_ : 0; }

 private:
  double reference_ = 0;
  double saved_ = 0;
  int strikes_ = 0;
  bool was_surprised_ = false;
  std::array<double, window> times_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;   // 0: the next call sets them
  std::uint64_t last_ = 0;  // number
};

}  // namespace stretto
