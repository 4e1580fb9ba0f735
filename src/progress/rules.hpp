// SPDX-License-Identifier: Apache-2.0
// The rules by which outstanding operations go on. They decide when the helper thread acts. They use no
// MPI, no clock and no thread, so they can be tested as a state machine (tests/progress).
//
// Terms. An operation is *outstanding* from its start until it has ended. To *poll* is to advance all
// outstanding operations as far as possible without waiting. A thread of the program is *polling* while it
// is in a loop of Stretto that does so. It is *blocked* while it is in a function of the MPI library in
// which it does not (src/interpose/entries/functions.txt). A thread of a framework *stands in* for the
// helper while it polls again and again, with naps in between.
//
// Who may run what. The helper thread calls MPI. In such a call the library may run anything that it has in
// flight, including functions of the program (an operation of MPI_Op_create in a non-blocking MPI_Iscan).
// So:
//   - A program below MPI_THREAD_MULTIPLE that has functions of its own for MPI to call gets no helper. The
//     library handles all of its non-blocking calls (interpose/session/thread_level.hpp).
//   - In every program, the library handles non-blocking reductions by an operation of the program. From
//     the first one on the process is *guarded*: the helper acts only while a thread is blocked.
//   - STRETTO_PROGRESS_THREAD=1 says that any thread may run the program's functions. Nothing is guarded
//     then.
//
// What the rules guarantee:
//   1. Unless guarded: while an operation is outstanding and no thread polls or stands in, the next poll
//      comes within `tick`. (Threads that wait where Stretto does not know of them need that.)
//   2. Guarded or not: while an operation is outstanding, a thread is blocked, and none polls, the next
//      poll comes within `longest_nap`. The first one comes within `tick`, or at once if the helper is
//      called.
//   3. The helper does not poll while nothing is outstanding, unless the process *listens*, or while it is
//      guarded and no thread is blocked.
//   4. It sleeps until it is called only if nothing is outstanding and the process does not listen. An
//      operation that starts later calls it.
//
// A process listens once a rank of its job has ended or given up a call: others may still wait for this rank,
// and must hear why it does not come. Then the helper polls now and then, even if no thread needs it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stretto {

/// The state on which the rules depend.
struct ProgressState {
  std::size_t outstanding = 0;
  int polling = 0;         // threads
  int blocked = 0;         // threads that came there while something was outstanding
  unsigned stand_ins = 0;  // polls of threads that stand in for the helper, ever
  bool is_guarded = false;
  bool listens = false;
};

/// The same state, as the threads of a process maintain it.
class ProgressCounts {
 public:
  void set_outstanding(std::size_t operations) { outstanding_ = operations; }
  [[nodiscard]] bool any_outstanding() const { return outstanding_ > 0; }
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  void begin_polling() { polling_.fetch_add(1, std::memory_order_relaxed); }
  void end_polling() { polling_.fetch_sub(1, std::memory_order_relaxed); }
  /// Whether a thread that becomes blocked must be counted. While nothing is outstanding it need not be,
  /// unless guarded: otherwise no poll would come once another thread starts something.
  [[nodiscard]] bool must_count_blocked() const { return any_outstanding() || is_guarded(); }
  void begin_blocked() { blocked_.fetch_add(1, std::memory_order_relaxed); }
  void end_blocked() { blocked_.fetch_sub(1, std::memory_order_relaxed); }
  void note_stand_in() { stand_ins_.fetch_add(1, std::memory_order_relaxed); }
  /// Guards the process from now on.
  void guard() { is_guarded_ = true; }
  [[nodiscard]] bool is_guarded() const { return is_guarded_.load(std::memory_order_relaxed); }

  void set_listens(bool listens) { listens_ = listens; }

  [[nodiscard]] ProgressState read() const {
    return {outstanding_, polling_, blocked_, stand_ins_, is_guarded_, listens_};
  }

 private:
  std::atomic<std::size_t> outstanding_{0};
  std::atomic<int> polling_{0};
  std::atomic<int> blocked_{0};
  std::atomic<unsigned> stand_ins_{0};
  std::atomic<bool> is_guarded_{false};
  std::atomic<bool> listens_{false};
};

/// What the helper thread does next. One object per thread.
class HelperRules {
 public:
  using Time = std::chrono::microseconds;

  /// Naps between polls that advance operations. Each poll that finds something brings the nap closer to
  /// the time between two messages. A shorter nap costs a computation on the same core more than it hides.
  static constexpr Time shortest_nap{20};
  static constexpr Time longest_nap{200};
  /// How often it polls while no thread is known to need it.
  static constexpr Time tick{1000};
  /// How often it checks whether a thread still stands in for it.
  static constexpr Time stand_in_tick{10000};
  /// How often it polls while it only listens.
  static constexpr Time listening_tick{10000};
  /// After this many ticks without operations it sleeps until it is called, which costs the caller some 5 µs.
  static constexpr int ticks_until_dormant = 3;

  /// The result of a poll: there was none, or no thread needed it; it found nothing; it advanced an
  /// operation.
  enum class Found : std::uint8_t { not_needed, nothing, something };

  /// Returns whether to poll now. If not, it rests, by after(Found::not_needed).
  [[nodiscard]] bool must_poll(const ProgressState& state);

  /// Returns how long to sleep then: not at all, so long, or (empty) until it is called.
  [[nodiscard]] std::optional<Time> after(Found found);

  /// Whether nothing was outstanding when it last decided. An operation that starts then calls it.
  [[nodiscard]] bool only_listens() const { return only_listens_; }

  /// To be called when it was woken.
  void called() { nap_ = shortest_nap; }

 private:
  Time nap_ = shortest_nap;
  int idle_ticks_ = 0;
  unsigned stand_ins_ = 0;
  bool stands_aside_ = false;
  bool only_listens_ = false;
};

}  // namespace stretto
