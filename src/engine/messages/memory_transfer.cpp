// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/memory_transfer.hpp"

#include <algorithm>

#include "transport/piece_size.hpp"

namespace stretto {
bool may_cross_memory(const Element& element) {
  // A piece holds at least one element.
  return element.size > 0 && element.extent >= element.true_extent && element.true_extent > 0 &&
         element.extent <= static_cast<std::ptrdiff_t>(least_piece_bytes);
}

bool MemoryTransfer::send(const Element& element, const std::byte* from, bool streams, bool failed,
                          int& error) {
  bool any = false;
  const std::size_t piece_bytes = bytes_of_piece(element.span(count_));
  while (!ended()) {
    const bool is_amid_element = parted_ && parted_->moved > 0;
    const std::size_t wanted = is_amid_element ? std::min(parted_->rest(), Line::room)
                                               : std::min(element.span(count_ - moved_), piece_bytes);
    const NodeMemory::Piece piece = memory_->reserve(lane_, readers(), failed ? 0 : wanted);
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
  if (!parted_) parted_ = std::make_unique<Parted>(element.span(1));
  if (parted_->moved == 0) {
    const std::byte* next = from + static_cast<std::ptrdiff_t>(moved_) * element.extent;
    error = element.copy(element.place(parted_->bytes.data(), 1), next, 1);
    if (error != MPI_SUCCESS) return 0;
  }
  const std::size_t bytes = std::min(piece.bytes, parted_->rest());
  std::copy_n(parted_->next(), bytes, piece.data);
  parted_->moved += bytes;
  if (parted_->rest() == 0) {
    parted_->moved = 0;
    ++moved_;
  }
  return bytes;
}

}  // namespace stretto
