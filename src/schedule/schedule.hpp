// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto {

enum class Buffer : std::uint8_t { input, output, scratch };

/// A run of consecutive blocks of one buffer.
struct Slice {
  Buffer buffer = Buffer::input;
  int first = 0;
  int count = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};

constexpr Slice input(int first, int count = 1) {
  return {Buffer::input, first, count};
}
constexpr Slice output(int first, int count = 1) {
  return {Buffer::output, first, count};
}
constexpr Slice scratch(int first, int count = 1) {
  return {Buffer::scratch, first, count};
}

/// The side of the operator on which the operand that arrives stands: the order matters for operations that
/// do not commute, and for the bits of those that do.
enum class Side : std::uint8_t { left, right };

enum class Kind : std::uint8_t { send, recv, recv_reduce, copy, reduce };

/// One thing that a rank does. Which fields mean something:
///   send         left → peer
///   recv         into ← peer
///   recv_reduce  into ← left op right, of which one is what arrives from peer (on `arriving`), the other
///   `left` or
///                `right` as a slice of this rank
///   copy         into ← left
///   reduce       into ← left op right; `into` may be one of the two
struct Action {
  Kind kind = Kind::send;
  Side arriving = Side::right;
  int peer = -1;
  Slice into;
  Slice left;
  Slice right;

  [[nodiscard]] bool communicates() const { return peer >= 0; }
  [[nodiscard]] bool receives() const { return kind == Kind::recv || kind == Kind::recv_reduce; }
  /// The operand of a recv_reduce that this rank already holds.
  [[nodiscard]] const Slice& with() const { return arriving == Side::left ? right : left; }
};

/// How the schedule of a part becomes a piece of the schedule of the whole: which rank of the whole each rank
/// of the part is, where the part finds its input, and which blocks of the whole each of its blocks stands
/// for.
struct Embedding {
  /// [rank of the part] The lowest rank of the whole whose contribution it brings must grow with its number,
  /// so that what stands on the left in the part does so in the whole.
  std::span<const int> ranks;
  /// Where the whole keeps what is the part's input and output: input, output, or scratch at `input_scratch`
  /// or `output_scratch` (as many scratch blocks as the part's blocks stand for).
  Buffer input = Buffer::input;
  Buffer output = Buffer::output;
  int input_scratch = 0;
  int output_scratch = 0;
  /// Block i of the part is blocks borders[i] … borders[i+1]-1 of the whole. Empty: block i is block i.
  std::span<const int> borders = {};
};

/// What one rank does in a collective: rounds of actions. The actions of a round may all proceed at once;
/// none reads or writes what another of its round writes. A round ends when its actions have ended.
///
/// The message is cut into `blocks` blocks. Input and output hold blocks 0 … blocks-1; scratch block i is as
/// large as block `scratch_shape[i]`, and is this rank's own.
class Schedule {
 public:
  Schedule(int ranks, int rank, int blocks) : ranks_(ranks), rank_(rank), blocks_(blocks) {}

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<int>& scratch_shape() const { return scratch_shape_; }
  [[nodiscard]] int rounds() const { return static_cast<int>(round_ends_.size()); }
  [[nodiscard]] std::span<const Action> round(int index) const;
  /// Those of all rounds, one after the other.
  [[nodiscard]] std::span<const Action> actions() const { return actions_; }

  /// Most actions of any round, and most blocks that the recv_reduce actions of any round take in: what an
  /// executor sets aside for requests and landing buffers.
  [[nodiscard]] int widest_round() const { return widest_round_; }
  [[nodiscard]] int most_landing_blocks() const { return most_landing_blocks_; }
  /// What its actions, rounds and scratch shape take.
  [[nodiscard]] std::size_t memory_bytes() const {
    return actions_.size() * sizeof(Action) + round_ends_.size() * sizeof(std::uint32_t) +
           scratch_shape_.size() * sizeof(int);
  }

  // Building. Actions go into the round that is open; end_round() closes it (an empty one leaves no trace).
  Schedule& send(Slice from, int peer);
  Schedule& recv(Slice into, int peer);
  /// into ← arriving op with, or with op arriving, as `arriving` says.
  Schedule& recv_reduce(Slice into, Slice with, int peer, Side arriving);
  Schedule& copy(Slice into, Slice from);
  Schedule& reduce(Slice into, Slice left, Slice right);
  Schedule& end_round();
  /// Adds a scratch block as large as block `like`; returns its number.
  int add_scratch(int like);
  /// Adds `count` of them, as large as blocks first, first + 1, …; returns the first one's number.
  int add_scratch(int first, int count);
  /// Appends the rounds of `part`, this rank's schedule in a collective among some of the ranks.
  Schedule& append(const Schedule& part, const Embedding& embedding);

 private:
  int ranks_;
  int rank_;
  int blocks_;
  int widest_round_ = 0;
  int most_landing_blocks_ = 0;
  std::vector<int> scratch_shape_;
  std::vector<Action> actions_;
  std::vector<std::uint32_t> round_ends_;
};

}  // namespace stretto
