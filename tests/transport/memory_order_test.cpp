// SPDX-License-Identifier: Apache-2.0
// The protocol of transport/mailbox.hpp under the memory order of ARM, by a model, in every order of events.
//
// The header is compiled once more, with atomics whose stores wait in a buffer of their rank. A store may
// become visible before an earlier store to another place, as on ARM, unless it has release order: then it
// comes after all earlier stores. The data of a piece are plain stores. A processor may also read the data
// before the number of their piece, or after it has published that it has taken them, unless acquire or
// release order forbids that.
//
// The test would prove nothing if the model allowed too few orders of events. So with any of these memory
// orders weakened, it must find an order of events in which the reader gets wrong data.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace {

/// Which orders the modelled processor ignores.
struct Weakened {
  bool release_of_number = false;
  bool release_of_taken = false;
  bool acquire_of_number = false;
};

/// A store, and whether it must come after the stores before it.
struct Store {
  void* place;
  std::uint64_t value;
  std::uint32_t bytes;
  bool is_release;
};

/// The stores of one rank that others do not see yet.
struct StoreBuffer {
  static constexpr std::size_t most = 12;
  std::array<Store, most> stores;
  std::size_t count;

  void add(const Store& store) { stores.at(count++) = store; }
  [[nodiscard]] bool may_leave(std::size_t i) const {
    if (stores.at(i).is_release && i > 0) return false;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (stores.at(earlier).place == stores.at(i).place) return false;
    }
    return true;
  }
  void leave(std::size_t i) {
    const Store store = stores.at(i);
    std::memcpy(store.place, &store.value, store.bytes);
    for (; i + 1 < count; ++i) stores.at(i) = stores.at(i + 1);
    stores.at(--count) = {};
  }
};

StoreBuffer* buffer_of_rank = nullptr;  // of the one whose step is executed
Weakened weakened;
// The orders that the header uses in the last look at a number and in the last store to a shared word.
bool was_acquire = false;
bool was_release = false;

}  // namespace

namespace modelled {

/// Replaces std::atomic. Words of 64 bits are numbers of pieces; words of 32 bits count taken pieces.
template <typename T>
struct Atomic {
  static constexpr bool is_always_lock_free = true;
  T value;

  Atomic() = default;
  Atomic(T first) : value(first) {}  // NOLINT(google-explicit-constructor): as std::atomic
  T load(std::memory_order order) const {
    if (sizeof(T) == 8) was_acquire = order == std::memory_order_acquire && !weakened.acquire_of_number;
    return value;
  }
  void store(T next, std::memory_order order) {
    if (buffer_of_rank == nullptr) {
      value = next;  // a rank's own notes
      return;
    }
    const bool is_weakened = sizeof(T) == 8 ? weakened.release_of_number : weakened.release_of_taken;
    was_release = order == std::memory_order_release && !is_weakened;
    buffer_of_rank->add({&value, next, sizeof(T), was_release});
  }
};

}  // namespace modelled

namespace std {
template <typename T>
using modelled_atomic = modelled::Atomic<T>;  // NOLINT(cert-dcl58-cpp)
}  // namespace std

// One name for each of the two builds of the header.
#define stretto stretto_modelled
#define atomic modelled_atomic
#include "transport/mailbox.hpp"
#undef atomic
#undef stretto

namespace {

using stretto_modelled::Line;
using stretto_modelled::Mailbox;
using stretto_modelled::PairCounts;

/// Rank 0 sends pieces to rank 1, which sends some to rank 0. A state is plain memory.
class Pair {
 public:
  explicit Pair(std::array<std::uint32_t, 2> pieces) {
    std::memset(static_cast<void*>(this), 0, sizeof *this);
    for (std::size_t i = 0; i < 2; ++i) {
      new (&ranks_[i].counts) PairCounts(first_number);
      ranks_[i].mailbox.taken.value = first_number;
      for (Line& line : ranks_[i].mailbox.line) line.word.value = first_number;
      ranks_[i].to_write = pieces.at(i);
      ranks_[i].to_take = pieces.at(1 - i);
    }
  }
  Pair(const Pair& other) { *this = other; }
  Pair& operator=(const Pair& other) {
    std::memcpy(static_cast<void*>(this), &other, sizeof *this);
    // The waiting stores must refer to places in the copy.
    const auto offset = reinterpret_cast<std::intptr_t>(this) - reinterpret_cast<std::intptr_t>(&other);
    for (Rank& rank : ranks_) {
      for (std::size_t i = 0; i < rank.buffer.count; ++i) {
        rank.buffer.stores.at(i).place = static_cast<std::byte*>(rank.buffer.stores.at(i).place) + offset;
      }
    }
    return *this;
  }

