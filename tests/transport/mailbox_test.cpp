// SPDX-License-Identifier: Apache-2.0
#include "transport/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <queue>
#include <set>
#include <string_view>
#include <utility>

namespace stretto {
namespace {

/// Two ranks that send each other pieces. Each step may come at any time. A state is plain memory, so it can
/// be copied, and compared with earlier states.
class TwoRanks {
 public:
  static constexpr int steps = 4;  // kinds of a rank's steps: write, publish, read, take

  TwoRanks(std::uint32_t first_number, std::array<std::uint32_t, 2> pieces) {
    std::memset(static_cast<void*>(this), 0, sizeof *this);
    for (std::size_t i = 0; i < 2; ++i) {
      Rank& rank = ranks_[i];
      rank.to_write = pieces[i];
      rank.to_take = pieces[1 - i];
      // The counts have run for long, and wrap in the middle.
      new (&rank.counts) PairCounts(first_number);
      rank.mailbox.taken.store(first_number);
      for (Line& line : rank.mailbox.line) line.word.store(first_number);
    }
  }
  TwoRanks(const TwoRanks& other) { std::memcpy(static_cast<void*>(this), &other, sizeof *this); }
  TwoRanks& operator=(const TwoRanks&) = delete;

  [[nodiscard]] std::size_t hash() const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(this), sizeof *this});
  }
  [[nodiscard]] bool ended() const { return ranks_[0].has_ended() && ranks_[1].has_ended(); }

  /// Returns whether the step was possible.
  bool step(int which, int kind) {
    Rank& rank = ranks_[static_cast<std::size_t>(which)];
    const Rank& other = ranks_[static_cast<std::size_t>(1 - which)];
    switch (kind) {
      case 0: {
        if (rank.is_written || rank.written == rank.to_write || !rank.counts.may_write(other.mailbox))
          return false;
        // The earlier piece in the line must have been taken.
        EXPECT_LT(rank.written - other.taken, Mailbox::lines);
        const std::uint32_t value = 100 * static_cast<std::uint32_t>(which) + rank.written;
        Line& line = rank.counts.next_line(rank.mailbox);
        std::memcpy(line.data.data(), &value, sizeof value);
        rank.is_written = true;
        return true;
      }
      case 1:
        if (!rank.is_written) return false;
        rank.counts.publish(rank.mailbox);
        rank.is_written = false;
        ++rank.written;
        return true;
      case 2: {
        if (rank.is_read) return false;
        const Line* line = rank.counts.look(other.mailbox);
        if (line == nullptr) return false;
        EXPECT_EQ(value_of(*line), 100 * static_cast<std::uint32_t>(1 - which) + rank.taken);
        rank.is_read = true;
        return true;
      }
      default: {
        if (!rank.is_read) return false;
        // Until the piece is taken, the writer does not change it.
        EXPECT_EQ(value_of(*rank.counts.look(other.mailbox)),
                  100 * static_cast<std::uint32_t>(1 - which) + rank.taken);
        rank.counts.take(rank.mailbox);
        rank.is_read = false;
        ++rank.taken;
        return true;
      }
    }
  }

 private:
  static std::uint32_t value_of(const Line& line) {
    std::uint32_t value = 0;
    std::memcpy(&value, line.data.data(), sizeof value);
    return value;
  }
  struct Rank {
    Mailbox mailbox;
    PairCounts counts;
    std::uint32_t to_write;
    std::uint32_t to_take;
    std::uint32_t written;
    std::uint32_t taken;
    bool is_written;
    bool is_read;
    [[nodiscard]] bool has_ended() const { return written == to_write && taken == to_take; }
  };
  Rank ranks_[2];
};

/// Walks through every order of the steps of both: from each state that can be reached there is a step, until
/// all has arrived. Returns how many states there are.
std::size_t walk(const TwoRanks& start) {
  std::set<std::size_t> seen;
  std::queue<std::unique_ptr<TwoRanks>> next;
  next.push(std::make_unique<TwoRanks>(start));
  int ends = 0;
  while (!next.empty()) {
    const std::unique_ptr<TwoRanks> state = std::move(next.front());
    next.pop();
    bool any = false;
    for (int rank = 0; rank < 2; ++rank) {
      for (int kind = 0; kind < TwoRanks::steps; ++kind) {
        auto after = std::make_unique<TwoRanks>(*state);
        if (!after->step(rank, kind)) continue;
        any = true;
        if (seen.insert(after->hash()).second) next.push(std::move(after));
      }
    }
    EXPECT_EQ(any, !state->ended());
    ends += state->ended() ? 1 : 0;
  }
  EXPECT_GT(ends, 0);
  return seen.size();
}

TEST(Mailbox, AnyOrderOfStepsBringsAllPieces) {
  // More pieces than lines, so that these are used again; and acknowledgements by pieces of the other
  // direction.
  for (const std::uint32_t first_number : {0U, UINT32_MAX - 3}) {
    EXPECT_GT(walk(TwoRanks(first_number, {9, 0})), 100U);
    EXPECT_GT(walk(TwoRanks(first_number, {6, 2})), 1000U);
  }
}

}  // namespace
}  // namespace stretto
