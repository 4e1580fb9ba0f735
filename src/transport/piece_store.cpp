// SPDX-License-Identifier: Apache-2.0
#include "transport/piece_store.hpp"

#include <mutex>

namespace stretto {

/// Leaves the next piece where it is, and goes on behind it.
void PieceStore::skip_front() {
  const Piece piece = pieces_.front();
  pieces_.pop_front();
  pieces_.push_back(piece);
  next_ = piece.end;
}

std::optional<std::uint32_t> PieceStore::take(std::size_t bytes, PairCounts& pair, const Mailbox& theirs,
                                              std::uint32_t number) {
  constexpr std::size_t step = 2 * cache_line;  // processors fetch lines in pairs
  const std::size_t rounded = (bytes + step - 1) / step * step;
  const std::lock_guard guard(lock_);
  if (rounded > room_) return std::nullopt;
  // Two at most for each that comes: so few are kept, and no call takes long.
  for (int i = 0; i < 2 && !pieces_.empty() && pieces_.front().pair->knows_taken(pieces_.front().number);
       ++i) {
    pieces_.pop_front();
  }
  const auto size = static_cast<std::uint32_t>(rounded);
  // Once around, and on to where it began: then everything has been looked at.
  const std::size_t most_steps = pieces_.size() + 2;
  for (std::size_t i = 0; i < most_steps; ++i) {
    if (next_ + size > room_) {
      while (!pieces_.empty() && pieces_.front().offset >= next_) {
        if (pieces_.front().pair->has_taken(*pieces_.front().theirs, pieces_.front().number)) {
          pieces_.pop_front();
        } else {
          skip_front();
        }
      }
      next_ = 0;
    }
    const auto is_in_the_way = [&] {
      return !pieces_.empty() && pieces_.front().offset >= next_ && pieces_.front().offset < next_ + size;
    };
    while (is_in_the_way() &&
           pieces_.front().pair->has_taken(*pieces_.front().theirs, pieces_.front().number)) {
      pieces_.pop_front();
    }
    if (!is_in_the_way()) {
      const std::uint32_t offset = next_;
      next_ += size;
      pieces_.push_back({offset, next_, number, &pair, &theirs});
      return offset;
    }
    skip_front();
  }
  return std::nullopt;
}

}  // namespace stretto
