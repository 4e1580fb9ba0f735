// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/messages/transport.hpp"
#include "sockets/endpoint.hpp"

namespace stretto {

/// Messages over connections of Stretto's own. Elements have no gaps.
class ConnectionTransport final : public Transport {
 public:
  /// Ranks are those of the endpoint. `context` is that of all messages, whose tags are unique in it.
  ConnectionTransport(Endpoint& endpoint, std::uint64_t context) : endpoint_(endpoint), context_(context) {}
  ~ConnectionTransport() override { take_back(); }

  void begin(std::size_t slots, const Element& element) override;
  bool post(const Posting& posting, std::size_t slot, int& error) override;
  int test(std::size_t slots, std::vector<Completed>& completed) override;
  void take_back() override;
  [[nodiscard]] bool takes_back() const override { return true; }
  [[nodiscard]] bool is_pending(std::size_t slot) const override {
    return slot < is_pending_.size() && is_pending_[slot] != 0;
  }
  [[nodiscard]] std::uint64_t steps() const override;
  void drive() override { endpoint_.progress(); }
  int note_ended(int peer, bool gave_up_call) override;
  [[nodiscard]] bool goes_over(const Endpoint& endpoint) const { return &endpoint_ == &endpoint; }

 private:
  bool take_completed(std::size_t slots, std::vector<Completed>& completed);
  Completed take(std::size_t slot);

  Endpoint& endpoint_;
  std::uint64_t context_;
  const Element* element_ = nullptr;
  std::unique_ptr<Message[]> messages_;   // of each slot
  std::vector<std::uint8_t> is_pending_;  // of each slot
};

}  // namespace stretto
