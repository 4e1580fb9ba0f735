// SPDX-License-Identifier: Apache-2.0
#include "transport/slot_pool.hpp"

#include <algorithm>
#include <array>
#include <mutex>

namespace stretto {

SlotPool::SlotPool(std::size_t bytes) {
  std::size_t offset = 0;
  const auto cut = [&](std::deque<Place>& places, std::size_t slot_bytes, std::size_t end) {
    for (; offset + slot_bytes <= end; offset += slot_bytes) {
      places.push_back({{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(slot_bytes)}});
    }
  };
  cut(small_, small_bytes, bytes / 5 / large_bytes * large_bytes);
  cut(large_, large_bytes, bytes);
}

SlotPool::Slot SlotPool::take(std::size_t bytes, const std::atomic<std::uint32_t>& taken,
                              std::uint32_t number) {
  const std::lock_guard guard(lock_);
  const bool is_small = bytes <= small_bytes;
  for (std::deque<Place>* places : is_small ? std::array{&small_, &large_} : std::array{&large_, &small_}) {
    // Mostly the first one is free.
    const auto found = std::ranges::find_if(*places, &Place::is_free);
    if (found == places->end()) continue;
    const Slot slot = found->slot;
    places->erase(found);
    places->push_back({slot, &taken, number});
    return slot;
  }
  return {};
}

}  // namespace stretto
