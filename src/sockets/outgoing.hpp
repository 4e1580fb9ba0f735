// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sockets/connection.hpp"

namespace stretto {

/// The end at the rank that made the connection.
class Outgoing final : public Connection {
 public:
  Outgoing(Endpoint& endpoint, int peer);
  /// A further connection to the same rank, which carries parts of long messages. If it cannot be made, the
  /// others carry them.
  Outgoing(Outgoing& first, int stream);

  /// Connects. To be called as soon as the address is known.
  void connect(const Address& address);
  void send(Message& message);
  /// Tells the other rank which rails of this node are out of order.
  void tell_rails(RailSet out_of_order);
  [[nodiscard]] std::size_t bytes_left() const override;
  bool look(bool readable, bool writable) override;
  /// Acts on timeouts. To be called now and then.
  void look_at_clock(Endpoint::Clock::time_point now);
  /// Whether the clock will decide something soon.
  [[nodiscard]] bool needs_clock() const;
  /// Fails messages.
  void fail(const Which& which, const char* reason);
  [[nodiscard]] bool is_ready() const override { return state_ == State::ready; }
  /// The further connections to the same rank.
  [[nodiscard]] const std::vector<std::unique_ptr<Outgoing>>& others() const { return others_; }

 private:
  /// `useless`: a further connection that could not be made.
  enum class State : std::uint8_t { without_address, connecting, greeting, answered, ready, ended, useless };

  std::optional<Landing> take_own(const Frame& frame) override;
  void note_end(int error) override;
  void begin();
  [[nodiscard]] std::size_t longest_whole() const;
  void send_long(std::uint64_t number, Message& message);
  void share_parts();
  void use_streams(std::size_t streams);
  void leave_memory(const Message& message);
  Outgoing& stream(std::size_t number) { return number == 0 ? *this : *others_[number - 1]; }
  bool greet();
  template <typename Reply>
  bool take_reply(Reply& reply, bool& has_moved);
  bool take_challenge();
  bool take_welcome();
  void try_again(int error);
  /// The number of rails that lead to the other rank.
  [[nodiscard]] std::size_t rails() const { return first_->rails_.size(); }
  [[nodiscard]] std::size_t own_rail() const { return static_cast<std::size_t>(stream_) % rails(); }
  [[nodiscard]] std::size_t next_rail() const;
  void go_over(std::size_t rail);
  bool should_take_part();
  void look_at_rail(Endpoint::Clock::time_point now);
  bool carries_nothing(Endpoint::Clock::time_point now);
  bool own_rail_carries_again(Endpoint::Clock::time_point now);
  [[nodiscard]] Socket open_towards(std::size_t rail, int& error);

  State state_ = State::without_address;
  Outgoing* first_ = this;
  std::vector<Address> rails_;  // of the other rank; only the first connection's are used
  std::size_t rail_ = 0;        // over which it goes
  RailTrial trial_;
  RailRate rate_;
  Address address_;
  Hello hello_;
  Endpoint::Clock::time_point began_{};
  Endpoint::Clock::time_point ended_{};
  int error_ = 0;            // with which the connection ended or broke
  bool was_ready_ = false;   // before it broke
  bool is_waiting_ = false;  // to connect again
  int times_sent_away_ = 0;
  std::size_t times_refused_ = 0;
  LongSends long_sends_;  // only the first connection's are used
  int stream_ = 0;
  std::vector<std::unique_ptr<Outgoing>> others_;
  std::size_t streams_ = 1;      // connections in use, including the first one
  std::size_t next_stream_ = 0;  // that takes the next part if all have room
  std::size_t credit_ = most_credit;
  bool asks_for_credit_ = false;  // an offer is under way that brings credit back
  std::uint64_t offers_ = 0;
  std::map<std::uint64_t, Message*> offered_;
};

}  // namespace stretto
