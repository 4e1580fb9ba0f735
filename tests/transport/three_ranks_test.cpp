// SPDX-License-Identifier: Apache-2.0
// The protocol between three ranks, in every order of their steps. Pairs share only the store of their
// writer. A room of the store must not be written again before the reader of its contents has taken them,
// whichever rank that is.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_set>
#include <vector>

#include "text/hash.hpp"
#include "transport/mailbox.hpp"
#include "transport/piece_store.hpp"

namespace stretto {
namespace {

constexpr std::size_t ranks = 3;
using Plan = std::array<std::array<std::uint32_t, ranks>, ranks>;  // [from][to] pieces

/// One step of a rank with another one.
struct Step {
  enum Kind : std::uint8_t { write, publish, look, take };
  Kind kind;
  std::uint8_t rank;
  std::uint8_t other;
};

/// All memory of three ranks. It cannot be copied, so a state is reached by the steps that lead to it.
class Node {
 public:
  explicit Node(const Plan& plan) : plan_(plan) {
    for (auto& of_rank : mailboxes_) {
      for (Mailbox& mailbox : of_rank) std::memset(static_cast<void*>(&mailbox), 0, sizeof mailbox);
    }
    for (auto& store : stores_) store = std::make_unique<PieceStore>(slots * slot_bytes);
  }

  bool may(const Step& step) {
    const Pair& pair = pairs_[step.rank][step.other];
    switch (step.kind) {
      case Step::write:
        return !pair.is_written && pair.written < plan_[step.rank][step.other] &&
               counts_[step.rank][step.other].may_write(mailboxes_[step.other][step.rank]);
      case Step::publish:
        return pair.is_written;
      case Step::look:
        return !pair.has_looked && pair.taken < plan_[step.other][step.rank] &&
               next_word(step) == pair.taken + 1;
      case Step::take:
        return pair.has_looked;
    }
    return false;
  }

  /// Executes a step that may() allows. Checks the data that are read.
  void execute(const Step& step) {
    Pair& pair = pairs_[step.rank][step.other];
    PairCounts& counts = counts_[step.rank][step.other];
    Mailbox& mine = mailboxes_[step.rank][step.other];
    const Mailbox& theirs = mailboxes_[step.other][step.rank];
    Hash& history = histories_[step.rank];
    history.add(std::uint64_t{step.kind} * ranks + step.other);
    switch (step.kind) {
      case Step::write: {
        // All counts that the store may read.
        for (const auto& of_rank : mailboxes_) history.add(of_rank[step.rank].taken.load());
        const std::uint32_t value = value_of(step.rank, step.other, pair.written);
        Line& line = counts.next_line(mine);
        const PieceStore::Reader reader{&counts, &theirs, counts.written() + 1};
        const auto offset = stores_[step.rank]->take(slot_bytes, std::span(&reader, 1));
        line.head.offset = offset.value_or(PieceHead::in_line);
        if (offset) {
          contents_[step.rank].at(*offset / slot_bytes) = value;
        } else {
          std::memcpy(line.data.data(), &value, sizeof value);
          ++in_lines;
        }
        pair.is_written = true;
        break;
      }
      case Step::publish:
        counts.publish(mine);
        pair.is_written = false;
        ++pair.written;
        break;
      case Step::look:
        history.add(next_line(step).word.load());
        pair.line = counts.look(theirs);
        ASSERT_NE(pair.line, nullptr);
        pair.has_looked = true;
        check(step, pair);
        break;
      case Step::take:
        // Until the piece is taken, the writer does not change it.
        check(step, pair);
        counts.take(mine);
        pair.has_looked = false;
        ++pair.taken;
        break;
    }
  }

  [[nodiscard]] bool ended() const {
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        if (pairs_[from][to].written != plan_[from][to] || pairs_[to][from].taken != plan_[from][to])
          return false;
      }
    }
    return true;
  }
  /// A rank's next step depends on its earlier steps and on the data that it has seen. So equal histories are
  /// equal states.
  [[nodiscard]] std::uint64_t key() const {
    Hash all;
    for (const Hash& history : histories_) all.add(history.sum());
    return all.sum();
  }

  std::size_t in_lines = 0;  // pieces for which there was no room