  /// Equal states of different places have one key.
  [[nodiscard]] std::size_t key() const {
    Pair copy(*this);
    for (Rank& rank : copy.ranks_) {
      for (std::size_t i = 0; i < rank.buffer.count; ++i) {
        auto& place = rank.buffer.stores.at(i).place;
        place = reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(place) -
                                        reinterpret_cast<std::intptr_t>(&copy));
      }
    }
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&copy), sizeof copy});
  }

  static constexpr std::size_t steps = 5 + StoreBuffer::most;
  [[nodiscard]] bool ended() const { return ranks_[0].has_ended() && ranks_[1].has_ended(); }
  [[nodiscard]] bool is_wrong() const { return is_wrong_; }

  /// Executes one step of a rank. Returns whether it was possible.
  bool step(std::size_t which, std::size_t kind) {
    Rank& own = ranks_[which];
    const Rank& other = ranks_[1 - which];
    switch (kind) {
      case 0:
        return write(own, other);
      case 1:
        return look_early(own, other);
      case 2:
        return look(own, other);
      case 3:
        return read(own, other);
      case 4:
        return take(own);
      default:
        break;
    }
    const std::size_t i = kind - 5;
    if (i >= own.buffer.count || !own.buffer.may_leave(i)) return false;
    own.buffer.leave(i);
    return true;
  }

 private:
  static constexpr std::uint32_t first_number = UINT32_MAX - 2;  // wraps
  struct Rank {
    Mailbox mailbox;
    PairCounts counts;
    StoreBuffer buffer;
    std::uint32_t to_write;
    std::uint32_t to_take;
    std::uint32_t written;
    std::uint32_t looked;
    std::uint32_t read;
    std::uint32_t taken;
    std::uint64_t early;  // data that were read before their number
    bool has_early;
    void forget_early() {
      has_early = false;
      early = 0;
    }
    [[nodiscard]] bool has_ended() const {
      return written == to_write && taken == to_take && read == to_take && buffer.count == 0;
    }
  };

  static std::uint64_t data_of(const Line& line) {
    std::uint64_t value = 0;
    std::memcpy(&value, line.data.data(), sizeof value);
    return value;
  }
  [[nodiscard]] static const Line& line_of(const Rank& other, std::uint32_t piece) {
    return other.mailbox.line.at((first_number + 1 + piece) % Mailbox::lines);
  }

  static bool write(Rank& own, const Rank& other) {
    if (own.written == own.to_write || own.buffer.count + 2 > StoreBuffer::most) return false;
    buffer_of_rank = nullptr;
    if (!own.counts.may_write(other.mailbox)) return false;
    Line& line = own.counts.next_line(own.mailbox);
    own.buffer.add({line.data.data(), own.written + 1, sizeof(std::uint64_t), false});
    buffer_of_rank = &own.buffer;
    own.counts.publish(own.mailbox);
    buffer_of_rank = nullptr;
    ++own.written;
    return true;
  }
  /// A processor may read the data of the next piece at any time before its number.
  static bool look_early(Rank& own, const Rank& other) {
    if (own.has_early || own.looked == own.to_take || own.looked != own.read) return false;
    own.early = data_of(line_of(other, own.looked));
    own.has_early = true;
    return true;
  }
  static bool look(Rank& own, const Rank& other) {
    if (own.looked != own.taken || own.looked != own.read || own.looked == own.to_take) return false;
    buffer_of_rank = nullptr;
    const Line* line = own.counts.look(other.mailbox);
    const bool number_was_acquired = was_acquire;
    if (line == nullptr) return false;
    ++own.looked;
    if (number_was_acquired) own.forget_early();
    return true;
  }
  bool read(Rank& own, const Rank& other) {
    if (own.read == own.looked) return false;
    const std::uint64_t value = own.has_early ? own.early : data_of(line_of(other, own.read));
    own.forget_early();
    ++own.read;
    if (value != own.read) is_wrong_ = true;
    return true;
  }
  static bool take(Rank& own) {
    if (own.taken == own.looked || own.buffer.count == StoreBuffer::most) return false;
    buffer_of_rank = &own.buffer;
    own.counts.take(own.mailbox);
    buffer_of_rank = nullptr;
    ++own.taken;
    // Release order keeps reads that come before it there.
    return !was_release || own.read == own.looked;
  }

  std::array<Rank, 2> ranks_;
  bool is_wrong_;
};

struct Outcome {
  std::size_t states = 0;
  bool is_wrong = false;
  bool is_stuck = false;
};

/// Goes through every order of events until one is wrong.
Outcome walk(std::array<std::uint32_t, 2> pieces, const Weakened& orders) {
  weakened = orders;
  Outcome outcome;
  std::unordered_set<std::size_t> seen;
  std::deque<Pair> next{Pair(pieces)};
  while (!next.empty() && !outcome.is_wrong) {
    const Pair state = next.front();
    next.pop_front();
    bool any = false;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (std::size_t kind = 0; kind < Pair::steps; ++kind) {
        Pair after(state);
        if (!after.step(rank, kind)) continue;
        any = true;
        outcome.is_wrong = outcome.is_wrong || after.is_wrong();
        if (seen.insert(after.key()).second) next.push_back(after);
      }
    }
    outcome.is_stuck = outcome.is_stuck || any == state.ended();
  }
  outcome.states = seen.size();
  return outcome;
}

TEST(MemoryOrder, AnyOrderOfEventsBringsTheRightData) {
  for (const std::array<std::uint32_t, 2> pieces : {std::array{6U, 0U}, std::array{5U, 1U}}) {
    const Outcome outcome = walk(pieces, {});
    EXPECT_FALSE(outcome.is_wrong);
    EXPECT_FALSE(outcome.is_stuck);
    EXPECT_GT(outcome.states, 500U);
  }
}

TEST(MemoryOrder, WithoutReleaseANumberComesBeforeItsData) {
  EXPECT_TRUE(walk({2, 0}, {.release_of_number = true}).is_wrong);
}

TEST(MemoryOrder, WithoutReleaseALineIsWrittenBeforeItIsRead) {
  EXPECT_TRUE(walk({6, 0}, {.release_of_taken = true}).is_wrong);
}

TEST(MemoryOrder, WithoutAcquireDataAreReadBeforeTheirNumber) {
  EXPECT_TRUE(walk({2, 0}, {.acquire_of_number = true}).is_wrong);
}

}  // namespace
