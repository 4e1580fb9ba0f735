// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stretto {

/// Times of recent calls: of a fast one, the median, and of a slow one. 0: not known.
struct Recent {
  double fast = 0;
  double usual = 0;
  double slow = 0;
};

/// Whether two times of a call are so different that they are of two networks.
[[nodiscard]] bool are_of_two_networks(double shorter, double longer);

/// Notices that calls take other times than when it was decided what is in force: the network has changed.
/// Each rank counts its own calls; what the ranks have agreed on is looked at.
class Watch {
 public:
  /// The calls that are looked at.
  static constexpr std::size_t window = 8;

  enum class Finding : std::uint8_t { as_usual, suspicious, changed };

  /// What a call of so many bytes took when it was decided.
  void expect(double seconds, std::size_t bytes);
  /// Forgets all times.
  void forget();
  /// Counts a call by the incumbent, the rank's `number`-th one. Only calls of one size are compared.
  void count(double seconds, std::size_t bytes, std::uint64_t number);
  [[nodiscard]] Recent recent() const;

  /// Compares the recent calls of the slowest rank with what is expected, or takes them for that.
  Finding look(const Recent& agreed);
  /// Whether a single call of so many bytes takes another time than expected. If so, the next look decides.
  /// That happens once for what is expected: if the look finds calls as usual, single calls between others
  /// are no measure here. On a slow link they meet what the call before has left in it.
  bool is_surprised_by(double seconds, std::size_t bytes);
  [[nodiscard]] bool is_suspicious() const { return strikes_ > 0; }
  /// The seconds that are expected of a call of so many bytes; 0: nothing is.
  [[nodiscard]] double expected(std::size_t bytes) const { return bytes == bytes_ ? reference_ : 0; }

 private:
  double reference_ = 0;
  int strikes_ = 0;
  bool was_surprised_ = false;
  std::array<double, window> times_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;   // 0: those of the next call
  std::uint64_t last_ = 0;  // number
};

}  // namespace stretto
