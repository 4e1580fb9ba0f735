// SPDX-License-Identifier: Apache-2.0
#include "sockets/door.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sockets/files.hpp"

namespace stretto {

Endpoint::Door::Door(Endpoint& endpoint, Socket listener, std::size_t files)
    : endpoint_(endpoint),
      listener_(std::move(listener)),
      most_visitors_(std::clamp<std::size_t>(files / 4, 1, most_visitors)) {
  is_shut_ = !endpoint_.poller_.add(listener_, *this);
}

bool Endpoint::Door::look(bool /*readable*/, bool /*writable*/) {
  constexpr int most_at_once = 64;
  for (int i = 0; i < most_at_once; ++i) {
    Socket socket =
        open_file([&] { return accept4(listener_.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (!socket) {
      // Without a file descriptor for the visitor, the poller would name the listener again and again.
      is_shut_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_shut_) endpoint_.poller_.remove(listener_);
      return i > 0;
    }
    if (visitors_.size() >= most_visitors_) refuse_first();
    Guest& guest = visitors_.emplace_back(*this, std::move(socket), Clock::now() + longest_visit);
    if (!endpoint_.poller_.add(guest.visitor.socket(), guest)) refuse(guest);
  }
  return true;
}

void Endpoint::Door::tidy() {
  const auto now = Clock::now();
  visitors_.remove_if([&](Guest& guest) {
    if (guest.verdict == Visitor::Verdict::admitted) endpoint_.admit(guest.visitor);
    return guest.verdict != Visitor::Verdict::undecided || guest.visitor.is_overdue(now);
  });
  has_decided_ = false;
  if (is_shut_) is_shut_ = !endpoint_.poller_.add(listener_, *this);
}

void Endpoint::Door::abandon() {
  listener_.close();
  for (Guest& guest : visitors_) guest.visitor.socket().close();
}

bool Endpoint::Door::Guest::look(bool /*readable*/, bool /*writable*/) {
  const Endpoint& of = door.endpoint_;
  if (verdict == Visitor::Verdict::undecided)
    verdict =
        visitor.look({.secret = of.secret_, .rank = of.rank_, .ranks = of.ranks_, .at = of.listens_at_});
  door.has_decided_ = door.has_decided_ || verdict != Visitor::Verdict::undecided;
  return true;
}

void Endpoint::Door::refuse_first() {
  const auto first = std::ranges::find(visitors_, Visitor::Verdict::undecided, &Guest::verdict);
  if (first != visitors_.end()) refuse(*first);
}

void Endpoint::Door::refuse(Guest& guest) {
  guest.verdict = Visitor::Verdict::refused;
  has_decided_ = true;
}

}  // namespace stretto
