// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

namespace stretto {

/// How to wait while nothing arrives. A few fruitless looks are answered at once, since a message on its way
/// takes microseconds; after that each one yields the processor. When ranks outnumber cores, the rank that we
/// wait for may need this very core, and spinning costs several-fold; when they don't, a yield returns within
/// a microsecond. (Rejected: sleeping, whose wake-up of 50 µs and more empties the links; blocking in
/// MPI_Wait, which spins inside MPICH and cannot watch several segments at once.)
class Patience {
 public:
  void fruitless() {
    if (looks_ < looks_before_yield) {
      ++looks_;
    } else {
      sched_yield();
    }
  }
  void fruitful() { looks_ = 0; }

 private:
  static constexpr int looks_before_yield = 8;
  int looks_ = 0;
};

}  // namespace stretto
