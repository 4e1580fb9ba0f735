// SPDX-License-Identifier: Apache-2.0
// STRETTO_ONLINE: blocking calls are tried in other ways, as select/learner.hpp decides.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "interpose/session/call_traits.hpp"
#include "select/learner.hpp"

namespace stretto {

/// What is learned on one communicator. As its collectives are begun by one thread at a time, and blocking
/// ones end before the next begins, it needs no lock.
class Online {
 public:
  Online() = default;
  Online(const Online&) = delete;
  Online& operator=(const Online&) = delete;

  /// Before a call, in the order of calls: agrees with the other ranks where that is due, and may put another
  /// spec in place of the choice. nullptr: nothing is learned by this call.
  Learner* consider(const Communicator& state, const CallTraits& traits, MPI_Comm comm, Spec& spec);

  /// Keeps what was learned for the table. To be called when no call is under way.
  void conclude(const Communicator& state) const;

 private:
  /// Collective, power of two, root, whether the operation commutes.
  using Key = std::tuple<Collective, std::size_t, int, bool>;
  /// Each takes a share of its own calls' time only; but a program may have any number of roots.
  static constexpr std::size_t most_learners = 64;

  std::map<Key, Learner> learners_;
};

/// Lives while a call is carried out of which something is learned.
class LearningCall {
 public:
  LearningCall(std::shared_ptr<Communicator> state, Learner& learner);
  LearningCall(const LearningCall&) = delete;
  LearningCall& operator=(const LearningCall&) = delete;
  ~LearningCall();

 private:
  std::shared_ptr<Communicator> state_;  // which has the learner
  Learner& learner_;
  double began_;
};

/// Decides for each collective whether it is learned of, as the settings say. Of a collective that it cannot
/// be, one line says why.
void begin_online();

/// On rank 0, when all communicators are gone: puts what they have learned into the table. Returns one line
/// that says why it could not, or an empty one.
std::string save_learned();

}  // namespace stretto
