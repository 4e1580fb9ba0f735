// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sockets/endpoint.hpp"

namespace stretto {

/// Hears from the kernel when a link or an address of this node changes.
class Endpoint::RailWatch final : public Polled {
 public:
  explicit RailWatch(Endpoint& endpoint);
  ~RailWatch() override { endpoint_.poller_.remove(changes_); }
  bool look(bool readable, bool writable) override;
  /// Closes the socket and nothing else.
  void abandon() { changes_.close(); }

 private:
  Endpoint& endpoint_;
  Socket changes_;
};

}  // namespace stretto
