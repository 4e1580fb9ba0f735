// SPDX-License-Identifier: Apache-2.0
#include "sockets/tcp_counters.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

namespace stretto {
namespace {

/// The kernel's struct tcp_info in words of 8 bytes (include/uapi/linux/tcp.h), of which the C library
/// declares the first part only. Kernels only ever add to its end.
using TcpInfo = std::array<std::uint64_t, 22>;
constexpr std::size_t word_of_bytes_acked = 15;
constexpr std::size_t word_of_busy_time = 21;  // microseconds

/// Sockets for both versions of IP have addresses of IPv4 in another form.
bool is_mapped(const Address& address) {
  in6_addr ip{};
  static_assert(sizeof(ip) == sizeof(address.ip));
  std::memcpy(&ip, address.ip.data(), sizeof(ip));
  return address.family == 6 && IN6_IS_ADDR_V4MAPPED(&ip);
}

/// Returns an end of the connection; nothing if it has none.
std::optional<Address> end_of(int file, decltype(getsockname) which) {
  SystemAddress end;
  if (which(file, end.get(), &end.length) != 0) return std::nullopt;
  Address address = end.address();
  if (is_mapped(address)) {
    const auto ip = address.ip;
    address = {.family = 4, .port = address.port};
    std::copy(ip.end() - sizeof(in_addr), ip.end(), address.ip.begin());
  }
  return address.family == 0 ? std::nullopt : std::optional(address);
}

/// Other threads may close the file meanwhile, or open another one in its place: nothing is changed here.
std::optional<TcpCounters> read_one(int file) {
  const std::optional<TcpDelivery> delivery = read_tcp_delivery(file);
  if (!delivery) return std::nullopt;
  const std::optional<Address> from = end_of(file, getsockname);
  const std::optional<Address> to = end_of(file, getpeername);
  if (!from || !to || from->ip == to->ip) return std::nullopt;
  return TcpCounters{*delivery, *from, *to};
}

}  // namespace

std::optional<TcpDelivery> read_tcp_delivery(int file) {
  TcpInfo info{};
  socklen_t length = sizeof(info);
  if (getsockopt(file, IPPROTO_TCP, TCP_INFO, info.data(), &length) != 0 || length < sizeof(info))
    return std::nullopt;
  return TcpDelivery{.delivered = info[word_of_bytes_acked],
                     .busy = 1e-6 * static_cast<double>(info[word_of_busy_time])};
}

std::vector<TcpCounters> read_tcp_counters() {
  constexpr int most_files = 4096;
  std::vector<TcpCounters> all;
  int files_seen = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir("/proc/self/fd"), closedir);
  if (!files) return all;
  while (const dirent* entry = readdir(files.get())) {
    char* end = nullptr;
    const long file = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name) continue;
    if (++files_seen > most_files) return {};
    if (const auto one = read_one(static_cast<int>(file))) all.push_back(*one);
  }
  return all;
}

}  // namespace stretto
