// SPDX-License-Identifier: Apache-2.0
#include "sockets/door.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sockets/files.hpp"

namespace stretto {

Endpoint::Door::Door(Endpoint& endpoint, std::size_t files)
    : endpoint_(endpoint), most_visitors_(std::clamp<std::size_t>(files / 4, 1, most_visitors)) {}

void Endpoint::Door::listen(Socket listener, const Address& at) {
  Entrance& entrance = entrances_.emplace_back(*this, std::move(listener), at);
  entrance.is_shut = !endpoint_.poller_.add(entrance.listener, entrance);
}

bool Endpoint::Door::Entrance::look(bool /*readable*/, bool /*writable*/) {
  constexpr int most_at_once = 64;
  for (int i = 0; i < most_at_once; ++i) {
    Socket socket =
        open_file([&] { return accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (!socket) {
      // Without a file descriptor for the visitor, the poller would name the listener again and again.
      is_shut = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_shut) door.endpoint_.poller_.remove(listener);
      return i > 0;
    }
    if (door.visitors_.size() >= door.most_visitors_) door.refuse_first();
    Guest& guest = door.visitors_.emplace_back(*this, std::move(socket), Clock::now() + longest_visit);
    if (!door.endpoint_.poller_.add(guest.visitor.socket(), guest)) door.refuse(guest);
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
  for (Entrance& one : entrances_) {
    if (one.is_shut) one.is_shut = !endpoint_.poller_.add(one.listener, one);
  }
}

void Endpoint::Door::abandon() {
  for (Entrance& one : entrances_) one.listener.close();
  for (Guest& guest : visitors_) guest.visitor.socket().close();
}

bool Endpoint::Door::Guest::look(bool /*readable*/, bool /*writable*/) {
  Door& door = entrance.door;
  const Endpoint& of = door.endpoint_;
  if (verdict == Visitor::Verdict::undecided)
    verdict = visitor.look({.secret = of.secret_, .rank = of.rank_, .ranks = of.ranks_, .at = entrance.at});
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
