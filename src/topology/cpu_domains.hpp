// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stretto {

/// The socket and the NUMA domain to which a process is bound.
struct CpuDomains {
  static constexpr int unknown = -1;
  /// The lowest processor of the socket, or of the NUMA domain, that has all processors of the process;
  /// `unknown` if there is none.
  int socket = unknown;
  int numa = unknown;
};

/// The processors in a list such as 0-3,8, as Linux writes it. Empty if the text is no such list.
std::vector<int> parse_cpu_list(const std::string& text);

/// The domains of these processors, as Linux describes them in `folder`.
CpuDomains find_domains(const std::vector<int>& cpus, const std::string& folder = "/sys/devices/system");

/// The processors on which this thread may run; empty if the kernel does not say.
std::vector<int> allowed_cpus();

}  // namespace stretto
