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

/// The facts that must be equal for the findings of one job to hold in another.
struct FabricIdentity {
  std::string mpi;        // Open MPI 4.1.4
  std::string network;    // the settings by which the MPI library chooses its network; may be empty
  std::string processor;  // of rank 0
  std::string hosts;      // their names with # for numbers, such as node#; separated by commas

  friend bool operator==(const FabricIdentity&, const FabricIdentity&) = default;
};

/// Calls that share a decision: on communicators of one shape, of `from` bytes (a power of two) up to twice
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

/// The decision for a kind of calls.
struct Decision {
  CallKind kind;
  Spec spec;
  double gain = 0;     // times faster than the MPI default or, without MPI, the choice before; 0: not known
  double seconds = 0;  // of a call; 0: not known
  std::size_t bytes = 0;    // of that call
  std::string when;         // 2026-11-24, UTC; may be empty
  double busy = 0;          // the part of the job's time for which rank 0 waited for its core
  bool is_dropped = false;  // calls took many times as long in a later job, so nobody goes by it

  [[nodiscard]] bool is_busy() const { return busy >= busy_from; }
};

/// A job's measurements of a network (learn/network/probe.hpp).
struct MeasuredNetwork {
  Machine machine;
  int nodes = 1;  // of the communicator that measured it
  int ppn = 1;
  std::string when;            // 2026-11-24, UTC; may be empty
  double busy = 0;             // the part of the time in which a rank waited for its core
  double library_seconds = 0;  // of a short allreduce by the MPI library; 0: not known
  /// From this length on, Stretto's own connections carry messages between nodes faster than the MPI library.
  /// 0: they do not, or were not tried.
  std::size_t connections_from = 0;
  int streams = 1;  // connections of Stretto's own to a rank that share a long message

  [[nodiscard]] bool is_busy() const { return busy >= busy_from; }
  /// Whether it says what messages cost between that many nodes, and inside a node with that many ranks.
  [[nodiscard]] bool covers(int its_nodes, int its_ppn) const {
    return (its_nodes == 1 || nodes > 1) && (its_ppn == 1 || ppn > 1);
  }
};

/// The findings of jobs about a fabric: the network between hosts, as one MPI library uses it
/// (docs/formats.md).
class Fabric {
 public:
  explicit Fabric(FabricIdentity identity) : identity_(std::move(identity)) {}

  /// Reads the text of a file. Throws FormatError if it is not the text of a fabric file, or if it is that of
  /// another fabric.
  Fabric(std::string_view text, FabricIdentity identity);
  /// Reads the text of the file of any fabric.
  explicit Fabric(std::string_view text) { read(text, false); }

  [[nodiscard]] const FabricIdentity& identity() const { return identity_; }
  /// Returns the decision for these calls; nullptr if there is none, or if it was dropped.
  [[nodiscard]] const Decision* find(const CallKind& kind) const;
  /// All decisions in the order in which they were kept, the latest last.
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
  /// Replaces the decision for the same kind of calls, unless the new one comes from a much busier machine,
  /// or is another one that was dropped. If there are too many decisions, the oldest is forgotten.
  void keep(const Decision& decision);
  /// Marks the decision for these calls as dropped, until another one replaces it. Returns it; nullptr if
  /// there is none.
  const Decision* drop(const CallKind& kind);
  /// The measurements; nothing if no job has measured the fabric.
  [[nodiscard]] const std::optional<MeasuredNetwork>& measured() const { return measured_; }
  /// Keeps the measurements as a file would give them back, unless the known ones cover more or come from a
  /// much less busy machine. Does nothing if a file of them could not be read: after a clock has jumped, a
  /// figure may be invalid.
  void keep(const MeasuredNetwork& measured);
  /// Forgets the measurements, because the network has changed: they no longer hold, however quiet the
  /// machine was.
  void forget_measured() { measured_.reset(); }
  [[nodiscard]] bool is_empty() const { return decisions_.empty() && !measured_; }
  /// Returns the text of a file.
  [[nodiscard]] std::string text() const;

  static constexpr std::size_t most_decisions = 2048;

 private:
  void read(std::string_view text, bool is_of_this_fabric);

  FabricIdentity identity_;
  std::vector<Decision> decisions_;
  std::optional<MeasuredNetwork> measured_;
};

/// Returns today's date as it is kept, such as 2026-11-24.
std::string today();

}  // namespace stretto
