// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "threads/spin_lock.hpp"
#include "transport/mailbox.hpp"

namespace stretto {

/// Where the pieces of a rank wait until their readers have taken them. Thread-safe.
///
/// Pieces are laid one behind the other, from the beginning again at the end, so that each byte is written
/// again as late as possible: there is more room than one core's second-level cache. A core that writes a
/// line which another one still has in such a cache must wait for that one to give it up. On a Zen 4, copies
/// into four slots of 32 KiB by turns went at 2 to 9 GB/s, and into 64, which both cores have long lost to
/// the cache that they share, at 38.
class PieceStore {
 public:
  explicit PieceStore(std::size_t bytes) : room_(static_cast<std::uint32_t>(bytes)) {}

  /// Returns the offset of room for so many bytes, or nothing if there is none. The room is free again when
  /// the reader, which counts in `theirs`, has taken piece `number` of `pair`. Both must outlive the store.
  std::optional<std::uint32_t> take(std::size_t bytes, PairCounts& pair, const Mailbox& theirs,
                                    std::uint32_t number);

 private:
  struct Piece {
    std::uint32_t offset;
    std::uint32_t end;
    std::uint32_t number;
    PairCounts* pair;
    const Mailbox* theirs;
  };
  void skip_front();

  SpinLock lock_;
  std::uint32_t room_;
  std::uint32_t next_ = 0;    // where the next piece begins
  std::deque<Piece> pieces_;  // as they lie from `next_` on, once around
};

}  // namespace stretto
