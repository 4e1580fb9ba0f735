// SPDX-License-Identifier: Apache-2.0
#include "sockets/siphash.hpp"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace stretto {
namespace {

std::uint64_t word_at(const std::byte* from, std::size_t bytes = sizeof(std::uint64_t)) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i) word |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return word;
}

class State {
 public:
  explicit State(const SipKey& key) {
    const std::uint64_t low = word_at(key.data());
    const std::uint64_t high = word_at(key.data() + 8);
    v_ = {low ^ 0x736f6d6570736575U, high ^ 0x646f72616e646f6dU ^ 0xeeU, low ^ 0x6c7967656e657261U,
          high ^ 0x7465646279746573U};
  }

  void take(std::uint64_t word) {
    v_[3] ^= word;
    mix(2);
    v_[0] ^= word;
  }

  std::uint64_t half(std::uint64_t mark) {
    v_[mark == 0xee ? 2 : 1] ^= mark;
    mix(4);
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  void mix(int rounds) {
    for (; rounds > 0; --rounds) {
      v_[0] += v_[1];
      v_[1] = std::rotl(v_[1], 13) ^ v_[0];
      v_[0] = std::rotl(v_[0], 32);
      v_[2] += v_[3];
      v_[3] = std::rotl(v_[3], 16) ^ v_[2];
      v_[0] += v_[3];
      v_[3] = std::rotl(v_[3], 21) ^ v_[0];
      v_[2] += v_[1];
      v_[1] = std::rotl(v_[1], 17) ^ v_[2];
      v_[2] = std::rotl(v_[2], 32);
    }
  }

  std::array<std::uint64_t, 4> v_{};
};

}  // namespace

SipTag siphash(const SipKey& key, std::span<const std::byte> text) {
  State state(key);
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) state.take(word_at(text.data() + at));
  state.take(word_at(text.data() + at, text.size() - at) | (text.size() << 56));
  SipTag tag;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint64_t half = state.half(i == 0 ? 0xee : 0xdd);
    for (std::size_t byte = 0; byte < 8; ++byte) tag[8 * i + byte] = std::byte(half >> (8 * byte));
  }
  return tag;
}

bool are_equal(const SipTag& one, const SipTag& other) {
  std::byte differs{};
  for (std::size_t i = 0; i < one.size(); ++i) differs |= one[i] ^ other[i];
  return differs == std::byte{};
}

void fill_randomly(std::span<std::byte> memory) {
  while (!memory.empty()) {
    const ssize_t got = getrandom(memory.data(), memory.size(), 0);
    if (got > 0) {
      memory = memory.subspan(static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
  }
}

}  // namespace stretto
