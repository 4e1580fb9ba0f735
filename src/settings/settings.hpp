// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "select/spec.hpp"

namespace stretto {

struct Complaint {
  std::string variable;
  std::string error;    // what is wrong, and what would be right
  std::string instead;  // what is done all the same, unless the user asked for strict
};

/// What a line at the end of the job counts (STRETTO_SUMMARY).
enum class Summary {
  none,
  all,
  /// Only calls that are looked at anyway: shorter ones keep their short path.
  large,
};

/// What the environment says. Rank 0's is the one that counts: it reads, the others are sent `text` and parse
/// it.
struct Settings {
  bool disabled = false;
  bool strict = false;
  /// Results of reductions depend on the input, p and the count alone.
  bool reproducible = false;
  /// A job finds out what is faster by its own calls, and puts that into the table.
  bool online = false;
  /// A thread of its own advances collectives that are not blocking while the program computes.
  bool progress_thread = false;
  /// Calls are compared across ranks before they are carried out.
  bool check = false;
  /// After so long, a collective that has not ended is told of; 0: never.
  double watchdog_seconds = 0;
  /// For so long a rank waits in MPI_Init for the others to show that they run with Stretto; 0: for ever.
  /// Each goes by its own environment, as rank 0's comes after that.
  double start_limit_seconds = 30;
  std::string statistics_file;  // empty: none
  Summary summary = Summary::none;
  std::string trace_folder;  // empty: none
  /// `none`, or the file of a tuning table; empty: the one at the default place (select/table_file.hpp).
  std::string table_file;
  /// Instead of what ranks find about nodes; empty: none. Of MPI_COMM_WORLD.
  std::optional<Topology> topology;
  /// For each collective; empty: the built-in rule.
  std::array<std::optional<Spec>, collectives.size()> forced;
  /// What could not be read.
  std::vector<Complaint> complaints;

  [[nodiscard]] std::optional<Spec>& forced_for(Collective collective) {
    return forced.at(static_cast<std::size_t>(collective));
  }
  [[nodiscard]] const std::optional<Spec>& forced_for(Collective collective) const {
    return forced.at(static_cast<std::size_t>(collective));
  }
};

/// The STRETTO_ variables of an environment (null-terminated, NAME=value, as `environ`) as lines NAME=value,
/// in alphabetical order. A topology that is in a file comes as what the file says.
std::string settings_text(char** environment);

Settings parse_settings(const std::string& text);

/// Which variable forces a spec: STRETTO_ALLREDUCE, …
std::string variable_of(Collective collective);

}  // namespace stretto
