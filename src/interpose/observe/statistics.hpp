// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "interpose/session/call_counter.hpp"
#include "select/spec.hpp"
#include "settings/settings.hpp"

namespace stretto {

/// Starts the clock of the job.
void begin_statistics();

/// Returns the counter of calls by a spec. The counter does not move. Thread-safe.
CallCounter& counter_of(Collective collective, std::size_t bytes, const Spec& spec);

/// Counts one call of a collective (STRETTO_STATS, STRETTO_SUMMARY). Thread-safe.
void record_call(Collective collective, std::size_t bytes, const Spec& spec, double seconds);

/// Counts a call also as one that a tuning might make faster: the MPI library carries it out, and only the
/// built-in rule has decided so. Thread-safe.
void record_untuned_call(Collective collective, std::size_t bytes, double seconds);

/// Returns the counts of this rank as JSON.
std::string statistics_text();

/// Returns a summary of these counts in one line (STRETTO_SUMMARY).
std::string summary_text();

/// Returns whether a duel has found that the MPI default is fastest for a collective, from a power of two of
/// bytes up to the next one.
using IsDefaultBest = std::function<bool(Collective, std::size_t)>;

/// Returns a line that follows the summary: what a tuning might make faster. Returns an empty one if that is
/// less than half of the time in collectives, or if this time is below a second.
std::string advice_text(const IsDefaultBest& is_default_best);

/// To be called on the rank that will write the file. Adds a complaint if it cannot be written now.
void check_statistics_file(Settings& settings);

/// Writes the counts to a file. If it cannot, and that was not reported before, returns one line with the
/// reason; otherwise an empty one.
std::string write_statistics(const std::string& file);

}  // namespace stretto
