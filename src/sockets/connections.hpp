// SPDX-License-Identifier: Apache-2.0
// Both ends of a connection. The endpoint's lock is held in all functions.
//
// A connection that breaks, for example because a firewall has forgotten it, is made again by its maker, and
// goes on with the byte behind the last one that was read. Only the bytes of a message that is being written
// are still there, so if others were on their way, the rank is lost. A connection that was closed does not
// come back: the other process has ended. If its machine has reset a connection instead of closing it, nobody
// listens there any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sockets/endpoint.hpp"
#include "sockets/frame_reader.hpp"
#include "sockets/long_sends.hpp"
#include "sockets/send_queue.hpp"

namespace stretto {

/// What both ends have in common: a socket, the data to be written to it, and news.
class Connection : public Polled, protected FrameTaker {
 public:
  /// `long_sends`: the long messages of which it sends parts, or nullptr.
  Connection(Endpoint& endpoint, int peer, LongSends* long_sends)
      : endpoint_(endpoint), peer_(peer), queue_(long_sends) {}
  ~Connection() override { endpoint_.poller_.remove(socket_); }

  /// `is_news`: whether the end concerns others than the peer.
  void say_farewell(const char* reason, bool is_news);
  void tell(const News& news);
  /// Returns the number of bytes that have not arrived at the other side yet. Bytes on their way are lost if
  /// that side sends something after close().
  [[nodiscard]] virtual std::size_t bytes_left() const;
  [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
  /// Writes what the connection takes, but at most `most_parts` parts. Returns whether it tried to write.
  bool flush(std::size_t most_parts = std::numeric_limits<std::size_t>::max());
  void close();
  /// Closes the socket and nothing else.
  void abandon() { socket_.close(); }
  /// Whether it carries frames.
  [[nodiscard]] virtual bool is_ready() const { return is_open(); }

 protected:
  /// Returns whether anything was read.
  bool read();
  std::optional<Landing> take(const Frame& frame) override;
  void take_end() override;
  /// Takes a frame of a kind that only one end sends.
  virtual std::optional<Landing> take_own(const Frame& frame) = 0;
  virtual void take_own_end() {}
  /// Called when something was read.
  virtual void note_step() {}
  /// Called when the connection has ended, with an error or without (0).
  virtual void note_end(int error);

  Endpoint& endpoint_;
  int peer_;
  Socket socket_;
  FrameReader reader_;
  SendQueue queue_;
  bool writes_ = false;  // whether the poller looks for room

 private:
  void say(Frame frame, std::string_view text);

  std::optional<News> told_;  // while its text arrives; a farewell, if it is of no rank
  std::string text_;
};

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
  [[nodiscard]] static std::size_t longest_whole();
  void send_long(std::uint64_t number, Message& message);
  void use_streams(std::size_t streams);
  Outgoing& stream(std::size_t number) { return number == 0 ? *this : *others_[number - 1]; }
  bool greet();
  template <typename Reply>
  bool take_reply(Reply& reply, bool& has_moved);
  bool take_challenge();
  bool take_welcome();
  void try_again(int error);

  State state_ = State::without_address;
  Address address_;
  Hello hello_;
  Endpoint::Clock::time_point began_{};
  Endpoint::Clock::time_point ended_{};
  int error_ = 0;            // with which the connection ended or broke
  bool was_ready_ = false;   // before it broke
  bool is_waiting_ = false;  // to connect again
  int times_sent_away_ = 0;
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
