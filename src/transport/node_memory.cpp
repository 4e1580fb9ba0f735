// SPDX-License-Identifier: Apache-2.0
#include "transport/node_memory.hpp"

#include <algorithm>
#include <array>

namespace stretto {

std::string NodeMemory::make(const RegionShape& shape, int place, std::uint64_t token) {
  shape_ = shape;
  place_ = place;
  counts_ = std::vector<PairCounts>(static_cast<std::size_t>(shape_.lanes) *
                                    static_cast<std::size_t>(shape_.ranks));
  store_ = std::make_unique<PieceStore>(shape_.store_bytes);
  return own_.make(shape_.bytes(), token);
}

std::string NodeMemory::map(const std::vector<Owner>& owners) {
  return map_all(owners.size(), [&](std::size_t place, Region& mapped, PeerProcess& process) {
    const auto& [pid, file, token] = owners[place];
    process = PeerProcess(pid);
    return Region::map(pid, file, shape_.bytes(), token, mapped);
  });
}

std::string NodeMemory::receive(const std::vector<Owner>& owners) {
  std::vector<std::uint64_t> tokens;
  tokens.reserve(owners.size());
  for (const Owner& owner : owners) tokens.push_back(owner.token);
  std::vector<Handover::Received> received;
  std::string error = handover_.exchange(own_.file(), place_, tokens, received);
  handover_ = Handover();
  if (!error.empty()) return error;
  return map_all(owners.size(), [&](std::size_t place, Region& mapped, PeerProcess& process) {
    process = PeerProcess(received[place].pid);
    return Region::map("a file that came", received[place].file.number(), shape_.bytes(), tokens[place],
                       mapped);
  });
}

std::string NodeMemory::map_all(std::size_t places, const MapOne& map_one) {
  // This rank touches the other ranks' mailboxes now, and as much of their stores together as one store. On
  // nodes of few ranks, no call then meets a page that was never read, which takes some microseconds for each
  // 64 KiB.
  const std::size_t touched =
      shape_.store_offset() + shape_.store_bytes / std::max<std::size_t>(places - 1, 1);
  regions_.resize(places);
  processes_.resize(places);
  for (std::size_t i = 0; i < places; ++i) {
    if (static_cast<int>(i) == place_) continue;
    if (std::string error = map_one(i, regions_[i], processes_[i]); !error.empty()) return error;
    regions_[i].touch(touched);
  }
  return {};
}

Mailbox& NodeMemory::mine(int lane, int other) const {
  return *reinterpret_cast<Mailbox*>(own_.data() + shape_.mailbox_offset(lane, other));
}

const Mailbox& NodeMemory::theirs(int lane, int other) const {
  const std::byte* data = regions_[static_cast<std::size_t>(other)].data();
  return *reinterpret_cast<const Mailbox*>(data + shape_.mailbox_offset(lane, place_));
}

void NodeMemory::renew(std::uint64_t lanes, std::span<const int> places) {
  for (int lane = 0; lane < shape_.lanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (const int other : places) {
      store_->forget(counts(lane, other));
      counts(lane, other).begin_anew(mine(lane, other));
    }
  }
  own_.header().given_up.fetch_and(~lanes, std::memory_order_release);
}

NodeMemory::Piece NodeMemory::reserve(int lane, std::span<const int> to, std::size_t bytes) {
  for (const int reader : to) {
    if (!counts(lane, reader).may_write(theirs(lane, reader))) return {};
  }
  if (bytes > Line::room) {
    // Thread-local memory does not serve here: it is gone before a program's static objects, which may still
    // call MPI.
    std::array<PieceStore::Reader, 16> few;
    std::vector<PieceStore::Reader> many(to.size() > few.size() ? to.size() : 0);
    const std::span readers = many.empty() ? std::span(few).first(to.size()) : std::span(many);
    std::ranges::transform(to, readers.begin(), [&](int reader) {
      PairCounts& pair = counts(lane, reader);
      return PieceStore::Reader{&pair, &theirs(lane, reader), pair.written() + 1};
    });
    if (const auto offset = store_->take(bytes, readers)) {
      return {own_.data() + shape_.store_offset() + *offset, bytes, *offset};
    }
  }
  // A message can always go on through lines, even if other calls hold all room of the store. So no call
  // waits for the readers of another call.
  Line& first = counts(lane, to.front()).next_line(mine(lane, to.front()));
  return {first.data.data(), std::min(bytes, Line::room), PieceHead::in_line};
}

void NodeMemory::publish(int lane, std::span<const int> to, const Piece& piece, std::size_t bytes,
                         std::uint32_t flags) {
  for (const int reader : to) {
    PairCounts& pair = counts(lane, reader);
    Mailbox& mailbox = mine(lane, reader);
    Line& line = pair.next_line(mailbox);
    if (piece.offset == PieceHead::in_line && line.data.data() != piece.data) {
      std::copy_n(piece.data, bytes, line.data.data());
    }
    line.head = {piece.offset, static_cast<std::uint32_t>(bytes) | flags};
  }
  for (const int reader : to) counts(lane, reader).publish(mine(lane, reader));
}

NodeMemory::Arrival NodeMemory::look(int lane, int from) {
  const Line* line = counts(lane, from).look(theirs(lane, from));
  if (line == nullptr) return {};
  const PieceHead head = line->head;
  const std::size_t bytes = head.size();
  Arrival arrival{
      .data = line->data.data(), .bytes = bytes, .is_last = head.is_last(), .has_failed = head.has_failed()};
  const bool is_in_line = head.offset == PieceHead::in_line;
  // Values that another process wrote are not trusted.
  if (is_in_line ? bytes > Line::room
                 : bytes > shape_.store_bytes || head.offset > shape_.store_bytes - bytes) {
    return {.data = line->data.data(), .bytes = 0, .is_last = true, .has_failed = true};
  }
  if (!is_in_line) {
    arrival.data = regions_[static_cast<std::size_t>(from)].data() + shape_.store_offset() + head.offset;
  }
  return arrival;
}

void NodeMemory::take(int lane, int from) {
  counts(lane, from).take(mine(lane, from));
}

}  // namespace stretto
