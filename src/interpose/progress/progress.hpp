// SPDX-License-Identifier: Apache-2.0
// Advances outstanding operations. Every thread that waits in MPI does so. A thread may also wait where
// Stretto cannot advance them (a native collective, MPI_Win_fence, another thread's receive). For that there
// is a helper thread, which mostly sleeps. With STRETTO_PROGRESS_THREAD=1 it also advances them while the
// program computes. progress/rules.hpp has the rules.
#pragma once

#include <functional>
#include <memory>

#include "interpose/progress/outstanding.hpp"
#include "threads/backoff.hpp"

namespace stretto {

/// Starts the helper thread, which sleeps until an operation is outstanding. Returns false if the system
/// refuses a thread.
bool start_helper();

/// Ends the helper thread, if there is one. To be called at the latest when MPI_Finalize begins: the
/// callbacks of MPI_COMM_SELF may still use all of MPI, but MPI allows no other thread there, and MPICH has
/// already switched its locks off. From then on, only threads of the program make progress.
void stop_helper();

/// Adds an operation that is to be advanced until it has ended.
void add_outstanding(std::shared_ptr<Outstanding> operation);

/// Shows all outstanding calls of the program to `look`, which must be quick: no other one can begin or be
/// removed meanwhile.
void look_at_outstanding(const std::function<void(Watched&)>& look);

/// Whether any operation is outstanding. Takes a few nanoseconds.
bool has_outstanding();

/// Advances every outstanding operation as far as possible without waiting. Returns whether anything
/// happened.
bool make_progress();

/// Makes progress for a thread that calls this again and again, with pauses in between. The helper thread
/// stays away meanwhile. A poll that finds nothing is repeated: a message that arrives during one
/// MPI_Testsome of Open MPI is only reported by the next one, which would be a pause later.
bool make_progress_in_place_of_helper();

/// Like make_progress(), for a thread that waits for one operation: advances that one first, without a
/// lock if it is the only one.
bool make_progress_for(Outstanding& awaited);

/// From now on, the helper thread calls MPI only while a thread of the program is blocked. To be called when
/// the MPI library gets a non-blocking reduction by an operation of the program: the library may run that
/// operation in any thread that calls MPI.
void guard_program_functions();

/// Waits until no operation is outstanding, then ends the helper thread. No other thread may be in MPI.
void drain_outstanding();

/// While it lives, its thread waits in a loop that calls make_progress(), so the helper thread need not.
class PollingScope {
 public:
  PollingScope();
  PollingScope(const PollingScope&) = delete;
  PollingScope& operator=(const PollingScope&) = delete;
  ~PollingScope();
};

/// While it lives, its thread may be blocked where it makes no progress. The helper thread makes progress
/// instead, if any operation is outstanding at the beginning. If there is no helper thread any more, the
/// constructor first waits until no operation is outstanding.
class BlockedScope {
 public:
  BlockedScope();
  BlockedScope(const BlockedScope&) = delete;
  BlockedScope& operator=(const BlockedScope&) = delete;
  ~BlockedScope();

 private:
  bool is_counted_;
};

/// Waits until `done()` is true. Between the checks it calls progress(), which returns whether anything
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
