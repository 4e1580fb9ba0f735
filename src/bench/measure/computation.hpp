// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace stretto::bench {

/// What a program computes while a collective is under way. Its work is fixed, whatever time that takes: so
/// it takes longer by what others, such as a thread that advances the collective, take of its core.
class Computation {
 public:
  /// About a tenth of a microsecond each.
  void run(std::size_t units) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      for (double& value : values_) value = value * 0.999 + 0.001;
      // So that no two units become one.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  }

 private:
  std::vector<double> values_ = std::vector<double>(512, 2.0);  // 4 KiB stay in any core's first cache
};

}  // namespace stretto::bench
