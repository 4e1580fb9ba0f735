// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/connections.hpp"

#include <atomic>

namespace stretto {
namespace {

std::atomic<Connections*> present{nullptr};

}  // namespace

Connections* connections() {
  return present.load(std::memory_order_acquire);
}

void set_connections(std::unique_ptr<Connections> made) {
  delete present.exchange(made.release(), std::memory_order_acq_rel);
}

}  // namespace stretto
