// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sockets/connection.hpp"

namespace stretto {

/// The end at the rank that did not make the connection.
class Incoming final : public Connection {
 public:
  Incoming(Endpoint& endpoint, int peer, Visitor& visitor);
  /// A further connection from the same rank.
  Incoming(Incoming& first, int stream, Visitor& visitor);

  /// Takes a visitor that is admitted for a further connection, or in place of a connection that has broken.
  void take_visitor(Visitor& visitor);
  /// Asks for an offered message.
  void want(std::uint64_t number, Message& receive);
  /// Gives a receive the message that is being read at the moment.
  void give_present(Inbox::Early early, Message& receive);
  /// Notes credit, which the maker gets back when it asks.
  void give_credit(std::size_t bytes) { taken_ += credit_for(bytes); }
  bool look(bool readable, bool writable) override;
  /// Fails messages. The rest of what arrives for them is skipped.
  void fail(const Which& which, const char* reason);
  /// Whether more may arrive.
  [[nodiscard]] bool is_any_open() const;
  /// Acts on timeouts. To be called now and then.
  void look_at_clock(Endpoint::Clock::time_point now);
  /// The further connections from the same rank.
  [[nodiscard]] const std::vector<std::unique_ptr<Incoming>>& others() const { return others_; }

 private:
  struct Wanted {
    Message* receive;       // nullptr: it has failed, and what comes is skipped
    std::size_t bytes;      // of the message
    std::size_t rest;       // bytes to come
    std::size_t announced;  // bytes whose parts have begun to come
  };

  std::optional<Landing> take_own(const Frame& frame) override;
  void take_own_end() override;
  void note_end(int error) override;
  void note_step() override;
  void begin(Visitor& visitor);
  void give_up(int error);
  /// Whether frames of this rank may still be carried, now or when the connection is made again.
  [[nodiscard]] bool is_of_use() const { return is_open() || broken_.has_value(); }
  /// Returns the message that gets what is being read; nullptr if none does.
  [[nodiscard]] Message* message_being_read() const;
  std::optional<Landing> take_message(const Frame& frame);
  std::optional<Landing> take_offer(const Frame& frame);
  std::optional<Landing> take_part(const Frame& frame);

  struct Broken {
    int error;
    Endpoint::Clock::time_point since;
  };

  Incoming* first_ = this;
  int stream_ = 0;
  std::uint64_t attempt_ = 0;     // of the maker, by which the connection was made
  std::optional<Broken> broken_;  // while the maker may make the connection again
  std::vector<std::unique_ptr<Incoming>> others_;
  bool reads_part_ = false;
  // State of the present frame:
  Frame frame_;
  Message* receive_ = nullptr;     // the receive that gets it
  EarlyMessage* early_ = nullptr;  // or the early message that keeps it
  Inbox::Early own_early_;         // an early message that has found its receive meanwhile
  std::uint64_t last_offer_ = 0;
  std::map<std::uint64_t, Wanted> wanted_;
  std::size_t taken_ = 0;  // credit that is not given back yet
};

}  // namespace stretto
