// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/scratch.hpp"

namespace stretto {

enum class Buffer : std::uint8_t { input, output, scratch };

/// Some blocks of one buffer: mostly a run of consecutive ones. The operands of a copy may also be *strided*:
/// every `step` blocks a run of `run` blocks, `count` in all. A negative step goes backwards.
struct Slice {
  Buffer buffer = Buffer::input;
  int first = 0;
  int count = 0;
  int run = 0;  // 0: the slice is one run
  int step = 0;

  [[nodiscard]] bool is_strided() const { return run != 0; }
  /// The number of the index-th block in its buffer.
  [[nodiscard]] int block(int index) const {
    return is_strided() ? first + index / run * step + index % run : first + index;
  }

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
/// Every `step` blocks a run of `run` blocks, `count` blocks in all.
constexpr Slice strided(Slice from, int count, int run, int step) {
  return {from.buffer, from.first, count, run, step};
}

/// The side of the operator on which an arriving operand is. The order matters for operations that do not
/// commute, and for the bits of those that do.
enum class Side : std::uint8_t { left, right };

enum class Kind : std::uint8_t { send, recv, recv_reduce, copy, reduce };

/// One action of a rank. The fields that each kind uses:
///
///   send         left → peer
///   recv         into ← peer
///   recv_reduce  into ← left op right; one operand arrives from peer (on the side `arriving`), the other is
///                `left` or `right`, a slice of this rank
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
  /// The operand of a recv_reduce that this rank already has.
  [[nodiscard]] const Slice& with() const { return arriving == Side::left ? right : left; }
};

/// Embeds the schedule of a part into that of the whole: the rank of the whole for each rank of the part,
/// the buffers of its input and output, and the blocks of the whole for each of its blocks.
struct Embedding {
  /// [rank of the part] Their order must be that of the lowest contributions which they bring: then an
  /// operand on the left in the part is also on the left in the whole. Empty: rank i is rank i.
  std::span<const int> ranks = {};
  /// The buffers of the whole that are the part's input and output: input, output, or scratch from
  /// `input_scratch` or `output_scratch` on (as many scratch blocks as the blocks of the part stand for).
  Buffer input = Buffer::input;
  Buffer output = Buffer::output;
  int input_scratch = 0;
  int output_scratch = 0;
  /// Block i of the part is blocks borders[i] … borders[i+1]-1 of the whole. Empty: block i is block i.
  std::span<const int> borders = {};
  /// Whether all blocks have one length (alltoall): then scratch may hold more blocks than there are, and all
  /// of it is shaped like block 0.
  bool all_alike = false;
};

/// The actions of one rank in a collective, in rounds. All actions of a round may proceed at once: none reads
/// or writes a block that another one of the round writes. A round ends when all of its actions have ended.
///
/// The message is divided into `blocks` blocks. Input and output hold blocks 0 … blocks-1. Scratch block i
/// is as large as block `scratch_shape()[i]`, and only this rank uses it.
class Schedule {
 public:
  Schedule(int ranks, int rank, int blocks) : ranks_(ranks), rank_(rank), blocks_(blocks) {}

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] const ScratchShape& scratch_shape() const { return scratch_shape_; }
  [[nodiscard]] int rounds() const { return static_cast<int>(round_ends_.size()); }
  [[nodiscard]] std::span<const Action> round(int index) const;
  /// The actions of all rounds, one after the other.
  [[nodiscard]] std::span<const Action> actions() const { return actions_; }

  /// The most messages of any round, and the most blocks that the recv_reduce actions of any round receive.
  /// An executor allocates this many requests and landing buffers.
  [[nodiscard]] int widest_round() const { return widest_round_; }
  [[nodiscard]] int most_landing_blocks() const { return most_landing_blocks_; }
  /// The memory of its actions, rounds and scratch shape.
  [[nodiscard]] std::size_t memory_bytes() const {
    return actions_.size() * sizeof(Action) + round_ends_.size() * sizeof(std::uint32_t) +
           scratch_shape_.memory_bytes();
  }

  // Building. Actions go into the open round; end_round() closes it. An empty round is dropped.
  Schedule& send(Slice from, int peer);
  Schedule& recv(Slice into, int peer);
  /// into ← arriving op with, or with op arriving, as `arriving` says.
  Schedule& recv_reduce(Slice into, Slice with, int peer, Side arriving);
  Schedule& copy(Slice into, Slice from);
  /// Copies block from[i] of one buffer to block into[i] of another for each i, by few strided copies if the
  /// numbers are regular. No block is named twice in `into`.
  Schedule& copy_each(Buffer into_buffer, std::span<const int> into, Buffer from_buffer,
                      std::span<const int> from);
  Schedule& reduce(Slice into, Slice left, Slice right);
  Schedule& end_round();
  /// Adds a scratch block as large as block `like`; returns its number.
  int add_scratch(int like);
  /// Adds `count` scratch blocks, as large as blocks first, first + 1, …; returns the number of the first
  /// one.
  int add_scratch(int first, int count);
  /// Returns the way back: the last round comes first, what was sent is received, and input and output change
  /// places. Only for schedules that do nothing but move blocks, each block to one place.
  [[nodiscard]] Schedule reversed() const;
  /// Appends the rounds of `part`, this rank's schedule in a collective among some of the ranks.
  Schedule& append(const Schedule& part, const Embedding& embedding);

 private:
  int ranks_;
  int rank_;
  int blocks_;
  int widest_round_ = 0;
  int most_landing_blocks_ = 0;
  ScratchShape scratch_shape_;
  std::vector<Action> actions_;
  std::vector<std::uint32_t> round_ends_;
};

/// Calls visit(into, from) for the longest pairs of plain runs of which a copy consists.
template <typename Visit>
void for_each_run(const Slice& into, const Slice& from, Visit visit) {
  const auto run_at = [](const Slice& slice, int index) {
    const int left = slice.count - index;
    return slice.is_strided() && slice.run - index % slice.run < left ? slice.run - index % slice.run : left;
  };
  for (int index = 0; index < into.count;) {
    const int one = run_at(into, index);
    const int other = run_at(from, index);
    const int count = one < other ? one : other;
    visit(Slice{into.buffer, into.block(index), count}, Slice{from.buffer, from.block(index), count});
    index += count;
  }
}

}  // namespace stretto
