// SPDX-License-Identifier: Apache-2.0
// Tests the rules of progress as a state machine, in random sequences of events and virtual time. Also tests
// the helper thread that follows the rules, among real threads with a poll that the test observes.
#include "progress/rules.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "progress/helper.hpp"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using Found = HelperRules::Found;
using Time = HelperRules::Time;

/// A process in virtual time: threads that come and go, and the helper.
class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {}

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      happen();
      const Time until = now_ + Time(pick(3000));
      while (wakes_at_ && *wakes_at_ <= until) {
        now_ = *wakes_at_;
        turn();
      }
      now_ = until;
      check_nothing_is_late();
    }
  }

 private:
  int pick(int below) { return std::uniform_int_distribution(0, below - 1)(random_); }

  /// Like Helper and progress.cpp: a thread that starts an operation or is blocked calls the helper.
  void happen() {
    switch (pick(8)) {
      case 0:
      case 1:
        note_change();
        ++state_.outstanding;
        if (!wakes_at_) call();
        break;
      case 2:
        if (state_.outstanding > 0) --state_.outstanding;
        break;
      case 3:
        note_change();
        ++state_.blocked;
        if (state_.outstanding > 0) call();
        break;
      case 4:
        if (state_.blocked > 0) --state_.blocked;
        break;
      case 5:
        note_change();
        state_.polling = pick(2);
        break;
      case 6:
        note_change();
        ++state_.stand_ins;
        break;
      default:
        if (pick(20) == 0) state_.is_guarded = true;
    }
  }
  void note_change() { changed_at_ = now_; }
  void call() {
    wakes_at_ = now_;
    rules_.called();
  }

  void turn() {
    const unsigned stand_ins = std::exchange(seen_stand_ins_, state_.stand_ins);
    const bool stands_aside = stand_ins != state_.stand_ins && state_.blocked == 0;
    const bool polls = rules_.must_poll(state_);
    if (polls) {
      EXPECT_GT(state_.outstanding, 0U);
      EXPECT_EQ(state_.polling, 0);
      EXPECT_TRUE(!state_.is_guarded || state_.blocked > 0);
      EXPECT_FALSE(stands_aside);
      polled_at_ = now_;
    } else {
      EXPECT_TRUE(state_.outstanding == 0 || state_.polling > 0 || stands_aside ||
                  (state_.is_guarded && state_.blocked == 0));
    }
    Found found = Found::not_needed;
    if (polls)
      found = pick(4) == 0 ? Found::something : state_.blocked > 0 ? Found::nothing : Found::not_needed;
    const auto rest = rules_.after(found);
    if (!rest) {
      EXPECT_EQ(state_.outstanding, 0U) << "dormant";
    } else if (found == Found::something) {
      EXPECT_EQ(*rest, Time::zero());
    } else if (found == Found::nothing) {
      EXPECT_GE(*rest, HelperRules::shortest_nap);
      EXPECT_LE(*rest, HelperRules::longest_nap);
    }
    if (stands_aside_last_ && !polls) changed_at_ = now_;
    stands_aside_last_ = stands_aside;
    wakes_at_ = rest ? std::optional(now_ + *rest) : std::nullopt;
  }

  /// Guarantees 1, 2 and 4 of rules.hpp.
  void check_nothing_is_late() const {
    if (state_.outstanding == 0) return;
    ASSERT_TRUE(wakes_at_.has_value()) << "nobody wakes it, though something is outstanding";
    const bool is_needed = state_.polling == 0 && (state_.blocked > 0 || !state_.is_guarded);
    if (!is_needed || stands_aside_last_) return;
    const Time since = now_ - std::max(polled_at_, changed_at_);
    EXPECT_LE(since, HelperRules::tick) << "a poll is late";
    EXPECT_LE(*wakes_at_ - now_, HelperRules::tick);
  }

  std::mt19937 random_;
  ProgressState state_;
  HelperRules rules_;
  Time now_{0};
  std::optional<Time> wakes_at_ = Time{0};
  Time polled_at_{0};
  Time changed_at_{0};  // when a change last allowed the helper to poll later than before
  unsigned seen_stand_ins_ = 0;
  bool stands_aside_last_ = false;
};

TEST(HelperRules, RandomEvents) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Simulation(seed).run(1000);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(HelperRules, NapsFollowWhatIsFound) {
  HelperRules rules;
  const ProgressState blocked{.outstanding = 1, .blocked = 1};
  std::vector<std::int64_t> naps;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(rules.must_poll(blocked));
    naps.push_back(rules.after(Found::nothing)->count());
  }
  EXPECT_EQ(naps, (std::vector<std::int64_t>{20, 40, 80, 160, 200, 200}));
  EXPECT_EQ(rules.after(Found::something), Time::zero());
  EXPECT_EQ(rules.after(Found::nothing), 50us);
  rules.called();
  EXPECT_EQ(rules.after(Found::nothing), HelperRules::shortest_nap);
}

