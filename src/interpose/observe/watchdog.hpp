// SPDX-License-Identifier: Apache-2.0
// STRETTO_WATCHDOG=30s: if a collective has not ended after that time, every rank that waits in it reports
// it once and names the ranks that have not called it. With STRETTO_WATCHDOG=auto, the program's own steps
// say how long is too long. Nothing else changes.
#pragma once

#include <cstdint>
#include <string>

namespace stretto {

class Communicator;

/// A call in flight that can be described.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  virtual ~Watched() = default;

  /// Describes in `text` the call, its state, and the ranks that it waits for. Returns false if these cannot
  /// be found out now.
  virtual bool try_describe(std::string& text) = 0;
  /// The communicator of the call, and the number of the call there.
  [[nodiscard]] virtual const Communicator& communicator() const = 0;
  [[nodiscard]] virtual std::uint64_t number() const = 0;
};

/// Watches a call until unwatch(). Cheap if there is no watchdog. Thread-safe.
void watch(Watched& call);
void unwatch(Watched& call);

void begin_watchdog();
void end_watchdog();

}  // namespace stretto
