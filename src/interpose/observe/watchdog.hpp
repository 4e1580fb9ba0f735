// SPDX-License-Identifier: Apache-2.0
// STRETTO_WATCHDOG=30s: a collective that has not ended after so long is told of, once, by every rank that
// waits in it, with the ranks that have not called it. Nothing else changes.
#pragma once

#include <cstdint>
#include <string>

namespace stretto {

class Communicator;

/// What can be told of a call that is under way.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  virtual ~Watched() = default;

  /// Which call it is, where it stands, and for whom it waits; false: not to be found out just now.
  virtual bool try_describe(std::string& text) = 0;
  /// Of which communicator it is, and its number there.
  [[nodiscard]] virtual const Communicator& communicator() const = 0;
  [[nodiscard]] virtual std::uint64_t number() const = 0;
};

/// From now on, until unwatch(). Cheap where there is no watchdog. Thread-safe.
void watch(Watched& call);
void unwatch(Watched& call);

void begin_watchdog();
void end_watchdog();

}  // namespace stretto
