// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stretto {

/// The socket, the NUMA domain and the last-level cache to which a process is bound.
struct CpuDomains {
  static constexpr int unknown = -1;
  /// The lowest processor of the socket, of the NUMA domain, or of those with one last-level cache, if these
  /// have all processors of the process; else `unknown`.
  int socket = unknown;
  int numa = unknown;
  int l3 = unknown;
};

/// The processors in a list such as 0-3,8, as Linux writes it. Empty if the text is no such list.
std::vector<int> parse_cpu_list(const std::string& text);

/// The domains of these processors, as Linux describes them in `folder`.
CpuDomains find_domains(const std::vector<int>& cpus, const std::string& folder = "/sys/devices/system");

/// Those of `cpus` that share a last-level cache, group by group, in the order of the first ones. Processors
/// of which Linux does not say it are one group.
std::vector<std::vector<int>> group_by_cache(const std::vector<int>& cpus,
                                             const std::string& folder = "/sys/devices/system");

/// The processors on which this thread may run; empty if the kernel does not say.
std::vector<int> allowed_cpus();

}  // namespace stretto
