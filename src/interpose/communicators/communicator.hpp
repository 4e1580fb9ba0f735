// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "engine/channel.hpp"
#include "engine/schedule_execution.hpp"
#include "interpose/communicators/communicator_id.hpp"
#include "interpose/communicators/learners.hpp"
#include "interpose/session/call_traits.hpp"
#include "schedule/topology.hpp"
#include "select/spec.hpp"
#include "select/table.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// What Stretto keeps for one of the program's communicators, as an attribute of it and as long as an
/// operation of it is under way. One thread at a time begins a collective of a communicator (MPI requires
/// it); any thread may end one.
class Communicator {
 public:
  explicit Communicator(MPI_Comm users);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Every collective of it goes to the library: an intercommunicator, a single rank, ranks of another world,
  /// or no tags left. The same on all of its ranks.
  [[nodiscard]] bool native_only() const { return native_only_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// What the tuning table says for it; nullptr: nothing.
  [[nodiscard]] const Table::Shape* table_shape() const { return table_shape_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// Of the communicator's ranks, which rank of MPI_COMM_WORLD each is.
  [[nodiscard]] const std::vector<int>& ranks_in_world() const { return *ranks_in_world_; }

  /// Unless it is left to the library.
  [[nodiscard]] CommunicatorId id() const { return id_; }

  [[nodiscard]] Learners& learners() { return learners_; }

  /// The tags of its calls, agreed upon from the first call on that needs them. To be called in the order of
  /// calls.
  const std::shared_ptr<Channel>& channel();
  /// One with tags for a persistent collective, which may be started in any order.
  const std::shared_ptr<Channel>& channel_with_fresh(std::size_t tags);
  /// Whether its ranks are about to agree on tags.
  [[nodiscard]] bool is_opening() const;
  void refuse_channel() { native_only_ = true; }

  /// Calls so far.
  std::uint64_t next_sequence() { return sequence_++; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Tells it from other communicators, in the same way on all of its ranks, once they have agreed on tags.
  [[nodiscard]] std::string label() const;

  /// What carries out a call by a spec that is not the library's blocking call; to be given back when it is
  /// idle.
  std::unique_ptr<Execution> lease(const CallTraits& traits, const Spec& spec, bool persistent);
  /// Of a call by `spec`: no more segments are in flight than a channel has tags.
  static Pipelining pipelining_of(const Spec& spec);
  void give_back(const CallTraits& traits, const Spec& spec, std::unique_ptr<Execution> execution);

  void call_error_handler(int error) const;
  /// By the handler of its errors.
  [[nodiscard]] bool ends_job_on_error() const;
  /// Any rank may revoke it (fault tolerance of Open MPI 5): calls that are under way on it end then.
  [[nodiscard]] bool is_revoked() const;
  static constexpr int error_if_revoked = 77;  // MPI_ERR_REVOKED, which Open MPI 4 does not declare
  [[nodiscard]] bool wants_returned_errors() const;
  /// The program has freed it.
  void forget_handle() { is_freed_ = true; }

 private:
  /// What a schedule is built from, besides the communicator.
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
  /// Idle executions that a communicator remembers; the one that was not used for longest is dropped. (A
  /// program may broadcast from every root.)
  static constexpr std::size_t most_idle = 16;

  /// Which handler it has is told by its address, so none is kept.
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
  Learners learners_;
  std::string label_;
  CommunicatorId id_;
  std::uint64_t sequence_ = 0;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<Channel> persistent_channel_;
  SpinLock lock_;                  // of idle_
  std::list<IdleExecution> idle_;  // last used first
};

/// The state of a communicator, made at its first use; nullptr for what is plainly none. Returns an MPI error
/// code, of which the library has told the program's handler already.
int find_communicator(MPI_Comm comm, std::shared_ptr<Communicator>& state);

/// For our attributes: a duplicate of a communicator starts with none. (MPI_COMM_NULL_COPY_FN is a symbol of
/// the MPI library in Open MPI.)
int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag);

void make_communicator_keyval();

/// To be called before a communicator is freed: waits until its ranks have agreed on tags where the library
/// cannot free it sooner. (Other ranks come here too, having called the collective.)
void wait_until_opened(MPI_Comm comm);

void free_all_communicators();

}  // namespace stretto
