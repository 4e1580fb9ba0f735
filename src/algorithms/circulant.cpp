// SPDX-License-Identifier: Apache-2.0
#include "algorithms/circulant.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace stretto {
namespace {

/// A round: of the sums at distances 0 … held-1, those from half on go to the rank `half` places ahead.
struct Halving {
  int held;
  int half;

  static Halving of(int held) { return {.held = held, .half = (held + 1) / 2}; }
  [[nodiscard]] int sent() const { return held - half; }
};

/// A run of the sums that a rank receives, for which it has one order: the lowest rank's operand stands on
/// the left.
struct Run {
  int first;
  int count;
  Side arriving;
};

/// Tells, round by round, which of the sums that arrive hold a lower rank than those they are added to.
///
/// The sum at distance d holds the contributions of the ranks D-d places back, for each D that ends at d if
/// it loses `half` in every round in which it is not below. What goes past rank 0 comes from higher ranks. So
/// the lowest rank is that of the greatest D with D-d <= rank. This D is found as the digits of a number are:
/// it loses `half` in a round if there is room for it, since then D = d + half would do already. What room is
/// left depends on d, but is the same, or falls by one with each d, over a few pieces.
class LowestRanks {
 public:
  explicit LowestRanks(int rank) : pieces_{{.first = 0, .room = rank, .falls = false}} {}

  /// Returns the runs of the sums that arrive in the next round.
  std::vector<Run> take(const Halving& round) {
    std::vector<Run> runs;
    std::vector<Piece> next;
    for (std::size_t i = 0; i < pieces_.size() && pieces_[i].first < round.sent(); ++i) {
      const Piece& piece = pieces_[i];
      const int end = i + 1 < pieces_.size() ? std::min(pieces_[i + 1].first, round.sent()) : round.sent();
      // The sums up to here hold a lower rank in what arrives.
      int border = piece.room >= round.half ? end : piece.first;
      if (piece.falls) border = std::clamp(piece.room - round.half + 1, piece.first, end);
      const auto add = [&](int first, int last, Side arriving, int room, int most) {
        if (first == last) return;
        if (runs.empty() || runs.back().arriving != arriving) runs.push_back({first, 0, arriving});
        runs.back().count += last - first;
        add_below(next, {first, room, piece.falls}, last, most);
      };
      add(piece.first, border, Side::left, piece.room - round.half, round.sent() - 1);
      add(border, end, Side::right, piece.room, round.half - 1);
    }
    pieces_ = std::move(next);
    return runs;
  }

 private:
  /// Distances from `first` on with the same room, or, if it falls, with `room` less their number.
  struct Piece {
    int first;
    int room;
    bool falls;
  };

  /// Adds a piece that ends at `end`, with no more room than `most` less the distance.
  static void add_below(std::vector<Piece>& pieces, Piece piece, int end, int most) {
    if (piece.falls) {
      piece.room = std::min(piece.room, most);
      pieces.push_back(piece);
      return;
    }
    const int falls_from = std::clamp(most - piece.room, piece.first, end);
    if (falls_from > piece.first) pieces.push_back(piece);
    if (falls_from < end) pieces.push_back({falls_from, most, true});
  }

  std::vector<Piece> pieces_;
};

/// The runs of the sums that a rank receives in a round.
std::vector<Run> received_by(int rank, int ranks, const Halving& round) {
  LowestRanks its(rank);
  Halving earlier = Halving::of(ranks);
  for (; earlier.held > round.held; earlier = Halving::of(earlier.half)) its.take(earlier);
  return its.take(round);
}

}  // namespace

void append_circulant_reduce_scatter(Schedule& schedule, Slice all) {
  const int p = schedule.ranks();
  const int rank = schedule.rank();
  const auto sum = [&](int first, int count) { return Slice{all.buffer, all.first + first, count}; };
  // A run that goes past the last block is two slices, and so two messages, for both of its ends.
  const auto for_each_slice = [&](int distance, int count, auto visit) {
    const int first = (rank + distance) % p;
    const int before_the_end = std::min(count, p - first);
    visit(first, before_the_end);
    if (count > before_the_end) visit(0, count - before_the_end);
  };
  LowestRanks own(rank);
  for (Halving round = Halving::of(p); round.held > 1; round = Halving::of(round.half)) {
    const bool is_first = round.held == p;
    const int to = (rank + round.half) % p;
    const int from = (rank + p - round.half) % p;
    for (const Run& run : received_by(to, p, round)) {
      for_each_slice(round.half + run.first, run.count, [&](int first, int count) {
        schedule.send(is_first ? input(first, count) : sum(first, count), to);
      });
    }
    for (const Run& run : own.take(round)) {
      for_each_slice(run.first, run.count, [&](int first, int count) {
        const Slice with = is_first ? input(first, count) : sum(first, count);
        schedule.recv_reduce(sum(first, count), with, from, run.arriving);
      });
    }
    // Of an odd number, the last one stays as it is. Later rounds read all where the sums are.
    if (is_first && round.sent() < round.half) {
      const int alone = (rank + round.half - 1) % p;
      schedule.copy(sum(alone, 1), input(alone));
    }
    schedule.end_round();
  }
}

}  // namespace stretto
