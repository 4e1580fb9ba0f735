// SPDX-License-Identifier: Apache-2.0
#include "transport/piece_store.hpp"

#include <algorithm>
#include <mutex>

namespace stretto {

bool PieceStore::is_front_known_to_be_free() const {
  return std::all_of(readers_.begin(),
                     readers_.begin() + static_cast<std::ptrdiff_t>(pieces_.front().readers),
                     [](const Reader& reader) { return reader.is_known_to_have_taken(); });
}

bool PieceStore::is_front_free() const {
  return std::all_of(readers_.begin(),
                     readers_.begin() + static_cast<std::ptrdiff_t>(pieces_.front().readers),
                     [](const Reader& reader) { return reader.has_taken(); });
}

void PieceStore::pop_front() {
  for (std::size_t i = 0; i < pieces_.front().readers; ++i) readers_.pop_front();
  pieces_.pop_front();
}

/// Leaves the next piece where it is, and continues behind it.
void PieceStore::skip_front() {
  const Piece piece = pieces_.front();
  for (std::size_t i = 0; i < piece.readers; ++i) {
    const Reader reader = readers_.front();
    readers_.pop_front();
    readers_.push_back(reader);
  }
  pieces_.pop_front();
  pieces_.push_back(piece);
  next_ = piece.end;
}

void PieceStore::forget(const PairCounts& pair) {
  const std::lock_guard guard(lock_);
  auto reader = readers_.begin();
  for (Piece& piece : pieces_) {
    for (std::size_t left = piece.readers; left > 0; --left) {
      const bool is_its = reader->pair == &pair;
      reader = is_its ? readers_.erase(reader) : reader + 1;
      piece.readers -= is_its ? 1 : 0;
    }
  }
}

std::optional<std::uint32_t> PieceStore::take(std::size_t bytes, std::span<const Reader> readers) {
  constexpr std::size_t step = 2 * cache_line;  // processors fetch lines in pairs
  const std::size_t rounded = (bytes + step - 1) / step * step;
  const std::lock_guard guard(lock_);
  if (rounded > room_) return std::nullopt;
  // At most two pieces are freed for each new one: so few pieces are kept, and no call takes long.
  for (int i = 0; i < 2 && !pieces_.empty() && is_front_known_to_be_free(); ++i) pop_front();
  const auto size = static_cast<std::uint32_t>(rounded);
  // The search goes once around and on to where it began. Then it has looked at everything.
  const std::size_t most_steps = pieces_.size() + 2;
  for (std::size_t i = 0; i < most_steps; ++i) {
    if (next_ + size > room_) {
      while (!pieces_.empty() && pieces_.front().offset >= next_) {
        if (is_front_free()) {
          pop_front();
        } else {
          skip_front();
        }
      }
      next_ = 0;
    }
    const auto is_in_the_way = [&] {
      return !pieces_.empty() && pieces_.front().offset >= next_ && pieces_.front().offset < next_ + size;
    };
    while (is_in_the_way() && is_front_free()) pop_front();
    if (!is_in_the_way()) {
      const std::uint32_t offset = next_;
      next_ += size;
      pieces_.push_back({offset, next_, readers.size()});
      readers_.insert(readers_.end(), readers.begin(), readers.end());
      return offset;
    }
    skip_front();
  }
  return std::nullopt;
}

}  // namespace stretto
