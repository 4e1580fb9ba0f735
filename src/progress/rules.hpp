// SPDX-License-Identifier: Apache-2.0
// The rules by which outstanding operations go on. Here is all that decides when the helper thread acts: no
// MPI, no clock and no thread, so that it can be tested as a state machine (tests/progress).
//
// Words. An operation is *outstanding* from its start until it has ended. A thread of the program *polls*
// while it is in a loop of Stretto's that makes progress with every operation. It is *blocked* while it is in
// a function of the MPI library in which it makes none (src/interpose/entries/functions.txt). A thread of a
// framework *stands in* for the helper while it looks again and again, with naps in between.
//
// Who may run what. The helper thread makes calls of MPI, by which the library may run anything that it has
// under way, the program's functions included (an operation of MPI_Op_create in a non-blocking MPI_Iscan).
// So:
//   - A program below MPI_THREAD_MULTIPLE that has functions of its own for MPI to call gets no helper, and
//   all
//     of its calls in the background are the library's (interpose/session/thread_level.hpp).
//   - A reduction in the background by an operation of the program's is the library's in every program, and
//     from the first one on the process is *guarded*: the helper acts only while a thread is blocked.
//   - STRETTO_PROGRESS_THREAD=1 says that any thread may run the program's functions; nothing is guarded
//   then.
//
// What the rules guarantee:
//   1. Unless guarded: while an operation is outstanding and no thread polls or stands in, a look is never
//      further away than `tick`. (It is what a thread needs that waits where nobody knows of it.)
//   2. Guarded or not: while an operation is outstanding and a thread is blocked, and none polls, a look is
//      never further away than `longest_nap`, but for the first, which comes within `tick` or at once if the
//      helper is called.
//   3. The helper makes no look while nothing is outstanding, or while it is guarded and no thread is
//   blocked.
//   4. It sleeps until it is called only when nothing is outstanding; an operation that starts later calls
//   it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stretto {

/// What the rules look at.
struct ProgressState {
  std::size_t outstanding = 0;
  int polling = 0;         // threads
  int blocked = 0;         // threads that came there while something was outstanding
  unsigned stand_ins = 0;  // looks of threads that stand in for the helper, ever
  bool is_guarded = false;
};

/// The same, as the threads of a process keep it.
class ProgressCounts {
 public:
  void set_outstanding(std::size_t operations) { outstanding_ = operations; }
  [[nodiscard]] bool any_outstanding() const { return outstanding_ > 0; }
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  void begin_polling() { polling_.fetch_add(1, std::memory_order_relaxed); }
  void end_polling() { polling_.fetch_sub(1, std::memory_order_relaxed); }
  /// Whether a thread that becomes blocked must be counted. While nothing is outstanding it need not be,
  /// unless guarded: then no look would come otherwise, once another thread starts something.
  [[nodiscard]] bool must_count_blocked() const { return any_outstanding() || is_guarded(); }
  void begin_blocked() { blocked_.fetch_add(1, std::memory_order_relaxed); }
  void end_blocked() { blocked_.fetch_sub(1, std::memory_order_relaxed); }
  void note_stand_in() { stand_ins_.fetch_add(1, std::memory_order_relaxed); }
  /// From now on.
  void guard() { is_guarded_ = true; }
  [[nodiscard]] bool is_guarded() const { return is_guarded_.load(std::memory_order_relaxed); }

  [[nodiscard]] ProgressState read() const {
    return {outstanding_, polling_, blocked_, stand_ins_, is_guarded_};
  }

 private:
  std::atomic<std::size_t> outstanding_{0};
  std::atomic<int> polling_{0};
  std::atomic<int> blocked_{0};
  std::atomic<unsigned> stand_ins_{0};
  std::atomic<bool> is_guarded_{false};
};

/// What the helper thread does next. One object a thread.
class HelperRules {
 public:
  using Time = std::chrono::microseconds;

  /// Between looks that take operations further. The nap comes closer to the time between two messages by
  /// what looks find; a shorter one costs a computation that shares the core more than it hides.
  static constexpr Time shortest_nap{20};
  static constexpr Time longest_nap{200};
  /// How often it looks while no thread is known to need it.
  static constexpr Time tick{1000};
  /// How often it looks whether a thread that stands in for it still does.
  static constexpr Time stand_in_tick{10000};
  /// So many ticks after the last operation it sleeps until it is called, which costs the caller some 5 µs.
  static constexpr int ticks_until_dormant = 3;

  /// What a look came to: it was none, or nobody needed it; it found nothing; it took an operation further.
  enum class Found : std::uint8_t { not_needed, nothing, something };

  /// Whether to look now. Otherwise it rests at once, by after(Found::not_needed).
  [[nodiscard]] bool must_poll(const ProgressState& state);

  /// How long to sleep then: not at all, so long, or (empty) until it is called.
  [[nodiscard]] std::optional<Time> after(Found found);

  /// It was called while it slept.
  void called() { nap_ = shortest_nap; }

 private:
  Time nap_ = shortest_nap;
  int idle_ticks_ = 0;
  unsigned stand_ins_ = 0;
  bool stands_aside_ = false;
};

}  // namespace stretto
