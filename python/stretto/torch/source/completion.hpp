// SPDX-License-Identifier: Apache-2.0
// A thread that ends works for which no thread waits: DistributedDataParallel waits for futures, and computes
// meanwhile. It takes part of a core while works are under way, and sleeps when there are none. What follows
// a work may wait for others, so there are more such threads when needed.
#pragma once

#include "work.hpp"

namespace stretto_torch {

/// Has it ended by the thread. `at_once`: nobody is going to wait for it very soon. After stop_completing()
/// it has ended when this returns.
void complete_later(const c10::intrusive_ptr<Work>& work, bool at_once);

/// Ends the threads, but for those in a callback that does not return. `patiently`: what is under way has
/// some seconds to end; what has not ended then, or at once, stays under way.
void stop_completing(bool patiently);

/// While this lives its thread makes progress with all works, so that the completing one need not. Who ends
/// it before the work has ended goes on with look_at_once().
class Waiting {
 public:
  Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting();
};

/// The completing thread is to look now, as after a new work.
void look_at_once();

}  // namespace stretto_torch
