// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution/direct_execution.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "engine/messages/channel.hpp"
#include "interpose/communicators/communicator_id.hpp"
#include "interpose/learning/learners.hpp"
#include "interpose/learning/repeated_calls.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/fabrics/fabric.hpp"
#include "learn/races/streaming_race.hpp"
#include "select/floors.hpp"
#include "select/modelled_calls.hpp"
#include "select/spec.hpp"
#include "select/table.hpp"
#include "threads/spin_lock.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// The state that Stretto keeps for one of the program's communicators. It is an attribute of the
/// communicator, and lives as long as an operation on it is in flight. One thread at a time starts a
/// collective on a communicator, as MPI requires; any thread may complete one.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  explicit Communicator(MPI_Comm users);
  ~Communicator();

  /// Whether the MPI library handles every collective on it: it is an intercommunicator, has a single rank or
  /// ranks of another world, or no tags are left for it. All ranks have the same value.
  [[nodiscard]] bool native_only() const { return native_only_; }
  /// Whether it has not been used for long enough. The MPI library handles the calls of a young communicator.
  /// Programs make communicators for a few calls, and preparing one for Stretto and learning about it takes
  /// longer than such calls can gain. All ranks have the same value.
  [[nodiscard]] bool is_young() const { return is_young_; }
  /// Counts a call of a young communicator; all of its ranks must count it. Adds the least time that the call
  /// may have taken. The communicator comes of age when its preparation takes only a small share of the sum.
  void count_young_call(std::size_t bytes);
  /// Prepares it for calls in which Stretto takes part. To be called on all ranks in the same call.
  void come_of_age();
  /// Finds out all about a young communicator that this rank can know without asking another rank.
  void look_around();

  /// Returns the number of ranks; 0 for an intercommunicator or a single rank.
  [[nodiscard]] int ranks() const { return ranks_; }
  /// The topology is valid unless the communicator is young or native_only().
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// Returns the tuning table's rows for it, or nullptr.
  [[nodiscard]] const Table::Shape* table_shape() const { return table_shape_; }
  /// What the model says about its calls (dispatch/modelled_calls.hpp).
  [[nodiscard]] const ModelledCalls& modelled() const { return modelled_; }
  void set_modelled(ModelledCalls calls) { modelled_ = std::move(calls); }
  /// The lengths below which calls on it are too short for Stretto. Valid when topology() is.
  [[nodiscard]] const Floors& floors() const { return floors_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// Returns the rank in MPI_COMM_WORLD of each of its ranks.
  [[nodiscard]] const std::vector<int>& ranks_in_world() const { return *ranks_in_world_; }
  [[nodiscard]] const Peers& peers() const { return ranks_in_world_; }
  /// Returns its ranks that share memory with this one.
  [[nodiscard]] const SharedNeighbours& neighbours() const { return neighbours_; }

  /// The identity is valid when topology() is.
  [[nodiscard]] CommunicatorId id() const { return id_; }

  [[nodiscard]] Learners& learners() { return learners_; }
  /// Returns the results that jobs have recorded for calls on it (dispatch/fabric_memory.hpp), or nullptr if
  /// its ranks have not asked for them yet.
  [[nodiscard]] const Fabric* fabric() const { return fabric_ ? &*fabric_ : nullptr; }
  const Fabric& set_fabric(Fabric fabric) { return fabric_.emplace(std::move(fabric)); }
  /// Drops these results. To be called when the network has changed, so that they no longer hold.
  void forget_fabric() { fabric_.emplace(FabricIdentity{}); }
  /// Returns whether its ranks may measure the network once more, and counts that. If the network changes all
  /// the time, they stop measuring.
  bool may_measure() { return measurements_++ < most_measurements; }
  /// Adds its ranks' measurements.
  void set_measured(const MeasuredNetwork& measured) { fabric_->keep(measured); }

  /// From now on, connections carry messages of at least `from` bytes between nodes, except for the messages
  /// of existing persistent calls. To be called in the order of calls.
  void use_connections(std::size_t from);
  [[nodiscard]] std::size_t connections_from() const { return connections_from_; }

  /// Returns the channel of its calls. Its ranks agree on the tags from the first call that needs them.
  /// To be called in the order of calls.
  const std::shared_ptr<Channel>& channel();
  /// Returns the same if it has been asked for before, else nullptr.
  [[nodiscard]] Channel* opened_channel() const { return channel_.get(); }
  /// Returns a channel with unused tags for a persistent collective. Persistent collectives may be started in
  /// any order.
  const std::shared_ptr<Channel>& channel_with_fresh(std::size_t tags);
  /// Whether its ranks are still agreeing on tags.
  [[nodiscard]] bool is_opening() const;
  void refuse_channel() { native_only_ = true; }

  /// Returns the number of calls so far, and then counts one more.
  std::uint64_t next_sequence() {
    const std::uint64_t now = sequence_.load(std::memory_order_relaxed);
    sequence_.store(now + 1, std::memory_order_release);
    return now;
  }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_.load(std::memory_order_acquire); }
  /// Returns a name that is the same on all of its ranks. It is unique once they have agreed on tags.
  [[nodiscard]] std::string label() const;

  /// Returns an execution for a call by a spec other than the library's blocking call. To be given back
  /// when it is idle.
  std::unique_ptr<Execution> lease(const CallTraits& traits, const Spec& spec, bool persistent);
  /// Returns the pipelining of `spec`, limited to as many segments in flight as a channel has tags.
  static Pipelining pipelining_of(const Spec& spec);
  void give_back(const CallTraits& traits, const Spec& spec, std::unique_ptr<Execution> execution);

  /// Returns the execution that carries out blocking calls by `spec` in one segment through shared memory
  /// alone. Returns nullptr if the channel is not open yet, or if such calls need MPI.
  DirectExecution* direct(const CallTraits& traits, const Spec& spec);
  [[nodiscard]] RepeatedCalls& repeated_calls() { return repeated_; }
  /// Returns the race that finds out how direct calls of this length are fastest. Throws std::bad_alloc.
  StreamingRace& streaming_race(Collective collective, std::size_t bytes);
  /// Gives up the channel, since some message of a call will never arrive. The MPI library handles all later
  /// calls.
  void spoil_channel();

  void call_error_handler(int error) const;
  /// Whether its error handler ends the job.
  [[nodiscard]] bool ends_job_on_error() const;
  /// Returns the error with which call number `call` ends, or MPI_SUCCESS: a rank has revoked the
  /// communicator (fault tolerance of Open MPI 5), or takes part no longer (mpi.why_ended).
  [[nodiscard]] int why_ended(std::uint64_t call, bool has_begun) const;
  /// Without MPI: ends this rank's part from a call on.
  void end_from(std::uint64_t call, const std::string& reason) const;
  // MPI_ERR_REVOKED and MPI_ERR_PROC_FAILED, which Open MPI 4 does not declare.
  static constexpr int error_if_revoked = 77;
  static constexpr int error_if_rank_failed = 75;
  /// Whether programs may go on without ranks that have failed.
  static bool library_tolerates_faults();
  [[nodiscard]] bool wants_returned_errors() const;
  /// To be called when the program frees it, before the library does. Waits for threads that use the handle.
  void forget_handle();

 private:
  /// The inputs, in addition to the communicator, from which a schedule is built.
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

  MPI_Comm users_;
  std::atomic<bool> native_only_{false};
  std::atomic<bool> is_young_{true};
  bool has_looked_around_ = false;
  double young_seconds_ = 0;
  int ranks_ = 0;
  std::atomic<bool> is_freed_{false};
  /// The kind of its error handler at the time when it was freed.
  bool ended_job_on_error_ = false;
  bool returned_errors_ = false;
  int rank_ = 0;
  Topology topology_;
  const Table::Shape* table_shape_ = nullptr;
  ModelledCalls modelled_;
  Floors floors_;
  Peers ranks_in_world_;
  SharedNeighbours neighbours_;
  Learners learners_;
  std::optional<Fabric> fabric_;
  int measurements_ = 0;
  std::string label_;
  CommunicatorId id_;
  std::atomic<std::uint64_t> sequence_{0};
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<Channel> persistent_channel_;
  std::size_t connections_from_;
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

