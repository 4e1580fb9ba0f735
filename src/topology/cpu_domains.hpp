// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stretto {

/// The socket, the NUMA domain and the last-level cache to which a process is bound.
struct CpuDomains {
  static constexpr int unknown = -1;
  /// Each is the lowest processor of its domain (the socket, the NUMA domain, the processors that share a
  /// last-level cache) if the domain has all processors of the process; else `unknown`.
  int socket = unknown;
  int numa = unknown;
  int l3 = unknown;
};

/// Returns the processors in a list such as 0-3,8, as Linux writes it; nothing if the text is no such list.
std::vector<int> parse_cpu_list(const std::string& text);

/// Returns the domains of these processors, as Linux describes them in `folder`.
CpuDomains find_domains(const std::vector<int>& cpus, const std::string& folder = "/sys/devices/system");

/// Returns `cpus` in groups that share a last-level cache, in the order of their first processors. Processors
/// whose cache Linux does not describe are one group.
std::vector<std::vector<int>> group_by_cache(const std::vector<int>& cpus,
                                             const std::string& folder = "/sys/devices/system");

/// Returns the processors on which this thread may run; nothing if the kernel does not say.
std::vector<int> allowed_cpus();

}  // namespace stretto
