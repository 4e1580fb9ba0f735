// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/handover.hpp"
#include "transport/mailbox.hpp"
#include "transport/peer_process.hpp"
#include "transport/piece_store.hpp"
#include "transport/region.hpp"

namespace stretto {

/// Shared memory between the ranks of a node: messages by pair and lane. A lane belongs to one call at a
/// time, the same on all ranks that use it, and one thread at a time advances that call. Messages of a pair
/// and lane arrive in the order in which they were sent.
class NodeMemory {
 public:
  /// Identifies the memory of a rank of the node.
  struct Owner {
    int pid = 0;
    int file = -1;
    std::uint64_t token = 0;
  };

  /// Begins to make this rank's memory. If that fails, make() returns the reason.
  void open() { own_.open_file(); }
  /// The number of the memory's file, which the other ranks need; -1 if there is none.
  [[nodiscard]] int file() const { return own_.file(); }
  /// Makes the memory of this rank, which is at place `place`. Returns one line with the reason if it fails,
  /// or an empty string; so do map(), offer() and receive().
  std::string make(const RegionShape& shape, int place, std::uint64_t token);
  /// Maps the memory of the other ranks. `owners` is indexed by place.
  std::string map(const std::vector<Owner>& owners);
  /// These two replace map() where processes cannot open each other's files: first offer(), then receive()
  /// when all ranks have offered their memory.
  std::string offer(std::uint64_t token) { return handover_.listen(token); }
  std::string receive(const std::vector<Owner>& owners);
  /// To be called when all ranks of the node have mapped the memory.
  void close_files() { own_.close_file(); }

  /// Whether the process of a place has ended. If so, everything that it wrote is there.
  [[nodiscard]] bool has_ended(int place) const { return process(place).has_ended(); }
  /// Tells the other ranks that this one has given up a call in a lane, and neither writes nor reads more of
  /// it. No later call may have the lane.
  void give_up(int lane) {
    own_.header().given_up.fetch_or(std::uint64_t{1} << lane, std::memory_order_release);
  }
  /// Whether the rank at a place has given up a call in a lane. If so, everything that it wrote is there.
  [[nodiscard]] bool has_given_up(int lane, int place) const {
    const auto given_up =
        regions_[static_cast<std::size_t>(place)].header().given_up.load(std::memory_order_acquire);
    return (given_up >> lane & 1) != 0;
  }
  /// Makes lanes as new for this rank and these places. To be called on all of them that have not ended, when
  /// no call of theirs has the lanes any more, and before one has them again.
  void renew(std::uint64_t lanes, std::span<const int> places);
  [[nodiscard]] const PeerProcess& process(int place) const {
    return processes_[static_cast<std::size_t>(place)];
  }

  /// Frees everything. No call may use the memory then.
  void close() { *this = NodeMemory(); }

  /// Memory for a piece of at most as many bytes as were asked for. It may have fewer, but it has some
  /// whenever a line is free.
  struct Piece {
    std::byte* data = nullptr;  // nullptr: a reader must take an earlier piece first
    std::size_t bytes = 0;
    std::uint32_t offset = PieceHead::in_line;
  };
  /// This rank's end of a pair and lane, for code that writes and reads lines itself.
  struct End {
    PairCounts* counts = nullptr;
    Mailbox* mine = nullptr;
    const Mailbox* theirs = nullptr;
  };
  [[nodiscard]] End end(int lane, int other) {
    return {&counts(lane, other), &mine(lane, other), &theirs(lane, other)};
  }

  /// Returns memory for a piece. The store holds the piece once, even if several ranks of `to` read it.
  Piece reserve(int lane, std::span<const int> to, std::size_t bytes);
  /// Shows the readers the piece that was reserved last for this lane and these places. `flags` are those of
  /// PieceHead.
  void publish(int lane, std::span<const int> to, const Piece& piece, std::size_t bytes, std::uint32_t flags);

  struct Arrival {
    const std::byte* data = nullptr;  // nullptr: nothing is there
    std::size_t bytes = 0;
    bool is_last = false;
    bool has_failed = false;
  };
  Arrival look(int lane, int from);
  /// To be called when the piece that look() returned has been read.
  void take(int lane, int from);

 private:
  using MapOne = std::function<std::string(std::size_t place, Region& mapped, PeerProcess& process)>;
  std::string map_all(std::size_t places, const MapOne& map_one);
  [[nodiscard]] Mailbox& mine(int lane, int other) const;
  [[nodiscard]] const Mailbox& theirs(int lane, int other) const;
  [[nodiscard]] PairCounts& counts(int lane, int other) {
    return counts_[static_cast<std::size_t>(lane * shape_.ranks + other)];
  }

  RegionShape shape_;
  int place_ = 0;
  Region own_;
  Handover handover_;
  std::vector<Region> regions_;         // [place] none at this rank's own
  std::vector<PeerProcess> processes_;  // [place] likewise
  std::vector<PairCounts> counts_;      // [lane][place]
  std::unique_ptr<PieceStore> store_;
};

}  // namespace stretto
