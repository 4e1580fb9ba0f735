// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace stretto::bench {

/// The computation of a program while a collective is in flight. The amount of work is fixed. It takes longer
/// if other threads, such as one that advances the collective, use its core.
class Computation {
 public:
  /// Computes units, which take about a tenth of a microsecond each.
  void run(std::size_t units) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      for (double& value : values_) value = value * 0.999 + 0.001;
      // Prevents the compiler from merging two units into one.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }

 private:
  std::vector<double> values_ = std::vector<double>(512, 2.0);  // 4 KiB stay in any core's first cache
};

}  // namespace stretto::bench
