// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/channel.hpp"
#include "engine/direct_execution.hpp"
#include "engine/schedule_execution.hpp"
#include "interpose/communicators/communicator_id.hpp"
#include "interpose/communicators/learners.hpp"
#include "interpose/communicators/repeated_calls.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/fabric.hpp"
#include "learn/streaming_race.hpp"
#include "select/spec.hpp"
#include "select/table.hpp"
#include "threads/spin_lock.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// What Stretto keeps for one of the program's communicators. It is an attribute of the communicator, and
/// lives as long as an operation on it is in flight. One thread at a time starts a collective on a
/// communicator, as MPI requires; any thread may complete one.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  explicit Communicator(MPI_Comm users);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Whether the MPI library handles every collective on it: an intercommunicator, a single rank, ranks
  /// of another world, or no tags left. The same on all ranks.
  [[nodiscard]] bool native_only() const { return native_only_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Returns what the tuning table has for it, or nullptr.
  [[nodiscard]] const Table::Shape* table_shape() const { return table_shape_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// Returns the rank in MPI_COMM_WORLD of each of its ranks.
  [[nodiscard]] const std::vector<int>& ranks_in_world() const { return *ranks_in_world_; }
  [[nodiscard]] const Peers& peers() const { return ranks_in_world_; }
  /// Those of its ranks that share memory with this one.
  [[nodiscard]] const SharedNeighbours& neighbours() const { return neighbours_; }

  /// Valid unless native_only().
  [[nodiscard]] CommunicatorId id() const { return id_; }

  [[nodiscard]] Learners& learners() { return learners_; }
  /// What jobs have found out about calls on it (dispatch/fabric_memory.hpp); nullptr if its ranks have not
  /// asked yet.
  [[nodiscard]] const Fabric* fabric() const { return fabric_ ? &*fabric_ : nullptr; }
  const Fabric& set_fabric(Fabric fabric) { return fabric_.emplace(std::move(fabric)); }
  /// The network has changed: what was found out no longer holds.
  void forget_fabric() { fabric_.emplace(FabricIdentity{}); }
  /// Whether its ranks may measure the network once more: where it changes all the time, they do not go on.
  bool may_measure() { return measurements_++ < most_measurements; }
  /// Adds what its ranks have measured.
  void set_measured(const MeasuredNetwork& measured) { fabric_->keep(measured); }

  /// Returns the channel of its calls. Its ranks agree on the tags from the first call that needs them.
  /// To be called in the order of calls.
  const std::shared_ptr<Channel>& channel();
  /// Returns a channel with unused tags for a persistent collective. Those may be started in any order.
  const std::shared_ptr<Channel>& channel_with_fresh(std::size_t tags);
  /// Whether its ranks are still agreeing on tags.
  [[nodiscard]] bool is_opening() const;
  void refuse_channel() { native_only_ = true; }

  /// The number of calls so far.
  std::uint64_t next_sequence() { return sequence_++; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Returns a name that is the same on all of its ranks. It is unique once they have agreed on tags.
  [[nodiscard]] std::string label() const;

  /// Returns an execution for a call by a spec other than the library's blocking call. To be given back
  /// when it is idle.
  std::unique_ptr<Execution> lease(const CallTraits& traits, const Spec& spec, bool persistent);
  /// Returns the pipelining of `spec`, limited to as many segments in flight as a channel has tags.
  static Pipelining pipelining_of(const Spec& spec);
  void give_back(const CallTraits& traits, const Spec& spec, std::unique_ptr<Execution> execution);

  /// Returns what carries out blocking calls by `spec` in one segment through shared memory alone, once the
  /// channel is open; nullptr if such calls need MPI.
  DirectExecution* direct(const CallTraits& traits, const Spec& spec);
  [[nodiscard]] RepeatedCalls& repeated_calls() { return repeated_; }
  /// Returns how direct calls of this length go best. Throws std::bad_alloc.
  StreamingRace& streaming_race(Collective collective, std::size_t bytes);
  /// Some message of a call will never arrive.
  void spoil_channel();

  void call_error_handler(int error) const;
  /// Whether its error handler ends the job.
  [[nodiscard]] bool ends_job_on_error() const;
  /// Whether a rank has revoked it (fault tolerance of Open MPI 5). Calls that are in flight on it then
  /// end.
  [[nodiscard]] bool is_revoked() const;
  // MPI_ERR_REVOKED and MPI_ERR_PROC_FAILED, which Open MPI 4 does not declare.
  static constexpr int error_if_revoked = 77;
  static constexpr int error_if_rank_failed = 75;
  /// Whether programs may go on without ranks that have failed.
  static bool library_tolerates_faults();
  [[nodiscard]] bool wants_returned_errors() const;
  /// To be called when the program has freed it.
  void forget_handle() {
    const std::lock_guard guard(handle_lock_);
    is_freed_ = true;
  }

 private:
  /// What a schedule is built from, in addition to the communicator.
  struct Key {
    Collective collective;
    int root;
    Spec spec;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct IdleExecution {
    Key key;
    std::unique_ptr<Execution> execution;
  };
  struct Direct {
    Key key;
    std::unique_ptr<DirectExecution> execution;  // nullptr: it needs MPI
  };
  /// The most idle executions that a communicator keeps. The least recently used one is dropped. (A
  /// program may broadcast from every root.)
  static constexpr std::size_t most_idle = 16;
  static constexpr int most_measurements = 8;

  /// Returns a handler to compare with. No reference to it is kept.
  [[nodiscard]] MPI_Errhandler error_handler() const;
  static Key key_of(const CallTraits& traits, const Spec& spec);
  void find_topology(int ranks);

  MPI_Comm users_;
  std::atomic<bool> native_only_{false};
  std::atomic<bool> is_freed_{false};
  int rank_ = 0;
  Topology topology_;
  const Table::Shape* table_shape_ = nullptr;
  Peers ranks_in_world_;
  SharedNeighbours neighbours_;
  Learners learners_;
  std::optional<Fabric> fabric_;
  int measurements_ = 0;
  std::string label_;
  CommunicatorId id_;
  std::uint64_t sequence_ = 0;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<Channel> persistent_channel_;
  mutable SpinLock handle_lock_;   // held while a function gets the program's handle
  SpinLock lock_;                  // of idle_
  std::list<IdleExecution> idle_;  // most recently used first
  std::list<Direct> direct_;       // most recently used first
  RepeatedCalls repeated_;
  std::map<std::pair<Collective, int>, StreamingRace> streaming_races_;  // by the magnitude of the length
};

/// Finds the state of a communicator, which is made at its first use. The state is nullptr for a handle
/// that is clearly no communicator. Returns an MPI error code that the library has already reported to
/// the program's handler.
int find_communicator(MPI_Comm comm, std::shared_ptr<Communicator>& state);

/// For attributes of Stretto: a duplicate of a communicator starts without them. (MPI_COMM_NULL_COPY_FN
/// is a symbol of the MPI library in Open MPI.)
int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag);

void make_communicator_keyval();

/// To be called before a communicator is freed. If the library cannot free it during the agreement on
/// tags, waits until its ranks have agreed. (The other ranks have called the collective and get here
/// too.)
void wait_until_opened(MPI_Comm comm);

void free_all_communicators();

}  // namespace stretto
