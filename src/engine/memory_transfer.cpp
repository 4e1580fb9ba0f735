// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_transfer.hpp"

#include <algorithm>

#include "transport/piece_size.hpp"

namespace stretto {
bool may_cross_memory(const Element& element) {
  // A piece holds one at least.
  return element.size > 0 && element.extent >= element.true_extent && element.true_extent > 0 &&
         element.extent <= static_cast<std::ptrdiff_t>(least_piece_bytes);
}

bool MemoryTransfer::send(const Element& element, const std::byte* from, bool streams, bool failed,
                          int& error) {
  bool any = false;
  const std::size_t piece_bytes = bytes_of_piece(element.span(count_));
  while (!ended()) {
    const std::size_t rest = parts_.empty() ? element.span(count_ - moved_) : parts_.size() - parts_sent_;
    const std::size_t most = parts_.empty() ? piece_bytes : Line::room;
    const NodeMemory::Piece piece = memory_->reserve(lane_, readers(), failed ? 0 : std::min(rest, most));
    if (piece.data == nullptr) break;
    any = true;
    std::size_t bytes = 0;
    if (!failed && piece.offset == PieceHead::in_line && exceeds_line(element)) {
      bytes = write_part(element, from, piece, error);
    } else if (!failed && moved_ < count_) {
      const std::size_t count =
          (piece.bytes - static_cast<std::size_t>(element.true_extent)) / element.distance() + 1;
      std::byte* into = element.place(piece.data, count);
      const std::byte* next = from + static_cast<std::ptrdiff_t>(moved_) * element.extent;
      error = streams ? element.stream(into, next, count) : element.copy(into, next, count);
      bytes = element.span(count);
      moved_ += count;
    }
    failed = failed || error != MPI_SUCCESS;
    const bool is_last = failed || moved_ == count_;
    memory_->publish(lane_, readers(), piece, failed ? 0 : bytes,
                     (is_last ? PieceHead::last : 0) | (failed ? PieceHead::failed : 0));
    if (is_last) memory_ = nullptr;
  }
  return any;
}

std::size_t MemoryTransfer::write_part(const Element& element, const std::byte* from,
                                       const NodeMemory::Piece& piece, int& error) {
  if (parts_.empty()) {
    parts_.resize(element.span(1));
    const std::byte* next = from + static_cast<std::ptrdiff_t>(moved_) * element.extent;
    error = element.copy(element.place(parts_.data(), 1), next, 1);
    if (error != MPI_SUCCESS) return 0;
  }
  const std::size_t bytes = std::min(piece.bytes, parts_.size() - parts_sent_);
  std::copy_n(parts_.data() + parts_sent_, bytes, piece.data);
  parts_sent_ += bytes;
  if (parts_sent_ == parts_.size()) {
    parts_.clear();
    parts_sent_ = 0;
    ++moved_;
  }
  return bytes;
}

}  // namespace stretto