 private:
  static constexpr std::size_t slot_bytes = 2 * cache_line;
  static constexpr std::size_t slots = 2;
  struct Pair {
    std::uint32_t written = 0;
    std::uint32_t taken = 0;
    bool is_written = false;
    bool has_looked = false;
    const Line* line = nullptr;
  };
  static std::uint32_t value_of(std::size_t from, std::size_t to, std::uint32_t piece) {
    return static_cast<std::uint32_t>(1000 * from + 100 * to) + piece + 1;
  }
  [[nodiscard]] const Line& next_line(const Step& step) const {
    const Pair& pair = pairs_[step.rank][step.other];
    return mailboxes_[step.other][step.rank].line.at((pair.taken + 1) % Mailbox::lines);
  }
  [[nodiscard]] std::uint32_t next_word(const Step& step) const {
    return static_cast<std::uint32_t>(next_line(step).word.load());
  }
  void check(const Step& step, const Pair& pair) const {
    std::uint32_t value = 0;
    if (pair.line->head.offset == PieceHead::in_line) {
      std::memcpy(&value, pair.line->data.data(), sizeof value);
    } else {
      value = contents_[step.other].at(pair.line->head.offset / slot_bytes);
    }
    EXPECT_EQ(value, value_of(step.other, step.rank, pair.taken));
  }

  Plan plan_;
  std::array<std::array<Mailbox, ranks>, ranks> mailboxes_;  // [owner][other]
  std::array<std::array<PairCounts, ranks>, ranks> counts_;
  std::array<std::array<std::uint32_t, slots>, ranks> contents_{};  // of the stores
  std::array<std::array<Pair, ranks>, ranks> pairs_;
  std::array<std::unique_ptr<PieceStore>, ranks> stores_;
  std::array<Hash, ranks> histories_;
};

std::vector<Step> all_steps() {
  std::vector<Step> steps;
  for (const auto kind : {Step::write, Step::publish, Step::look, Step::take}) {
    for (std::uint8_t rank = 0; rank < ranks; ++rank) {
      for (std::uint8_t other = 0; other < ranks; ++other) {
        if (rank != other) steps.push_back({kind, rank, other});
      }
    }
  }
  return steps;
}

struct Walked {
  std::size_t states = 0;
  std::size_t ends = 0;
  std::size_t in_lines = 0;
};

Walked walk(const Plan& plan) {
  const std::vector<Step> steps = all_steps();
  const auto reach = [&](const std::vector<Step>& path) {
    auto node = std::make_unique<Node>(plan);
    for (const Step& step : path) node->execute(step);
    return node;
  };
  Walked walked;
  std::unordered_set<std::uint64_t> seen;
  std::deque<std::vector<Step>> next{{}};
  while (!next.empty() && !testing::Test::HasFailure()) {
    const std::vector<Step> path = std::move(next.front());
    next.pop_front();
    const auto node = reach(path);
    bool any = false;
    for (const Step& step : steps) {
      if (!node->may(step)) continue;
      any = true;
      const auto after = reach(path);
      after->execute(step);
      if (!seen.insert(after->key()).second) continue;
      walked.in_lines += after->in_lines;
      next.push_back(path);
      next.back().push_back(step);
    }
    EXPECT_EQ(any, !node->ended());
    walked.ends += any ? 0 : 1;
  }
  walked.states = seen.size();
  return walked;
}

TEST(ThreeRanks, TwoReadersOfOneStore) {
  const Walked walked = walk({{{0, 3, 2}, {0, 0, 0}, {0, 0, 0}}});
  EXPECT_GT(walked.states, 500U);
  EXPECT_GT(walked.in_lines, 0U);
  EXPECT_GT(walked.ends, 0U);
}

TEST(ThreeRanks, EachSendsToTheNext) {
  const Walked walked = walk({{{0, 2, 0}, {0, 0, 1}, {1, 0, 0}}});
  EXPECT_GT(walked.states, 500U);
  EXPECT_GT(walked.ends, 0U);
}

TEST(ThreeRanks, OneSendsToBothAndTheyAnswer) {
  const Walked walked = walk({{{0, 1, 1}, {1, 0, 0}, {1, 0, 0}}});
  EXPECT_GT(walked.states, 500U);
  EXPECT_GT(walked.ends, 0U);
}

}  // namespace
}  // namespace stretto
