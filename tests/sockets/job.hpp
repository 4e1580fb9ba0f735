// SPDX-License-Identifier: Apache-2.0
// The endpoints of all ranks of a job, in one process.
#pragma once

#include <arpa/inet.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "frames.hpp"
#include "sockets/endpoint.hpp"

namespace stretto {

inline Address loopback(int rail = 0) {
  Address address{.family = 4};
  inet_pton(AF_INET, ("127.0.0." + std::to_string(1 + rail)).c_str(), address.ip.data());
  return address;
}

/// The parameter is the number of connections for long messages.
class OverStreams : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { Endpoint::use_streams(GetParam()); }
  void TearDown() override { Endpoint::use_streams(1); }
};

/// A message with its memory, behind which nothing may be written.
class Transfer {
 public:
  static Transfer sent(int to, std::uint64_t context, int tag, Bytes data) {
    Transfer transfer(std::move(data));
    transfer.message().sends = true;
    return std::move(transfer).between(to, context, tag);
  }
  static Transfer received(int from, std::uint64_t context, int tag, std::size_t room) {
    return Transfer(Bytes(room, untouched)).between(from, context, tag);
  }

  Message& message() { return *message_; }
  [[nodiscard]] const Message& message() const { return *message_; }
  [[nodiscard]] bool is_done() const { return has_ended() && message_->state == Message::State::done; }
  [[nodiscard]] bool has_failed() const { return has_ended() && message_->state == Message::State::failed; }
  [[nodiscard]] bool has_ended() const { return message_->has_ended(); }
  /// Why it has failed.
  [[nodiscard]] std::string reason() const { return has_failed() ? message_->reason : ""; }
  /// Whether these bytes have arrived, as far as there is room.
  [[nodiscard]] bool has(int source, const Bytes& data) const {
    const std::size_t landed = std::min(data.size(), message_->bytes);
    return is_done() && message_->source == source && message_->arrived == data.size() &&
           is_equal(std::span(data).first(landed), std::span(memory_).first(landed)) &&
           is_untouched(std::span(memory_).subspan(landed));
  }

 private:
  explicit Transfer(Bytes memory) : memory_(std::move(memory)), message_(std::make_unique<Message>()) {
    message_->bytes = memory_.size();
    memory_.resize(memory_.size() + 8, untouched);
    message_->data = memory_.data();
  }
  Transfer between(int peer, std::uint64_t context, int tag) && {
    message_->peer = peer;
    message_->context = context;
    message_->tag = tag;
    return std::move(*this);
  }

  Bytes memory_;
  std::unique_ptr<Message> message_;
};

class Job {
 public:
  enum class Knows : std::uint8_t { nobody, parent, all };

  explicit Job(int ranks, Knows knows = Knows::all, int rails = 1) {
    fill_randomly(secret);
    for (int rank = 0; rank < ranks; ++rank) {
      Address at = loopback();
      Socket listener = listen_at(at);
      endpoints_.push_back(std::make_unique<Endpoint>(rank, ranks, secret, std::move(listener), at));
      addresses.push_back(at);
      ports.insert(at.port);
      for (int rail = 1; rail < rails; ++rail) {
        Address on_rail = loopback(rail);
        endpoints_.back()->add_rail(listen_at(on_rail), on_rail);
        ports.insert(on_rail.port);
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      for (int other = 0; other < ranks; ++other) {
        if (knows == Knows::all || (knows == Knows::parent && rank > 0 && other == parent_of(rank)))
          tell(rank, other);
      }
    }
  }
  /// As in a job's start (mpi/own_network.hpp).
  static int parent_of(int rank) { return rank & (rank - 1); }

  Endpoint& operator[](int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int ranks() const { return static_cast<int>(endpoints_.size()); }
  void tell(int rank, int of) { (*this)[rank].set_address(of, addresses[static_cast<std::size_t>(of)]); }
  void start(int rank, Transfer& transfer) { (*this)[rank].start(transfer.message()); }
  /// Ends a rank without a farewell, as if it were killed.
  void kill(int rank) { endpoints_[static_cast<std::size_t>(rank)].reset(); }
  static constexpr std::chrono::seconds patience{20};
  void leave(int rank, const std::string& reason = {}) {
    (*this)[rank].leave(patience.count(), reason);
    (*this)[rank].close();
    kill(rank);
  }

  /// Lets all ranks make progress until the condition holds. Returns false after some seconds.
  template <typename Condition>
  bool until(const Condition& condition, double seconds = 30) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      if (!progress()) std::this_thread::yield();
    }
    return true;
  }
  bool progress() {
    bool any = false;
    for (const auto& one : endpoints_) any = (one != nullptr && one->progress()) || any;
    return any;
  }
  /// Whether all ranks that are alive know of the end of another rank, with a reason that begins like this.
  [[nodiscard]] bool know_end(int of, const std::string& begin) {
    return std::ranges::all_of(endpoints_, [&](const auto& one) {
      if (one == nullptr || one->rank() == of) return true;
      const char* const reason = one->why_ended(of);
      return reason != nullptr && std::string(reason).starts_with(begin);
    });
  }
  /// Returns why ranks have failed, and which others they have lost.
  [[nodiscard]] std::string failures() {
    std::string text;
    for (const auto& one : endpoints_) {
      if (one == nullptr) continue;
      if (one->failure() != nullptr) text += std::string(one->failure()) + "\n";
      for (int of = 0; of < ranks(); ++of) {
        const char* const reason = one->why_ended(of);
        if (reason != nullptr && !std::string(reason).ends_with(" has left the job"))
          text += std::string(reason) + "\n";
      }
    }
    return text;
  }
  /// Connects each rank with its parent, in this direction.
  void connect_tree() {
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    for (int rank = 1; rank < ranks(); ++rank) {
      sent.push_back(Transfer::sent(parent_of(rank), 77, 0, filled(1, 0)));
      start(rank, sent.back());
      received.push_back(Transfer::received(rank, 77, 0, 1));
      start(parent_of(rank), received.back());
    }
    EXPECT_TRUE(until([&] { return std::ranges::all_of(received, &Transfer::is_done); })) << failures();
  }

  SipKey secret{};
  std::set<std::uint16_t> ports;  // at which ranks listen
  std::vector<Address> addresses;

 private:
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace stretto
