// SPDX-License-Identifier: Apache-2.0
// How far rank 0's clock is ahead of this rank's. All ranks under one kernel read the same clock, so nothing
// is estimated between them: their times can be compared exactly, also where rank 0 is on another node.
#pragma once

#include <cstdint>
#include <vector>

namespace stretto {

/// Returns the steady clock's nanoseconds.
std::int64_t nanoseconds_now();

/// A comparison of this rank's clock with that of rank 0, made when this rank's clock said `at`.
struct ClockReading {
  std::int64_t at = 0;
  std::int64_t ahead = 0;  // how far rank 0's clock was ahead
  std::int64_t error = 0;  // the most by which `ahead` is wrong: half of the round trip
};

/// Returns, for each rank of the job, the lowest rank that reads the same clock. Collective over the job.
std::vector<int> find_clocks();

/// Compares each clock with rank 0's. All ranks of a clock return the same reading. Collective over the job.
ClockReading compare_clocks(const std::vector<int>& clock_of);

/// Returns a reading for now in a job whose ranks cannot ask each other any more. Its error allows for the
/// drift of uncorrected clocks since `first`.
ClockReading assume_drift(const ClockReading& first);

}  // namespace stretto