TEST(HelperRules, DormantOnlyAfterSomeTicks) {
  HelperRules rules;
  for (int i = 1; i < HelperRules::ticks_until_dormant; ++i) {
    EXPECT_FALSE(rules.must_poll({}));
    EXPECT_EQ(rules.after(Found::not_needed), HelperRules::tick);
  }
  EXPECT_FALSE(rules.must_poll({}));
  EXPECT_EQ(rules.after(Found::not_needed), std::nullopt);
  EXPECT_TRUE(rules.must_poll({.outstanding = 1}));
  EXPECT_EQ(rules.after(Found::not_needed), HelperRules::tick);
}

TEST(HelperRules, WhoListensIsNeverDormant) {
  HelperRules rules;
  const ProgressState listens{.listens = true};
  for (int i = 0; i < 2 * HelperRules::ticks_until_dormant; ++i) {
    EXPECT_TRUE(rules.must_poll(listens));
    EXPECT_EQ(rules.after(Found::not_needed), HelperRules::listening_tick);
    EXPECT_TRUE(rules.only_listens());
  }
  EXPECT_FALSE(rules.must_poll({.polling = 1, .listens = true}));
  EXPECT_TRUE(rules.must_poll({.outstanding = 1, .listens = true}));
  EXPECT_FALSE(rules.only_listens());
  EXPECT_EQ(rules.after(Found::nothing), HelperRules::shortest_nap);
}

/// A process whose operations end by the helper's polls only.
class Process {
 public:
  Process() : helper_(counts_, [this](bool must_help) { return poll(must_help); }) { helper_.start(); }

  void start() {
    {
      const std::lock_guard guard(mutex_);
      counts_.set_outstanding(++outstanding_);
    }
    helper_.notice(false);
  }
  /// Waits until all have ended, as a blocked thread.
  void be_blocked() {
    const bool is_counted = counts_.must_count_blocked();
    if (is_counted) counts_.begin_blocked();
    if (counts_.any_outstanding()) helper_.call();
    wait_until_none();
    if (is_counted) counts_.end_blocked();
  }
  void wait_until_none() const {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (counts_.any_outstanding() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    ASSERT_FALSE(counts_.any_outstanding()) << "no poll came";
  }
  void guard() {
    counts_.guard();
    helper_.wait_for_end_of_poll();
    may_poll_unblocked_ = false;
  }
  [[nodiscard]] bool polled_wrongly() const { return polled_wrongly_; }

 private:
  Found poll(bool must_help) {
    if (!must_help && !may_poll_unblocked_) polled_wrongly_ = true;
    const std::lock_guard guard(mutex_);
    if (outstanding_ == 0) return Found::not_needed;
    if (++polls_ % 3 != 0) return must_help ? Found::nothing : Found::not_needed;
    counts_.set_outstanding(--outstanding_);
    return Found::something;
  }

  std::mutex mutex_;
  ProgressCounts counts_;
  std::size_t outstanding_ = 0;
  unsigned polls_ = 0;
  std::atomic<bool> may_poll_unblocked_{true};
  std::atomic<bool> polled_wrongly_{false};
  Helper helper_;
};

/// One thread starts, waits or is blocked, with pauses in which the helper falls asleep. So starts find the
/// helper in each of its states.
TEST(Helper, EveryOperationEnds) {
  Process process;
  std::mt19937 random(7);
  for (int turn = 0; turn < 400; ++turn) {
    const int operations = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < operations; ++i) process.start();
    if (random() % 2 == 0) {
      process.wait_until_none();
    } else {
      process.be_blocked();
    }
    if (turn % 8 == 0) std::this_thread::sleep_for(Time(random() % 6000));
  }
}

TEST(Helper, GuardedItActsOnlyForBlockedThreads) {
  Process process;
  std::mt19937 random(8);
  process.start();
  process.guard();
  for (int turn = 0; turn < 300; ++turn) {
    process.start();
    std::this_thread::sleep_for(Time(random() % 1500));
    process.be_blocked();
  }
  EXPECT_FALSE(process.polled_wrongly());
}

/// The helper also polls for a thread that was blocked before anything was outstanding.
TEST(Helper, GuardedItHelpsWhoCameEarlier) {
  Process process;
  process.guard();
  process.start();
  process.be_blocked();
  EXPECT_FALSE(process.polled_wrongly());
}

TEST(Helper, StopsAndStartsAgain) {
  ProgressCounts counts;
  std::atomic<int> polls{0};
  Helper helper(counts, [&](bool) {
    if (++polls % 5 == 0) counts.set_outstanding(0);
    return Found::not_needed;
  });
  for (int turn = 0; turn < 20; ++turn) {
    helper.start();
    counts.set_outstanding(1);
    helper.notice(turn % 2 == 0);
    while (counts.any_outstanding()) std::this_thread::yield();
    helper.stop();
  }
  EXPECT_GE(polls, 100);
}

}  // namespace
}  // namespace stretto
