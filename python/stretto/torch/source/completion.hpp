// SPDX-License-Identifier: Apache-2.0
// A thread that completes works for which no thread waits: DistributedDataParallel computes first, and waits
// only for futures. The thread uses part of a core while works are in flight, and sleeps if there are none.
// Callbacks of a work may wait for other works, so there are more such threads if needed.
#pragma once

#include <string>

#include "work.hpp"

namespace stretto_torch {

/// Lets the completing thread complete a work. `at_once`: no thread is going to wait for it very soon. After
/// stop_completing(), the work has ended when this returns.
void complete_later(const c10::intrusive_ptr<Work>& work, bool at_once);

/// Ends the completing threads, except threads in a callback that does not return. Works in flight, except
/// receives, have some seconds to end, and longer while something moves. Works that have not ended by then
/// stay in flight.
void stop_completing();
/// Whether stop_completing() was called, since the process ends.
bool completing_is_stopped();

/// Ends all works, when the last group of a job without MPI is destroyed. Works in flight, except receives,
/// have time to end, as above. Then works that have not ended fail, with the reason `why`.
void end_all_works(const std::string& why);

/// A thread that waits. While this exists, that thread makes progress with all works, so the completing
/// thread need not. If this is destroyed before the work has ended, call poll_at_once().
class Waiting {
 public:
  Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting();
};

/// Makes the completing thread poll now, as after a new work.
void poll_at_once();

}  // namespace stretto_torch
