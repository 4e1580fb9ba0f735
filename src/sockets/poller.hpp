// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sockets/socket.hpp"

namespace stretto {

/// An object that is called when its socket is ready.
class Polled {
 public:
  Polled() = default;
  Polled(const Polled&) = delete;
  Polled& operator=(const Polled&) = delete;
  virtual ~Polled() = default;

  /// Reads or writes. Returns whether anything moved.
  virtual bool look(bool readable, bool writable) = 0;
};

/// Watches many sockets at once, with epoll.
class Poller {
 public:
  /// Throws std::system_error.
  Poller();

  /// Adds a socket. `polled` must not be destroyed while poll() runs. Returns false, with errno, if the
  /// system has no room for it.
  [[nodiscard]] bool add(const Socket& socket, Polled& polled, bool writes = false);
  /// Sets whether `polled` is called when the socket can be written.
  void set_writes(const Socket& socket, Polled& polled, bool writes);
  void remove(const Socket& socket);

  /// Calls the objects whose sockets are ready, and waits at most so many milliseconds for one. Returns
  /// whether anything moved.
  bool poll(int milliseconds = 0);
  // These may run at the same time as any other call:
  /// Sleeps until poll() has something to do or wake() is called, but no longer than `seconds`.
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
