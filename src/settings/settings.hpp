// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "select/claims.hpp"
#include "select/spec.hpp"

namespace stretto {

struct Complaint {
  std::string variable;
  std::string error;    // what is wrong, and what is expected
  std::string instead;  // what happens instead, unless STRETTO_STRICT is set
};

/// The calls that are reported if they do not end (STRETTO_WATCHDOG).
enum class Watchdog {
  off,
  /// Where it costs nothing: in jobs without MPI.
  where_free,
  all_calls,
};

/// The calls that the line at the end of the job counts (STRETTO_SUMMARY).
enum class Summary {
  none,
  all,
  /// Only calls that are not handed to the MPI library at once, so that shorter ones keep their short path.
  large,
};

/// The settings in the environment. Those of rank 0 count: rank 0 reads them and sends settings_text() to the
/// others, which parse it.
struct Settings {
  bool disabled = false;
  bool strict = false;
  /// Results of reductions depend only on the input, p and the count.
  bool reproducible = false;
  Online online = Online::guard;
  /// A helper thread advances non-blocking collectives while the program computes.
  bool progress_thread = false;
  /// Stretto's own connections carry messages between nodes from this many bytes on. If not set, the MPI
  /// library carries all messages.
  std::optional<std::size_t> connections_from;
  /// Whether a job measures if Stretto's connections are faster than the MPI library, and from which length
  /// on.
  bool may_connect = true;
  /// The MPI library sends shorter messages faster, because it needs no system call to find them.
  static constexpr std::size_t usual_connections_from = std::size_t{16} << 10;
  /// The number of connections from a rank to another one that share long messages. If not set, as many as
  /// the job finds useful.
  std::optional<int> streams;
  /// Calls are compared across ranks before they are carried out.
  bool check = false;
  /// Which calls are reported that do not end.
  Watchdog watchdog = Watchdog::where_free;
  /// After how long.
  double watchdog_seconds = 30;
  /// Once the program's steps are known, their usual time takes the place of that (UsualSteps).
  bool watchdog_adapts = true;
  /// Without MPI: a call that takes far longer than the program's steps fails.
  bool timeout_adapts = false;
  /// A rank waits this long in MPI_Init for the others to show that they run with Stretto; 0: without limit.
  /// Each rank uses its own environment, because rank 0's settings are sent later.
  double start_limit_seconds = 30;
  /// The memory of each rank for messages that other ranks of its node have not taken yet. 0: MPI carries all
  /// messages. If not set, as much as is usual for the number of ranks on the node.
  std::optional<std::size_t> shared_memory_bytes;
  static constexpr std::size_t least_shared_memory = std::size_t{64} << 10;
  static constexpr std::size_t most_shared_memory = std::size_t{1} << 30;
  /// Whether the MPI library takes device memory. If not set, the library is asked.
  std::optional<bool> gpu_aware;
  std::string statistics_file;  // empty: none
  Summary summary = Summary::none;
  std::string trace_folder;  // empty: none
  /// `none`, or the path of a tuning table; empty: the default path (select/table_file.hpp).
  std::string table_file;
  /// `none`, or the path of the file with the findings of jobs about the network; empty: the default path for
  /// this network (learn/fabrics/fabric_file.hpp).
  std::string fabric_file;
  /// The topology of MPI_COMM_WORLD in place of the detected one, if set.
  std::optional<Topology> topology;
  /// [collective] The spec for its calls. If not set, the built-in rule decides.
  std::array<std::optional<Spec>, collectives.size()> forced;
  /// The variables that could not be read.
  std::vector<Complaint> complaints;

  [[nodiscard]] std::optional<Spec>& forced_for(Collective collective) {
    return forced.at(static_cast<std::size_t>(collective));
  }
  [[nodiscard]] const std::optional<Spec>& forced_for(Collective collective) const {
    return forced.at(static_cast<std::size_t>(collective));
  }
};

/// Returns the settings by which findings about the network count.
inline LearningSettings learning_settings(const Settings& settings) {
  return {.online = settings.online, .reproducible = settings.reproducible, .check = settings.check};
}

/// Returns the STRETTO_ variables of an environment (null-terminated, NAME=value, like `environ`) as lines
/// NAME=value, in alphabetical order. The path of a topology file is replaced by the content of the file.
std::string settings_text(char** environment);

Settings parse_settings(const std::string& text);

/// Returns the variable that forces a spec: STRETTO_ALLREDUCE, …
std::string variable_of(Collective collective);

}  // namespace stretto
