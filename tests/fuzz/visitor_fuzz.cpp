// SPDX-License-Identifier: Apache-2.0
// Visitors of a rank's listener. A stranger that sends any bytes, in any pieces, is not admitted. It learns
// nothing unless it greets as a rank does.
#include "sockets/admission.hpp"
#include "sockets/frame.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "fuzz.hpp"

namespace stretto {
namespace {

using fuzz::demand;

constexpr int rank = 0;
constexpr int ranks = 5;

bool is_plausible(const std::uint8_t* data, std::size_t size) {
  Hello hello;
  if (size < sizeof(hello)) return false;
  std::memcpy(&hello, data, sizeof(hello));
  return hello.mark == protocol_mark && hello.ranks == ranks && hello.rank < ranks && hello.to == rank &&
         hello.stream < most_streams;
}

/// The first byte is the size of the pieces.
void visit(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const std::size_t piece = std::size_t{1} + data[0];
  ++data;
  --size;
  std::array<int, 2> files{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, files.data()) != 0) return;
  const Socket stranger(files[0]);
  Visitor visitor(Socket(files[1]), {});
  auto verdict = Visitor::Verdict::undecided;
  for (std::size_t at = 0; at < size && verdict == Visitor::Verdict::undecided; at += piece) {
    demand(send(stranger.file(), data + at, std::min(piece, size - at), MSG_NOSIGNAL) >= 0,
           "a piece is sent");
    verdict = visitor.look({.secret = SipKey{std::byte{1}}, .rank = rank, .ranks = ranks, .at = Address{}});
  }
  std::array<std::byte, 2 * sizeof(Challenge)> answer{};
  const ssize_t got = recv(stranger.file(), answer.data(), answer.size(), MSG_DONTWAIT);
  const bool is_challenged = is_plausible(data, size);
  demand(is_challenged ? got == sizeof(Challenge) : got <= 0, "a good greeting is challenged, and no other");
  demand(verdict != Visitor::Verdict::admitted, "nobody is admitted without the secret");
  const std::size_t undecided = sizeof(Hello) + (is_challenged ? sizeof(Answer) : 0);
  demand((verdict == Visitor::Verdict::undecided) == (size < undecided), "what is whole is decided");
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::visit(data, size);
  return 0;
}
