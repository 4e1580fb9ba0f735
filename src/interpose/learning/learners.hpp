// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "interpose/learning/link_evidence.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/races/background_race.hpp"
#include "learn/races/learner.hpp"
#include "learn/races/length_race.hpp"
#include "learn/races/policies.hpp"
#include "learn/races/race.hpp"

namespace stretto {

class LinkLook;
class RaceAgreement;

/// The learner of a kind of calls.
struct KindLearner {
  Learner learner;
  /// The spec in force while the learner names no other. It replaces the choice by the table and the rule.
  std::optional<Spec> known = std::nullopt;
};

/// The race of non-blocking calls of a kind, and the agreement on its measurements if one is under way in the
/// background (dispatch/background.cpp).
struct KindRace {
  std::shared_ptr<BackgroundRace> race;  // nullptr: there is nothing to compare
  std::shared_ptr<RaceAgreement> agreement = nullptr;
  int calls = 0;  // since a stage was measured
};

/// The learners and races of one communicator (STRETTO_ONLINE). They need no lock: one thread at a time
/// begins collectives of a communicator, and a blocking one ends before the next begins.
class Learners {
 public:
  Learners() = default;
  Learners(const Learners&) = delete;
  Learners& operator=(const Learners&) = delete;
  ~Learners();

  // A kind is named by its shortest call (shortest_of()).

  /// Returns the learner of a kind; nullptr if there is none.
  KindLearner* find(const CallTraits& kind) {
    const auto found = learners_.find(kind);
    return found == learners_.end() ? nullptr : &found->second;
  }
  /// Adds the learner that make() returns, and returns it; nullptr if there is no room for another one.
  template <typename Make>
  KindLearner* add(const CallTraits& kind, const Make& make) {
    return learners_.size() == most_learners ? nullptr : &learners_.emplace(kind, make()).first->second;
  }

  /// Returns the race of non-blocking calls of a kind. If there is none, adds the one that make() returns.
  /// Returns nullptr if there is no room for another one.
  template <typename Make>
  KindRace* find_or_add_race(const CallTraits& kind, const Make& make) {
    const auto found = races_.find(kind);
    if (found != races_.end()) return &found->second;
    return races_.size() == most_learners ? nullptr : &races_.emplace(kind, KindRace{make()}).first->second;
  }
  [[nodiscard]] const std::map<CallTraits, KindRace>& races() const { return races_; }
  /// Drops the races, because the network has changed. The next calls are compared anew.
  void forget_races();
  /// Whether the ranks are to agree on a race at this blocking call. If calls have not ended on all ranks,
  /// they try again after twice as many blocking calls.
  bool wants_agreement_on_races();
  /// To be called when a race has been measured, and when it has been decided (Session::due_races).
  void note_due_race();
  void forget_due_race();

  /// Counts a call that is too short to be learned from at once. Returns the number of such calls so far.
  std::uint64_t count_short_call() { return ++short_calls_; }

  /// Returns the race of calls that have as many bytes as this one, rounded down to a power of two.
  Race& short_race(const CallTraits& traits) {
    return short_races_
        .try_emplace({traits.collective, std::bit_width(traits.bytes)}, policies::short_calls,
                     policies::rest_of_short_calls)
        .first->second;
  }

  /// Returns the looks at the links of the nodes; nullptr if there are none.
  [[nodiscard]] LinkEvidence* links() const { return links_ ? links_->get() : nullptr; }
  /// Whether it was asked whether looks are useful.
  [[nodiscard]] bool knows_links() const { return links_.has_value(); }
  void set_links(std::unique_ptr<LinkEvidence> links) { links_ = std::move(links); }
  /// Drops the looks, which know the links as they were measured before.
  void forget_links() { links_.reset(); }
  /// The last look that has begun in the background (dispatch/background_links.cpp).
  [[nodiscard]] const std::shared_ptr<const LinkLook>& last_look() const { return last_look_; }
  void set_last_look(std::shared_ptr<const LinkLook> look) { last_look_ = std::move(look); }

  /// Returns the race of calls whose lengths only two ranks know.
  LengthRace& length_race(Collective collective) { return length_races_[collective]; }

  /// Returns how many times as long as Stretto's the MPI library's own calls of such a kind should take, by
  /// what calls of the most similar length have shown; 0: not known.
  [[nodiscard]] double gain_of_similar(const CallTraits& traits) const;

  /// Returns the spec that was decided for the same calls from another root; `native` if none was.
  [[nodiscard]] Spec decided_for_another_root(const CallTraits& kind) const;

 private:
  /// Each learner spends a share of the time of its own calls only, but a program may use any number of
  /// roots.
  static constexpr std::size_t most_learners = 256;

  std::map<CallTraits, KindLearner> learners_;
  std::map<CallTraits, KindRace> races_;
  std::map<std::pair<Collective, int>, Race> short_races_;
  std::map<Collective, LengthRace> length_races_;
  std::optional<std::unique_ptr<LinkEvidence>> links_;
  std::shared_ptr<const LinkLook> last_look_;
  int due_races_ = 0;
  std::uint64_t blocking_calls_ = 0;  // since a race became due
  std::uint64_t next_agreement_ = 1;
  std::uint64_t short_calls_ = 0;
};

}  // namespace stretto
