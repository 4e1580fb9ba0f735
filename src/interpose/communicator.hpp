// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/execution.hpp"
#include "engine/native_pipeline.hpp"
#include "schedule/topology.hpp"
#include "select/spec.hpp"

namespace stretto {

/// What Stretto keeps for one of the program's communicators, as an attribute of it. One thread at a time is
/// in a collective of a communicator (MPI requires it), so this needs no lock.
class Communicator {
 public:
  explicit Communicator(MPI_Comm users);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Every collective of it goes to the library: an intercommunicator, a single rank, ranks of another world,
  /// or no context id left for a communicator of our own. The same on all of its ranks.
  [[nodiscard]] bool native_only() const { return native_only_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] int rank() const { return rank_; }

  /// Where Stretto's own messages travel: made at the first call that needs it, since context ids are few.
  /// Collective. False if the library could not make one on some rank; native_only() holds from then on.
  bool prepare_private_communicator();

  /// Runs a call by a spec that is not the library's blocking call. Returns an MPI error code.
  int run(Collective collective, const Spec& spec, const Call& call);

 private:
  /// What a schedule is built from, besides the communicator.
  struct Key {
    Collective collective;
    int root;
    Spec spec;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct CachedExecution {
    Key key;
    Execution execution;
  };
  /// Executions that a communicator remembers; the one that was not used for longest is dropped. (A program
  /// may broadcast from every root.)
  static constexpr std::size_t most_cached = 16;

  Execution& execution_for(const Key& key);
  void find_topology(int ranks);

  MPI_Comm users_;
  MPI_Comm private_;
  bool native_only_ = false;
  int rank_ = 0;
  Topology topology_;
  std::list<CachedExecution> executions_;  // last used first
};

/// The state of a communicator, made at its first use; nullptr for what is plainly none. Returns an MPI error
/// code, of which the library has told the program's handler already.
int find_communicator(MPI_Comm comm, Communicator*& state);

void make_communicator_keyval();
void free_all_communicators();

}  // namespace stretto