/// The copy function of Stretto's attributes: a duplicate of a communicator starts without them.
/// (MPI_COMM_NULL_COPY_FN is a symbol of the MPI library in Open MPI.)
int copy_nothing(RawHandle, int, void*, void*, void*, int* flag);

void make_communicator_keyval();

/// Lives while the MPI library frees a communicator in this thread, and runs the program's delete callbacks.
/// Calls that these make on the communicator go to the MPI library: Stretto's state for it is about to go, or
/// has gone.
///
/// If the MPI library cannot free a communicator during the agreement on tags, the constructor waits until
/// the ranks have agreed. (The other ranks have called the collective and get here too.)
class FreeingCommunicator {
 public:
  explicit FreeingCommunicator(MPI_Comm comm);
  FreeingCommunicator(const FreeingCommunicator&) = delete;
  FreeingCommunicator& operator=(const FreeingCommunicator&) = delete;
  ~FreeingCommunicator();

  /// Whether this thread is freeing it. (Another thread may have got a new communicator with the same
  /// handle.)
  static bool is_freeing(MPI_Comm comm);

 private:
  static constinit thread_local const FreeingCommunicator* innermost
      __attribute__((tls_model("initial-exec")));
  MPI_Comm comm_;
  const FreeingCommunicator* outer_;
};

/// Releases the states of communicators that are gone. An MPI library may delete attributes wherever it makes
/// progress, holding locks of its own (MPICH does so when the last request of a freed communicator ends), so
/// nothing that calls MPI is done there. To be called by threads of the program while they are in MPI. Takes
/// a few nanoseconds if there is nothing to release.
void release_gone_communicators();

/// Shows all communicators to `look`, which must be quick: none can be added or freed meanwhile. Callable
/// from any thread.
void look_at_communicators(const std::function<void(const Communicator&)>& look);

void free_all_communicators();

}  // namespace stretto
