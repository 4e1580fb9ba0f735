// SPDX-License-Identifier: Apache-2.0
#include "topology/crowd.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "topology/cpu_domains.hpp"

namespace stretto {

CpuSpan own_cpu_span() {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.empty()) return {};
  const auto [first, last] = std::ranges::minmax(cpus);
  return {first, last, static_cast<int>(cpus.size())};
}

bool are_crowded(std::span<const CpuSpan> of_rank) {
  std::vector<CpuSpan> sorted(of_rank.begin(), of_rank.end());
  std::ranges::sort(sorted, {},
                    [](const CpuSpan& span) { return std::tuple(span.first, span.last, span.count); });
  int reached = -1;  // the last processor of the spans so far
  int all = 0;
  int alike = 0;  // ranks with the same span so far
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const CpuSpan& span = sorted[i];
    alike = i > 0 && span == sorted[i - 1] ? alike + 1 : 1;
    if (alike > span.count) return true;
    all += std::max(0, span.last - std::max(span.first - 1, reached));
    reached = std::max(reached, span.last);
  }
  return sorted.size() > static_cast<std::size_t>(all);
}

}  // namespace stretto
