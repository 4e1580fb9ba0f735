// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stretto {

/// The part of a node that a process is bound to.
struct CpuDomains {
  static constexpr int unknown = -1;
  /// The lowest processor of the one socket that has all of them, and of the one NUMA domain.
  int socket = unknown;
  int numa = unknown;
};

/// Of a list as Linux writes it: 0-3,8. Empty for what is none.
std::vector<int> parse_cpu_list(const std::string& text);

/// Where these processors lie, by what Linux tells in `folder`.
CpuDomains find_domains(const std::vector<int>& cpus, const std::string& folder = "/sys/devices/system");

/// The processors that this thread may run on; empty if the kernel does not say.
std::vector<int> allowed_cpus();

}  // namespace stretto
