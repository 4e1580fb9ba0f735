// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "select/settings.hpp"
#include "select/spec.hpp"

namespace stretto {

/// From here on the time of the job is counted.
void begin_statistics();

/// Counts one call of a collective (STRETTO_STATS, STRETTO_SUMMARY). Thread-safe.
void record_call(Collective collective, std::size_t bytes, const Spec& spec, double seconds);

/// What this rank has counted, as JSON.
std::string statistics_text();

/// The same in one line (STRETTO_SUMMARY).
std::string summary_text();

/// On the rank that will write it: complains if that could not be done now.
void check_statistics_file(Settings& settings);

/// Writes it to a file. Returns one line that says why it could not, if it was not said before, or an empty
/// one.
std::string write_statistics(const std::string& file);

}  // namespace stretto
