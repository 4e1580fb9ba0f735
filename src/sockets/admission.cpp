// SPDX-License-Identifier: Apache-2.0
#include "sockets/admission.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sockets/frame.hpp"

namespace stretto {

SipTag proof_of(End end, const SipKey& secret, const Hello& hello, const SipTag& number_of_listener,
                const Address& at) {
  std::array<std::byte, 1 + sizeof(Hello) + sizeof(SipTag) + sizeof(Address)> text{};
  Address without_scope = at;
  without_scope.scope = 0;
  text[0] = std::byte(end);
  std::memcpy(&text[1], &hello, sizeof(hello));
  std::memcpy(&text[1 + sizeof(hello)], number_of_listener.data(), sizeof(SipTag));
  std::memcpy(&text[1 + sizeof(hello) + sizeof(SipTag)], &without_scope, sizeof(Address));
  return siphash(secret, text);
}

Visitor::Verdict Visitor::look(const Listener& listener) {
  for (;;) {
    const std::size_t wanted = is_challenged_ ? sizeof(Answer) : sizeof(Hello);
    const ssize_t got = recv(socket_.file(), bytes_.data() + got_, wanted - got_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Verdict::undecided;
    if (got <= 0) return Verdict::refused;
    got_ += static_cast<std::size_t>(got);
    if (got_ < wanted) continue;
    got_ = 0;
    if (is_challenged_) {
      Answer answer;
      std::memcpy(&answer, bytes_.data(), sizeof(answer));
      const SipTag right = proof_of(End::maker, listener.secret, hello_, challenge_.number, listener.at);
      return are_equal(answer.proof, right) ? Verdict::admitted : Verdict::refused;
    }
    if (const Verdict verdict = take_hello(listener); verdict != Verdict::undecided) return verdict;
  }
}

Visitor::Verdict Visitor::take_hello(const Listener& listener) {
  std::memcpy(&hello_, bytes_.data(), sizeof(hello_));
  const bool is_plausible =
      hello_.mark == protocol_mark && hello_.ranks == static_cast<std::uint32_t>(listener.ranks) &&
      hello_.rank < hello_.ranks && hello_.to == static_cast<std::uint32_t>(listener.rank) &&
      hello_.stream < most_streams;
  if (!is_plausible) return Verdict::refused;
  fill_randomly(challenge_.number);
  challenge_.proof = proof_of(End::listener, listener.secret, hello_, challenge_.number, listener.at);
  // The challenge fits into the empty buffer of a new connection.
  const ssize_t sent = send(socket_.file(), &challenge_, sizeof(challenge_), MSG_NOSIGNAL | MSG_DONTWAIT);
  is_challenged_ = sent == static_cast<ssize_t>(sizeof(challenge_));
  return is_challenged_ ? Verdict::undecided : Verdict::refused;
}

}  // namespace stretto
