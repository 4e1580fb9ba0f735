// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "sockets/message.hpp"

namespace stretto {

/// The data by which a receive finds its message.
struct Envelope {
  int source = 0;
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  std::size_t bytes = 0;
};

/// A message that has arrived, or was offered, before its receive was posted.
struct EarlyMessage {
  Envelope envelope;
  std::uint64_t order = 0;            // among the early messages of all ranks
  std::unique_ptr<std::byte[]> data;  // nullptr: the message was offered
  bool is_whole = false;              // all of it is in `data`
  std::uint64_t number = 0;           // the number of the offer

  [[nodiscard]] bool is_offered() const { return data == nullptr; }
};

/// Matches messages with receives, as MPI does: for a source, a context and a tag, the receive that was
/// posted first gets the message that was sent first.
class Inbox {
 public:
  using Early = std::unique_ptr<EarlyMessage>;

  explicit Inbox(int ranks) : of_(static_cast<std::size_t>(ranks)) {}

  /// Returns the early message that this receive gets, and removes it; posts the receive and returns nothing
  /// if there is none.
  Early post(Message& receive);
  /// Returns the receive that gets a message, and removes it; nullptr if none is posted.
  Message* match(const Envelope& envelope);
  /// Keeps a message that has no receive.
  void keep(Early early);
  /// Returns the envelope of the message that a receive would get now.
  [[nodiscard]] std::optional<Envelope> probe(int source, std::uint64_t context, std::int32_t tag) const;

  /// Removes a posted receive. Returns false if it has matched already.
  bool cancel(Message& receive);
  /// Whether a receive from this rank alone is posted.
  [[nodiscard]] bool awaits(int source) const { return !at(source).posted.empty(); }
  [[nodiscard]] bool awaits_any() const { return !posted_for_any_.empty(); }
  /// Fails posted receives.
  void fail(const Which& which, const char* reason);
  /// Calls `what` for each rank from which alone a receive is posted.
  void for_each_awaited(const std::function<void(int)>& what) const;

 private:
  struct OfRank {
    std::list<Message*> posted;
    std::list<Early> early;
  };
  [[nodiscard]] OfRank& at(int rank) { return of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const OfRank& at(int rank) const { return of_[static_cast<std::size_t>(rank)]; }

  std::vector<OfRank> of_;
  std::list<Message*> posted_for_any_;
  std::uint64_t posted_ = 0;
  std::uint64_t came_ = 0;
  std::size_t early_ = 0;
};

}  // namespace stretto
