// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace stretto {

/// Counts the looks of a thread that waits for shared memory and finds nothing, and says when something else
/// is due. Now and then the MPI library needs its turn. Much more rarely, the thread has to check whether the
/// processes that it waits for are alive. Looks are counted across calls: a program may make nothing but
/// short calls until a message of its own has come, and each of them may end before many looks.
class IdlePolls {
 public:
  /// Counts a look. Returns whether the library's turn has come.
  bool count() { return count_work(1); }
  /// Counts a call that is carried out without the MPI library. The library's turn takes less than a percent
  /// of the time of such calls.
  bool count_call(std::size_t bytes) { return count_work(1 + bytes / bytes_of_look); }

  /// Whether to look for ranks that have ended. To be called when it is the library's turn.
  bool is_time_for_peers() {
    const auto now = Clock::now();
    if (now < next_peers_) return false;
    next_peers_ = now + interval;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t looks_between = 64;
  static constexpr std::size_t bytes_of_look = 1024;
  static constexpr std::chrono::milliseconds interval{100};

  bool count_work(std::size_t looks) {
    looks_ += looks;
    if (looks_ < looks_between) return false;
    looks_ = 0;
    return true;
  }

  std::size_t looks_ = 0;
  Clock::time_point next_peers_{};
};

}  // namespace stretto
