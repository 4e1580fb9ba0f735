// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace stretto::bench {

/// What a program computes while a collective is in flight. Its work is fixed. It takes longer if others,
/// such as a thread that advances the collective, use its core.
class Computation {
 public:
  /// About a tenth of a microsecond each.
  void run(std::size_t units) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      for (double& value : values_) value = value * 0.999 + 0.001;
      // Prevents that two units are merged into one.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }

 private:
  std::vector<double> values_ = std::vector<double>(512, 2.0);  // 4 KiB stay in any core's first cache
};

}  // namespace stretto::bench
