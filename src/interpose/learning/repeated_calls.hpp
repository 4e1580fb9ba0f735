// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/execution/direct_execution.hpp"
#include "interpose/session/call_counter.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/races/race.hpp"
#include "learn/races/streaming_race.hpp"
#include "mpi/mpi.hpp"
#include "select/spec.hpp"

namespace stretto {

/// A blocking call as the program makes it, without its buffers. Types and operations are predefined ones,
/// whose handles stay valid.
struct CallKey {
  Collective collective = Collective::allreduce;
  bool in_place = false;
  int root = 0;
  std::int64_t count = 0;
  MPI_Datatype datatype{};
  MPI_Op op{};

  friend bool operator==(const CallKey&, const CallKey&) = default;
};

/// A short call that is carried out in the same way whenever the program makes it: by a spec, or by the MPI
/// library while the race says so. No learner takes part.
struct RepeatedCall {
  CallKey key;
  CallTraits traits;
  Spec spec;
  Race* race = nullptr;  // nullptr: always by the spec
  CallCounter* counter = nullptr;
  std::unique_ptr<DirectExecution> execution = nullptr;  // from the first call by the spec on
  StreamingRace* streaming = nullptr;                    // nullptr: the call is too short
  std::uint32_t untimed = 0;                             // calls since one was timed
};

/// The repeated calls of one communicator. One thread at a time makes collective calls on a communicator.
class RepeatedCalls {
 public:
  RepeatedCall* find(const CallKey& key) {
    RepeatedCall* call = place_of(key).get();
    return call != nullptr && call->key == key ? call : nullptr;
  }
  /// Adds a call, in place of another one with the same hash.
  void add(RepeatedCall call) {
    std::unique_ptr<RepeatedCall>& place = place_of(call.key);
    place = std::make_unique<RepeatedCall>(std::move(call));
  }

 private:
  static constexpr std::size_t entries = 64;
  std::unique_ptr<RepeatedCall>& place_of(const CallKey& key) {
    const auto count = static_cast<std::size_t>(key.count);
    return calls_[(count ^ (count >> 6) ^ (static_cast<std::size_t>(key.collective) << 3) ^
                   static_cast<std::size_t>(key.root)) %
                  entries];
  }

  std::array<std::unique_ptr<RepeatedCall>, entries> calls_;
};

}  // namespace stretto
