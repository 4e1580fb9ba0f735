// SPDX-License-Identifier: Apache-2.0
// A network inside one process: ranks are objects of one thread, and a random number decides when each
// message moves. A run is repeated exactly by its seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "engine/messages/transport.hpp"

namespace stretto::test {

class InProcessNetwork {
 public:
  explicit InProcessNetwork(unsigned seed) : random_(seed) {
    // Elements hold these handles. Nobody reads them, since no MPI library is there.
    mpi.byte = MPI_Datatype{};
    mpi.op_null = MPI_Op{};
  }

  /// Faults that a test injects.
  struct Faults {
    int rank = -1;         // whose ...
    int failing_post = 0;  // ... post number so many fails, counted from 1; 0: none
  };
  Faults faults;

  /// Returns what carries a rank's messages.
  std::unique_ptr<Transport> transport_of(int rank);

  /// Whether this message moves at this look.
  bool moves() { return random_() % 3 != 0; }
  [[nodiscard]] bool is_empty() const { return pipes_.empty(); }
  std::mt19937& random() { return random_; }

 private:
  friend class InProcessTransport;

  /// A message of one side, which has met the other side's or not.
  struct Side {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::vector<std::byte> copy;  // of an eager message
    bool is_eager = false;
    bool has_met = false;
    bool is_gone = false;     // its rank has taken it back
    std::size_t arrived = 0;  // of a receive
  };
  using Shared = std::shared_ptr<Side>;
  /// Those of a pair and tag that have not met: in order, and of one side only.
  struct Pipe {
    std::deque<Shared> sends;
    std::deque<Shared> receives;
  };
  using Key = std::tuple<int, int, int>;  // from, to, tag

  void add(const Key& key, bool sends, const Shared& side) {
    Pipe& pipe = pipes_[key];
    (sends ? pipe.sends : pipe.receives).push_back(side);
    while (!pipe.sends.empty() && !pipe.receives.empty()) {
      meet(*pipe.sends.front(), *pipe.receives.front());
      pipe.sends.pop_front();
      pipe.receives.pop_front();
    }
    if (pipe.sends.empty() && pipe.receives.empty()) pipes_.erase(key);
  }
  static void meet(Side& send, Side& receive) {
    const std::byte* from = send.is_eager ? send.copy.data() : send.data;
    receive.arrived = send.bytes;
    const std::size_t taken = std::min(send.bytes, receive.bytes);
    if (taken > 0 && !receive.is_gone && !send.is_gone) std::memcpy(receive.data, from, taken);
    send.has_met = receive.has_met = true;
  }

  std::mt19937 random_;
  std::map<Key, Pipe> pipes_;
};

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(InProcessNetwork& network, int rank) : network_(network), rank_(rank) {}

  void begin(std::size_t slots, const Element& element) override {
    element_ = &element;
    slots_.resize(std::max(slots_.size(), slots));
  }
  bool post(const Posting& posting, std::size_t slot, int& error) override {
    const bool fails = network_.faults.rank == rank_ && ++posts_ == network_.faults.failing_post;
    if (fails) error = mpi.err_other;
    auto side = std::make_shared<InProcessNetwork::Side>();
    side->bytes = fails ? 0 : posting.count * static_cast<std::size_t>(element_->size);
    side->data = static_cast<std::byte*>(posting.buffer);
    side->is_eager = posting.sends && network_.moves();
    if (side->is_eager && side->bytes > 0) side->copy.assign(side->data, side->data + side->bytes);
    slots_[slot] = {.side = side, .sends = posting.sends};
    ++count_;
    const auto key = posting.sends ? std::tuple(rank_, posting.peer, posting.tag)
                                   : std::tuple(posting.peer, rank_, posting.tag);
    network_.add(key, posting.sends, side);
    return true;
  }
  int test(std::size_t slots, std::vector<Completed>& completed) override {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const auto& [side, sends] = slots_[slot];
      if (side == nullptr || !(side->has_met || side->is_eager) || !network_.moves()) continue;
      Completed message{.slot = slot};
      if (!sends) {
        message.arrived = side->arrived;
        if (side->arrived > side->bytes) message.error = mpi.err_truncate;
      }
      completed.push_back(message);
      slots_[slot] = {};
      --count_;
    }
    std::ranges::shuffle(completed, network_.random());
    return MPI_SUCCESS;
  }
  void take_back() override {
    for (auto& [side, sends] : slots_) {
      if (side != nullptr) side->is_gone = true;
      side = nullptr;
    }
    count_ = 0;
  }
  [[nodiscard]] bool takes_back() const override { return true; }
  [[nodiscard]] bool is_pending(std::size_t slot) const override { return slots_[slot].side != nullptr; }
  void drive() override {}

 private:
  struct Slot {
    InProcessNetwork::Shared side;
    bool sends = false;
  };
  InProcessNetwork& network_;
  int rank_;
  const Element* element_ = nullptr;
  std::vector<Slot> slots_;
  int posts_ = 0;
};

inline std::unique_ptr<Transport> InProcessNetwork::transport_of(int rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

}  // namespace stretto::test
