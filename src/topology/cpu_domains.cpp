// SPDX-License-Identifier: Apache-2.0
#include "topology/cpu_domains.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

namespace stretto {
namespace {

constexpr int most_cpus = 1 << 16;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Returns the lowest processor of `domain` if it has all of `cpus`; else `unknown`.
int label_of(const std::vector<int>& domain, const std::vector<int>& cpus) {
  const bool has_all = std::all_of(cpus.begin(), cpus.end(), [&](int cpu) {
    return std::find(domain.begin(), domain.end(), cpu) != domain.end();
  });
  return has_all && !domain.empty() ? *std::min_element(domain.begin(), domain.end()) : CpuDomains::unknown;
}

/// Returns the name of a processor's NUMA domain, such as node0; empty if the kernel knows of none.
std::string name_of_numa(const std::string& cpu_folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(cpu_folder, error)) {
    std::string name = entry.path().filename().string();
    constexpr std::string_view stem = "node";
    if (name.starts_with(stem) && name.find_first_not_of("0123456789", stem.size()) == std::string::npos) {
      return name;
    }
  }
  return {};
}

/// Returns the processors that share a processor's last cache, whichever level that is.
std::vector<int> sharers_of_last_cache(const std::string& cpu_folder) {
  constexpr int most_caches = 16;
  std::string sharers;
  int highest = 0;
  for (int index = 0; index < most_caches; ++index) {
    const std::string cache = cpu_folder + "/cache/index" + std::to_string(index);
    const std::string level = first_line(cache + "/level");
    if (level.empty()) break;
    int number = 0;
    std::from_chars(level.data(), level.data() + level.size(), number);
    if (number <= highest) continue;
    highest = number;
    sharers = first_line(cache + "/shared_cpu_list");
  }
  return parse_cpu_list(sharers);
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0;
    auto [rest, status] = std::from_chars(at, end, first);
    if (status != std::errc{}) return {};
    int last = first;
    if (rest != end && *rest == '-') {
      const auto [after, is_number] = std::from_chars(rest + 1, end, last);
      if (is_number != std::errc{}) return {};
      rest = after;
    }
    if (first < 0 || last < first || last >= most_cpus) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (rest != end && *rest != ',') return {};
    at = rest == end ? end : rest + 1;
  }
  return cpus;
}

CpuDomains find_domains(const std::vector<int>& cpus, const std::string& folder) {
  CpuDomains found;
  if (cpus.empty()) return found;
  const std::string cpu_folder = folder + "/cpu/cpu" + std::to_string(cpus.front());
  std::string socket = first_line(cpu_folder + "/topology/package_cpus_list");
  if (socket.empty()) socket = first_line(cpu_folder + "/topology/core_siblings_list");  // before Linux 5.3
  found.socket = label_of(parse_cpu_list(socket), cpus);
  if (const std::string numa = name_of_numa(cpu_folder); !numa.empty()) {
    found.numa = label_of(parse_cpu_list(first_line(folder + "/node/" + numa + "/cpulist")), cpus);
  }
  found.l3 = label_of(sharers_of_last_cache(cpu_folder), cpus);
  return found;
}

std::vector<std::vector<int>> group_by_cache(const std::vector<int>& cpus, const std::string& folder) {
  std::map<std::vector<int>, std::size_t> number_of;
  std::vector<std::vector<int>> groups;
  for (const int cpu : cpus) {
    const auto sharers = sharers_of_last_cache(folder + "/cpu/cpu" + std::to_string(cpu));
    const auto [entry, is_new] = number_of.try_emplace(sharers, groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(cpu);
  }
  return groups;
}

std::vector<int> allowed_cpus() {
  for (int most = CPU_SETSIZE; most <= most_cpus; most *= 4) {
    std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(most) / sizeof(cpu_set_t));
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < most; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.data())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

}  // namespace stretto
