// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/calibration/common/site.hpp"

namespace stretto::bench {

/// Watches what else runs on the nodes, by Linux's own counts.
///
/// {"event": "load", "nodes": [{"host", "cores", "busy", "stolen", "load"}]}: for each node, how many of its
/// cores were busy while all ranks slept, the part of its time that a hypervisor has given to others since
/// the last sample, and the load average of the last minute.
class LoadWatch {
 public:
  explicit LoadWatch(const Site& site);
  /// Collective over MPI_COMM_WORLD. Prints the event.
  void sample();

 private:
  struct Ticks {
    double busy = 0;
    double stolen = 0;
    double all = 0;
  };
  static Ticks read();

  const Site& site_;
  Ticks before_;
};

}  // namespace stretto::bench
