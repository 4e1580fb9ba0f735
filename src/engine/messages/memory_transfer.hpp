// SPDX-License-Identifier: Apache-2.0
// Messages between ranks of a node, through shared memory. They go piece by piece, so that the reader works
// on one piece while the writer fills the next. The reader reduces straight from the writer's store: there is
// no landing buffer, and no copy of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/data/element.hpp"
#include "engine/messages/wrong_length.hpp"
#include "transport/node_memory.hpp"

namespace stretto {

/// Whether elements travel through shared memory. It is the same on all ranks, since they call with the same
/// datatype.
bool may_cross_memory(const Element& element);

/// Whether a line of a mailbox has no room for an element.
inline bool exceeds_line(const Element& element) {
  return element.true_extent > static_cast<std::ptrdiff_t>(Line::room);
}

/// Shorter messages never go past the caches: their reader takes them at once.
constexpr std::size_t least_streamed_bytes = std::size_t{16} << 10;

/// One message on its way.
class MemoryTransfer {
 public:
  /// Whether non-blocking operations write long messages past the caches. They cannot time their messages, so
  /// they do what direct calls have found to be better.
  static inline std::atomic<bool> streams_in_background{false};

  MemoryTransfer() = default;
  MemoryTransfer(NodeMemory& memory, int lane, int place, std::size_t count)
      : memory_(&memory), lane_(lane), place_(place), count_(count) {}
  /// One message for several readers, which must outlive it.
  MemoryTransfer(NodeMemory& memory, int lane, std::span<const int> readers, std::size_t count)
      : memory_(&memory), lane_(lane), readers_(readers), count_(count) {}

  [[nodiscard]] bool ended() const { return memory_ == nullptr; }
  /// Returns the length of the message if it is not the expected one.
  [[nodiscard]] const std::optional<WrongLength>& wrong_length() const { return wrong_; }

  /// Writes as many pieces as there is room for. `from`: the elements. If `failed`, the message says so in
  /// their place. `streams`: writes past the caches. Returns whether anything was written. Writes an MPI
  /// error code to `error` if there is one.
  bool send(const Element& element, const std::byte* from, bool streams, bool failed, int& error);

  /// Reads as many pieces as are there. For each, calls work(first, count, data) with elements of the message
  /// and their address for MPI; it returns an error code. Returns whether anything was read. Sets `error` if
  /// the message has failed or does not have the expected length.
  template <typename Work>
  bool receive(const Element& element, const Work& work, int& error) {
    bool any = false;
    while (!ended()) {
      const NodeMemory::Arrival piece = memory_->look(lane_, place_);
      if (piece.data == nullptr) break;
      any = true;
      if (!piece.has_failed && exceeds_line(element) && piece.bytes <= Line::room) {
        if (error == MPI_SUCCESS) error = join(element, piece, work);
        memory_->take(lane_, place_);
        if (piece.is_last) memory_ = nullptr;
        continue;
      }
      // After an error, pieces are only taken, so that their writer can end.
      const std::size_t count = (piece.bytes + element.distance() - 1) / element.distance();
      const bool fits = count <= count_ - moved_ && element.span(count) == piece.bytes;
      if (piece.has_failed) error = mpi.err_other;
      if (error == MPI_SUCCESS && !fits) error = refuse(element, piece.bytes, !piece.is_last);
      if (error == MPI_SUCCESS) {
        error = work(moved_, count, element.place(const_cast<std::byte*>(piece.data), count));
        moved_ += count;
        if (piece.is_last && moved_ != count_) error = refuse(element, 0, false);
      }
      memory_->take(lane_, place_);
      if (piece.is_last) memory_ = nullptr;
    }
    return any;
  }

 private:
  int refuse(const Element& element, std::size_t more, bool goes_on) {
    wrong_ = {.peer = place_,
              .expected = element.span(count_),
              .arrived = element.span(moved_) + more,
              .goes_on = goes_on};
    return mpi.err_other;
  }

  [[nodiscard]] std::span<const int> readers() const {
    return readers_.empty() ? std::span(&place_, 1) : readers_;
  }

  /// Writes the next part of an element that is longer than a line into a line. Returns the number of bytes,
  /// or 0 if copying has failed.
  std::size_t write_part(const Element& element, const std::byte* from, const NodeMemory::Piece& piece,
                         int& error);

  /// Takes a part of an element that is longer than a line. Calls work() when the last part has come.
  template <typename Work>
  int join(const Element& element, const NodeMemory::Arrival& part, const Work& work) {
    if (!parted_) parted_ = std::make_unique<Parted>(element.span(1));
    if (moved_ == count_ || part.bytes > parted_->rest()) return mpi.err_other;
    std::copy_n(part.data, part.bytes, parted_->next());
    parted_->moved += part.bytes;
    const bool is_whole = parted_->rest() == 0;
    if (part.is_last && !(is_whole && moved_ + 1 == count_)) return mpi.err_other;
    if (!is_whole) return MPI_SUCCESS;
    parted_->moved = 0;
    return work(moved_++, std::size_t{1}, element.place(parted_->bytes.data(), 1));
  }

  NodeMemory* memory_ = nullptr;  // nullptr: it has ended
  int lane_ = 0;
  int place_ = 0;
  std::span<const int> readers_;  // empty: `place_`
  std::size_t count_ = 0;
  std::size_t moved_ = 0;
  std::optional<WrongLength> wrong_;
  /// An element that goes through several lines.
  struct Parted {
    explicit Parted(std::size_t span) : bytes(span) {}
    [[nodiscard]] std::size_t rest() const { return bytes.size() - moved; }
    [[nodiscard]] std::byte* next() { return bytes.data() + moved; }

    std::vector<std::byte> bytes;
    std::size_t moved = 0;  // bytes that have been sent, or have come
  };
  std::unique_ptr<Parted> parted_;  // made at the first such element: short messages must not pay for it
};

}  // namespace stretto
