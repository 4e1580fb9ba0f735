// SPDX-License-Identifier: Apache-2.0
// STRETTO_WATCHDOG=30s: if a collective has not ended after that time, every rank that waits in it reports
// it once and names the ranks that have not called it. With STRETTO_WATCHDOG=auto, the program's own steps
// say how long is too long. Nothing else changes.
//
// A thread looks at what is in flight, and at how many calls each communicator has seen, a few times a
// second. So non-blocking calls cost nothing, and a job without MPI, which has no others, is always watched
// as with `auto`. There one rank speaks for all. Blocking calls must say so themselves (watch()), which takes
// 40 ns.
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
  /// Returns how many times it was started; a persistent call is started again and again.
  [[nodiscard]] virtual std::uint64_t starts() const { return 0; }
};

/// Watches a blocking call until unwatch(). Cheap if there is no watchdog. Thread-safe.
void watch(Watched& call);
void unwatch(Watched& call);

/// Asks which ranks have not made a call that this rank waits in, and returns the result as text once all
/// have answered, or after `seconds`. The text is empty without a watchdog. Any thread of the program may
/// call it.
std::string find_absent(const Watched& call, double seconds);

void begin_watchdog();
void end_watchdog();

}  // namespace stretto
