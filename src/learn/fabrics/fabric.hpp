// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "select/form.hpp"
#include "select/spec.hpp"
#include "threads/core_time.hpp"

namespace stretto {

/// What must be equal for the findings of one job to hold in another.
struct FabricIdentity {
  std::string mpi;        // Open MPI 4.1.4
  std::string network;    // the settings by which the library chooses its network; may be empty
  std::string processor;  // of rank 0
  std::string hosts;      // their names without numbers, such as node#; with commas between

  friend bool operator==(const FabricIdentity&, const FabricIdentity&) = default;
};

/// Calls that share a decision: on communicators of one shape, from `from` bytes, a power of two, up to twice
/// as many.
struct CallKind {
  int nodes = 1;
  int min_ppn = 1;
  int max_ppn = 1;
  Collective collective = Collective::allreduce;
  Form form = Form::blocking;
  bool in_place = false;
  std::size_t from = 0;

  friend auto operator<=>(const CallKind&, const CallKind&) = default;
};

/// What was found for a kind of calls.
struct Decision {
  CallKind kind;
  Spec spec;
  double gain = 0;        // times faster than the MPI default; 0: not known
  double seconds = 0;     // of a call; 0: not known
  std::size_t bytes = 0;  // of that call
  std::string when;       // 2026-11-24, UTC; may be empty
  double busy = 0;        // the part of the job's time in which rank 0 waited for its core

  [[nodiscard]] bool is_busy() const { return busy >= busy_from; }
};

/// What a job has measured of a network (learn/network/probe.hpp).
struct MeasuredNetwork {
  Machine machine;
  int nodes = 1;  // of the communicator that measured it
  int ppn = 1;
  std::string when;  // 2026-11-24, UTC; may be empty
  double busy = 0;   // the part of the time in which a rank waited for its core: then it says too little
  /// Connections of Stretto's own carry messages between nodes of so many bytes or more faster than the MPI
  /// library; 0: they do not, or were not tried.
  std::size_t connections_from = 0;
  int streams = 1;  // connections to a rank that share long messages, where Stretto's own carry them

  [[nodiscard]] bool is_busy() const { return busy >= busy_from; }
  /// Whether it says what messages cost between so many nodes and inside one of so many ranks.
  [[nodiscard]] bool covers(int its_nodes, int its_ppn) const {
    return (its_nodes == 1 || nodes > 1) && (its_ppn == 1 || ppn > 1);
  }
};

/// What jobs have found out about a fabric: the network between hosts, as one MPI library uses it
/// (docs/formats.md).
class Fabric {
 public:
  explicit Fabric(FabricIdentity identity) : identity_(std::move(identity)) {}

  /// Reads the text of a file. Throws FormatError if it is none, or the file of another fabric.
  Fabric(std::string_view text, FabricIdentity identity);
  /// The same for the file of any fabric.
  explicit Fabric(std::string_view text) { read(text, false); }

  [[nodiscard]] const FabricIdentity& identity() const { return identity_; }
  /// nullptr if nothing is known.
  [[nodiscard]] const Decision* find(const CallKind& kind) const;
  /// In the order in which they were kept, the latest last.
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
  /// Replaces what is known of the kind, unless a much busier machine says so. If there are too many
  /// decisions, the oldest is forgotten.
  void keep(const Decision& decision);
  /// Empty if no job has measured it.
  [[nodiscard]] const std::optional<MeasuredNetwork>& measured() const { return measured_; }
  /// Keeps what a file of it says, unless what is known says more, or was measured on a much less busy
  /// machine. Does nothing if that could not be read: after a clock has jumped, a figure may be none.
  void keep(const MeasuredNetwork& measured);
  /// The network has changed: what was measured no longer holds, however quiet the machine was then.
  void forget_measured() { measured_.reset(); }
  [[nodiscard]] bool is_empty() const { return decisions_.empty() && !measured_; }
  /// The text of a file.
  [[nodiscard]] std::string text() const;

  static constexpr std::size_t most_decisions = 2048;

 private:
  void read(std::string_view text, bool is_of_this_fabric);

  FabricIdentity identity_;
  std::vector<Decision> decisions_;
  std::optional<MeasuredNetwork> measured_;
};

/// Returns the date as it is kept, such as 2026-11-24.
std::string today();

}  // namespace stretto
