// SPDX-License-Identifier: Apache-2.0
// The protocol by which two ranks of a node pass messages through memory that both see. A message goes in
// pieces, and all pieces of one pair and lane are numbered in the order in which they are written, from 1 on.
//
//   The writer of piece n waits until the reader has taken piece n - lines. It writes the piece into line
//   n mod lines of its mailbox for the reader, and the number n last, with release order.
//   The reader waits until that line has the number n, read with acquire order: then it sees the piece. It
//   counts the piece as taken, with release order, when it has read the last byte of it.
//
// Each word has one writer, which owns the memory; the reader's mapping of it is read-only. Both sides count
// by themselves, so nothing is searched, matched or reset: the n-th piece that a rank writes is the n-th that
// the other one reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stretto {

constexpr std::size_t cache_line = 64;

/// The description of a line's piece, besides its number.
struct PieceHead {
  static constexpr std::uint32_t in_line = UINT32_MAX;
  std::uint32_t offset = in_line;  // where its bytes begin in the writer's store
  std::uint32_t bytes = 0;
  static constexpr std::uint32_t most_bytes = (1U << 24) - 1;
  // These flags share a word with the length, so that a line keeps 48 bytes for the piece.
  static constexpr std::uint32_t last = 1U << 24;    // the last piece of its message
  static constexpr std::uint32_t failed = 1U << 25;  // the writer's call has failed; there are no bytes

  [[nodiscard]] std::uint32_t size() const { return bytes & most_bytes; }
  [[nodiscard]] bool is_last() const { return (bytes & last) != 0; }
  [[nodiscard]] bool has_failed() const { return (bytes & failed) != 0; }
};

/// A piece of up to `room` bytes lies in the line itself: number, head and data cross in one transfer.
struct alignas(cache_line) Line {
  static constexpr std::size_t room = 48;
  /// The number of the piece in the lower half. In the upper half, how many pieces of the opposite direction
  /// the writer has taken: a pair that sends both ways needs no other acknowledgement.
  std::atomic<std::uint64_t> word;
  PieceHead head;
  std::array<std::byte, room> data;
};
static_assert(sizeof(Line) == cache_line);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// One rank's part of a pair and lane.
struct Mailbox {
  static constexpr std::uint32_t lines = 4;
  std::array<Line, lines> line;
  /// The number of the other rank's pieces that have been taken.
  alignas(cache_line) std::atomic<std::uint32_t> taken;
};

/// Both ends of a pair and lane as one rank counts them. One thread at a time uses it; any thread may call
/// has_taken().
class PairCounts {
 public:
  PairCounts() = default;
  /// Both ends must begin with the same number.
  explicit PairCounts(std::uint32_t first) : written_(first), known_taken_(first), read_(first) {}

  /// Begins anew, with an empty mailbox. The other rank does so, too, before one of them uses the pair again.
  void begin_anew(Mailbox& mine) {
    for (Line& line : mine.line) line.word.store(0, std::memory_order_relaxed);
    mine.taken.store(0, std::memory_order_relaxed);
    written_ = read_ = 0;
    known_taken_.store(0, std::memory_order_release);
  }

  /// Whether a line is free for the next piece. `theirs` is what the other rank writes.
  bool may_write(const Mailbox& theirs) { return has_taken(theirs, written_ + 1 - Mailbox::lines); }
  /// Whether the other rank has taken piece `number`, which was one of the last 2^31.
  bool has_taken(const Mailbox& theirs, std::uint32_t number) {
    if (knows_taken(number)) return true;
    know_taken(theirs.taken.load(std::memory_order_acquire));
    return knows_taken(number);
  }
  /// Whether this rank already knows that piece `number` has been taken. Does not read the other rank's
  /// memory.
  [[nodiscard]] bool knows_taken(std::uint32_t number) const {
    return static_cast<std::int32_t>(known_taken_.load(std::memory_order_acquire) - number) >= 0;
  }
  /// Returns the line for the next piece. Only after may_write().
  [[nodiscard]] Line& next_line(Mailbox& mine) const { return mine.line[(written_ + 1) % Mailbox::lines]; }
  /// Shows the next piece, whose data and head are written.
  void publish(Mailbox& mine) {
    Line& line = next_line(mine);
    ++written_;
    line.word.store(written_ | (std::uint64_t{read_} << 32), std::memory_order_release);
  }
  [[nodiscard]] std::uint32_t written() const { return written_; }

  /// Returns the line of the next piece that arrives, or nullptr while it is not there.
  const Line* look(const Mailbox& theirs) {
    const Line& line = theirs.line[(read_ + 1) % Mailbox::lines];
    const std::uint64_t word = line.word.load(std::memory_order_acquire);
    if (static_cast<std::uint32_t>(word) != read_ + 1) return nullptr;
    know_taken(static_cast<std::uint32_t>(word >> 32));
    return &line;
  }
  /// To be called when all of that piece has been read.
  void take(Mailbox& mine) { mine.taken.store(++read_, std::memory_order_release); }

 private:
  /// Counts wrap, and a value that was read earlier may come here later. (If two threads set the value at
  /// once, the lower one may stay. It is still true, only not the newest.)
  void know_taken(std::uint32_t taken) {
    const std::uint32_t known = known_taken_.load(std::memory_order_relaxed);
    if (static_cast<std::int32_t>(taken - known) > 0) known_taken_.store(taken, std::memory_order_release);
  }

  std::uint32_t written_ = 0;
  std::atomic<std::uint32_t> known_taken_ = 0;
  std::uint32_t read_ = 0;
};

}  // namespace stretto
