// SPDX-License-Identifier: Apache-2.0
#include "sockets/poller.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ctime>

#include <array>
#include <cerrno>
#include <system_error>

namespace stretto {
namespace {

epoll_event event_of(Polled& polled, bool writes) {
  epoll_event event{};
  event.events = EPOLLIN | (writes ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.ptr = &polled;
  return event;
}

}  // namespace

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wakes_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wakes_) throw std::system_error(errno, std::generic_category(), "epoll_create1, eventfd");
}

bool Poller::add(const Socket& socket, Polled& polled, bool writes) {
  epoll_event event = event_of(polled, writes);
  return epoll_ctl(epoll_.file(), EPOLL_CTL_ADD, socket.file(), &event) == 0;
}

void Poller::set_writes(const Socket& socket, Polled& polled, bool writes) {
  epoll_event event = event_of(polled, writes);
  epoll_ctl(epoll_.file(), EPOLL_CTL_MOD, socket.file(), &event);
}

void Poller::remove(const Socket& socket) {
  if (socket) epoll_ctl(epoll_.file(), EPOLL_CTL_DEL, socket.file(), nullptr);
}

bool Poller::poll(int milliseconds) {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(epoll_.file(), events.data(), static_cast<int>(events.size()), milliseconds);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    const bool has_ended = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    any = static_cast<Polled*>(event.data.ptr)
              ->look(has_ended || (event.events & EPOLLIN) != 0, (event.events & EPOLLOUT) != 0) ||
          any;
  }
  return any;
}

void Poller::await(double seconds) const {
  const auto look_at = [](const Socket& file) {
    return pollfd{.fd = file.is_there() ? file.file() : -1, .events = POLLIN, .revents = 0};
  };
  std::array<pollfd, 2> looked_at{look_at(epoll_), look_at(wakes_)};
  timespec longest{};
  longest.tv_sec = static_cast<time_t>(seconds);
  longest.tv_nsec = static_cast<long>((seconds - static_cast<double>(longest.tv_sec)) * 1e9);
  ppoll(looked_at.data(), looked_at.size(), &longest, nullptr);
  std::uint64_t calls = 0;
  if (looked_at[1].revents != 0) static_cast<void>(read(wakes_.file(), &calls, sizeof(calls)));
}

void Poller::wake() const {
  const std::uint64_t call = 1;
  if (wakes_.is_there()) static_cast<void>(write(wakes_.file(), &call, sizeof(call)));
}

}  // namespace stretto
