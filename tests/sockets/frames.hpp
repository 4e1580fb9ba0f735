// SPDX-License-Identifier: Apache-2.0
// Random frames, and pairs of sockets of this process.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "sockets/frame.hpp"
#include "sockets/socket.hpp"

namespace stretto {

using Bytes = std::vector<std::byte>;

/// Returns the number of random trials. The thread sanitizer is twenty times as slow, and for it the order of
/// events matters more than contents.
constexpr unsigned rounds(unsigned usual) {
#ifdef __SANITIZE_THREAD__
  return (usual + 3) / 4;
#else
  return usual;
#endif
}

/// Numbers that are the same on every machine.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  /// Returns a number below `end`.
  std::size_t below(std::size_t end) { return engine_() % end; }
  bool once_in(std::size_t times) { return below(times) == 0; }
  int rank(int ranks) { return static_cast<int>(below(static_cast<std::size_t>(ranks))); }
  template <typename Value>
  const Value& of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937 engine_;
};

/// Bytes that tell which message they are of, and where in it they are.
inline std::span<const std::byte> pattern(std::size_t bytes, std::size_t seed) {
  constexpr std::size_t longest = 20'000'000;
  constexpr std::size_t seeds = 1024;
  static const Bytes all = [] {
    Bytes made(longest + seeds);
    std::uint32_t state = 1;
    for (std::byte& byte : made) byte = std::byte((state = state * 1664525 + 1013904223) >> 24U);
    return made;
  }();
  return std::span(all).subspan(seed % seeds, bytes);
}
inline void fill(std::span<std::byte> bytes, std::size_t seed) {
  std::ranges::copy(pattern(bytes.size(), seed), bytes.begin());
}
inline bool is_equal(std::span<const std::byte> one, std::span<const std::byte> other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

/// The contents of memory before anything is written there.
constexpr std::byte untouched{0xee};
inline bool is_untouched(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes.front() == untouched && is_equal(bytes.subspan(1), bytes.first(bytes.size() - 1)));
}
inline Bytes filled(std::size_t bytes, std::size_t seed) {
  const auto all = pattern(bytes, seed);
  return {all.begin(), all.end()};
}

/// Two sockets that are connected. `buffer`: bytes between them, about; 0: as the system has it.
struct Pair {
  explicit Pair(int buffer = 0) {
    std::array<int, 2> files{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, files.data()), 0);
    one = Socket(files[0]);
    other = Socket(files[1]);
    if (buffer == 0) return;
    for (const int file : files) setsockopt(file, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
  }
  Socket one;
  Socket other;
};

/// Writes all that fits. Returns the number of bytes.
inline std::size_t put(const Socket& socket, std::span<const std::byte> bytes) {
  const ssize_t sent = send(socket.file(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}
template <typename Value>
std::size_t put_value(const Socket& socket, const Value& value) {
  return put(socket, std::as_bytes(std::span(&value, 1)));
}

/// Reads what is there, up to so many bytes.
inline Bytes get(const Socket& socket, std::size_t most) {
  Bytes bytes(most);
  const ssize_t got = recv(socket.file(), bytes.data(), most, MSG_DONTWAIT);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

inline bool is_same(const Frame& one, const Frame& other) {
  return one.kind == other.kind && one.tag == other.tag && one.context == other.context &&
         one.bytes == other.bytes && one.number == other.number;
}

}  // namespace stretto
