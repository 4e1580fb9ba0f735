// SPDX-License-Identifier: Apache-2.0
#include "interpose/session/fabric_identity.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/session/session.hpp"
#include "select/library_name.hpp"
#include "text/json_reader.hpp"

namespace stretto {
namespace {

/// Returns a name with `#` in place of each number: the nodes of one cluster, node017 and node018, are alike.
std::string without_numbers(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(letter)) != 0;
    if (!is_digit) text += letter;
    if (is_digit && !text.ends_with('#')) text += '#';
  }
  return text;
}

std::string host_name() {
  MpiText name{};
  int length = 0;
  mpi.Get_processor_name(name.data(), &length);
  return without_numbers(name.data());
}

/// Returns the processor's name; empty if the processor does not report it.
std::string brand() {
  std::array<unsigned, 12> words{};
#ifdef __x86_64__
  for (unsigned part = 0; part < 3; ++part) {
    unsigned* const word = &words.at(std::size_t{part} * 4);
    if (__get_cpuid(0x80000002U + part, &word[0], &word[1], &word[2], &word[3]) == 0) return {};
  }
#endif
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  const std::string name = text.data();
  const std::size_t first = name.find_first_not_of(' ');
  return first == std::string::npos ? "" : name.substr(first, name.find_last_not_of(' ') + 1 - first);
}

std::string processor_name() {
  std::string name = brand();
  if (name.empty()) {
    // The kernel may take milliseconds to find out how fast each core runs just now.
    std::ifstream file("/proc/cpuinfo");
    name = "unknown";
    for (std::string line; std::getline(file, line);) {
      const std::size_t colon = line.find(": ");
      if (!line.starts_with("model name") || colon == std::string::npos) continue;
      name = line.substr(colon + 2);
      break;
    }
  }
  return name + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores";
}

/// Returns the environment variables by which users choose an MPI library's network and algorithms. Also says
/// whether the MPI library carries the messages inside a node, and those between nodes.
std::string network_settings() {
  constexpr std::array<std::string_view, 13> prefixes{
      "OMPI_MCA_pml=", "OMPI_MCA_btl",  "OMPI_MCA_mtl", "OMPI_MCA_coll", "MPIR_CVAR_",
      "FI_PROVIDER=",  "FI_TCP_IFACE=", "UCX_TLS=",     "UCX_NET_",      "I_MPI_FABRICS=",
      "I_MPI_OFI_",    "I_MPI_ADJUST_", "PSM2_"};
  std::vector<std::string_view> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    // Hydra sets such a variable to the name of each rank's host.
    if (text.find("HOSTNAME=") != std::string_view::npos) continue;
    if (std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); })) {
      found.push_back(text);
    }
  }
  if (session.settings.shared_memory_bytes == std::size_t{0}) found.emplace_back("STRETTO_SHM=0");
  if (!session.settings.may_connect) {
    found.emplace_back(session.settings.connections_from ? "STRETTO_CONNECTIONS=1" : "STRETTO_CONNECTIONS=0");
  }
  std::ranges::sort(found);
  std::string all;
  for (const std::string_view one : found) all += (all.empty() ? "" : " ") + std::string(one);
  return shown(all, 900);
}

}  // namespace

FabricIdentity find_identity() {
  constexpr std::size_t most = 300;
  const auto library = parse_library_name(session.library);
  return {.mpi = library ? library->name : shown(session.library, 200),
          .network = network_settings(),
          .processor = shown(processor_name(), most),
          .hosts = shown(host_name(), most)};
}

}  // namespace stretto
