// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// Returns the counts of this rank as JSON.
std::string statistics_text();

/// Returns a summary of these counts in one line (STRETTO_SUMMARY).
std::string summary_text();

/// To be called on the rank that will write the file. Adds a complaint if it cannot be written now.
void check_statistics_file(Settings& settings);

/// Writes the counts to a file. If it cannot, and that was not reported before, returns one line with the
/// reason; otherwise an empty one.
std::string write_statistics(const std::string& file);

}  // namespace stretto
