// SPDX-License-Identifier: Apache-2.0
// Who advances outstanding operations: every thread that waits in MPI; and, since a thread may wait where
// Stretto cannot look after them meanwhile (a native collective, MPI_Win_fence, another thread's receive), a
// helper thread, which mostly sleeps. With STRETTO_PROGRESS_THREAD=1 it advances them during computation too.
// progress/rules.hpp has the rules.
#pragma once

#include <cstddef>
#include <memory>

#include "interpose/progress/outstanding.hpp"
#include "threads/backoff.hpp"

namespace stretto {

/// Has it advanced until it has ended.
void add_outstanding(std::shared_ptr<Outstanding> operation);

/// Whether there is any operation to be advanced. A few nanoseconds.
bool has_outstanding();

/// Takes every outstanding operation as far as it gets without waiting; whether anything happened.
bool make_progress();

/// The same, for a thread that does so again and again, with naps in between: the helper stays away while it
/// does. A look that finds nothing is made once more: what arrives in one of Open MPI's MPI_Testsome is told
/// of by the next, which would come a nap later.
bool make_progress_in_place_of_helper();

/// As make_progress(), for a thread that waits for one of them: that one first, and without a lock if it is
/// the only one.
bool make_progress_for(Outstanding& awaited);

/// The library has been given a reduction in the background by an operation of the program's, which it may
/// run in any thread that calls MPI: so the helper thread does that only while a thread of the program is
/// blocked.
void guard_program_functions();

/// Ends the helper thread when no operation is outstanding any more. No other thread may be in MPI.
void drain_outstanding();

/// For as long as this lives, its thread waits in a loop that calls make_progress(), so the helper need not.
class PollingScope {
 public:
  PollingScope();
  PollingScope(const PollingScope&) = delete;
  PollingScope& operator=(const PollingScope&) = delete;
  ~PollingScope();
};

/// For as long as this lives, its thread may be blocked where nobody makes progress, so the helper must, if
/// there is any operation outstanding at the beginning.
class BlockedScope {
 public:
  BlockedScope();
  BlockedScope(const BlockedScope&) = delete;
  BlockedScope& operator=(const BlockedScope&) = delete;
  ~BlockedScope();

 private:
  bool is_counted_;
};

/// Waits until `done()`, which is asked again and again; in between, progress() says whether anything
/// happened.
template <typename Done, typename Progress>
void wait_until(const Done& done, const Progress& progress) {
  if (done()) return;
  const PollingScope here;
  Backoff backoff;
  while (!done()) {
    if (progress()) {
      backoff.reset();
    } else {
      backoff.wait();
    }
  }
}

template <typename Done>
void wait_until(const Done& done) {
  wait_until(done, make_progress);
}

}  // namespace stretto
