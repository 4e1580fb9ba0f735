// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_transfer.hpp"

#include <algorithm>

namespace stretto {
namespace {

/// Long messages go in pieces of 32 KiB, which stay in the first-level cache between two that work on them.
/// Shorter ones go in four pieces, if these are worth the 0.1 to 0.2 us that each takes.
std::size_t bytes_of_piece(std::size_t message) {
  // Lines cross at once, and need no room in the store.
  if (message <= Mailbox::lines * Line::room) return Line::room;
  constexpr std::size_t least = std::size_t{4} << 10;
  constexpr std::size_t most = std::size_t{32} << 10;
  return std::clamp(message / 4, least, most);
}

}  // namespace

bool may_cross_memory(const Element& element) {
  constexpr std::ptrdiff_t most_extent = 1024;
  return element.size > 0 && element.extent >= element.true_extent && element.extent <= most_extent &&
         element.true_extent > 0 && element.true_extent <= static_cast<std::ptrdiff_t>(Line::room);
}

bool MemoryTransfer::send(const Element& element, const std::byte* from, bool failed, int& error) {
  bool any = false;
  const std::size_t piece_bytes = bytes_of_piece(element.span(count_));
  while (!ended()) {
    const NodeMemory::Piece piece =
        memory_->reserve(lane_, readers(), failed ? 0 : std::min(element.span(count_ - moved_), piece_bytes));
    if (piece.data == nullptr) break;
    any = true;
    const std::size_t fitting =
        (piece.bytes - std::min(piece.bytes, static_cast<std::size_t>(element.true_extent))) /
            element.distance() +
        1;
    const std::size_t count = failed ? 0 : std::min(fitting, count_ - moved_);
    if (!failed) {
      error = element.copy(element.place(piece.data, count),
                           from + static_cast<std::ptrdiff_t>(moved_) * element.extent, count);
      failed = error != MPI_SUCCESS;
    }
    moved_ += count;
    const bool is_last = failed || moved_ == count_;
    memory_->publish(lane_, readers(), piece, failed ? 0 : element.span(count),
                     (is_last ? PieceHead::last : 0) | (failed ? PieceHead::failed : 0));
    if (is_last) memory_ = nullptr;
  }
  return any;
}

}  // namespace stretto
