// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_transfer.hpp"

#include <algorithm>

#include "transport/piece_size.hpp"

namespace stretto {
bool may_cross_memory(const Element& element) {
  constexpr std::ptrdiff_t most_extent = 1024;
  return element.size > 0 && element.extent >= element.true_extent && element.extent <= most_extent &&
         element.true_extent > 0 && element.true_extent <= static_cast<std::ptrdiff_t>(Line::room);
}

bool MemoryTransfer::send(const Element& element, const std::byte* from, bool streams, bool failed,
                          int& error) {
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
      std::byte* into = element.place(piece.data, count);
      const std::byte* rest = from + static_cast<std::ptrdiff_t>(moved_) * element.extent;
      error = streams ? element.stream(into, rest, count) : element.copy(into, rest, count);
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
