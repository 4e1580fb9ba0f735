// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sockets/socket.hpp"

namespace stretto {

/// What is called when its socket has something to do.
class Polled {
 public:
  Polled() = default;
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;
  virtual ~Polled() = default;

  /// Returns whether anything moved.
  virtual bool look(bool readable, bool writable) = 0;
};

/// Looks at many sockets at once, by epoll.
class Poller {
 public:
  /// Throws std::system_error.
  Poller();

  /// `polled` must not be destroyed while poll() runs.
  void add(const Socket& socket, Polled& polled, bool writes = false);
  /// Whether it is called when the socket can be written.
  void set_writes(const Socket& socket, Polled& polled, bool writes);
  void remove(const Socket& socket);

  /// Calls those that have something to do, and waits at most so many milliseconds for one. Returns whether
  /// anything moved.
  bool poll(int milliseconds = 0);
  // Beside all other calls:
  /// Sleeps until poll() has something to do, or wake() is called, but no longer.
  void await(double seconds) const;
  /// Ends one await(), the present one or the next.
  void wake() const;
  void close() {
    epoll_.close();
    wakes_.close();
  }

 private:
  Socket epoll_;
  Socket wakes_;
};

}  // namespace stretto
