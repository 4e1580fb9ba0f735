// SPDX-License-Identifier: Apache-2.0
// Both ends of a connection. The endpoint's lock is held in all functions.
//
// A connection that breaks, for example because a firewall has forgotten it, is made again by its maker, and
// goes on with the byte behind the last one that was read. Where nodes have several rails, what the other
// node has not acknowledged is still there (sockets/send_queue.hpp). Elsewhere only the bytes of a message
// that is being written are, so if others were on their way, the rank is lost. A connection that was closed
// does not come back: the other process has ended. If its machine has reset a connection instead of closing
// it, nobody listens there any more.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sockets/endpoint.hpp"
#include "sockets/frame_reader.hpp"
#include "sockets/long_sends.hpp"
#include "sockets/send_queue.hpp"

namespace stretto {

/// What both ends have in common: a socket, the data to be written to it, and news.
class Connection : public Polled, protected FrameTaker {
 public:
  /// The time between two of the kernel's probes.
  static constexpr int seconds_between_probes = 60;

  /// The arguments of its SendQueue.
  Connection(Endpoint& endpoint, int peer, LongSends* long_sends = nullptr,
             std::function<bool()> takes_part = {})
      : endpoint_(endpoint), peer_(peer), queue_(long_sends, std::move(takes_part)) {}
  ~Connection() override { endpoint_.poller_.remove(socket_); }

  /// `is_news`: whether the end concerns others than the peer.
  void say_farewell(const char* reason, bool is_news);
  void tell(const News& news);
  void say(const CensusId& census, const Census::Word& word);
  /// Returns the number of bytes that have not arrived at the other side yet. Bytes on their way are lost if
  /// that side sends something after close().
  [[nodiscard]] virtual std::size_t bytes_left() const;
  [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
  /// Writes what the connection takes, but at most `most_parts` parts. Returns whether it tried to write.
  bool flush(std::size_t most_parts = std::numeric_limits<std::size_t>::max());
  void close();
  /// Frees what is kept of bytes that have arrived.
  void look_at_acknowledged() {
    if (is_ready()) queue_.look_at_acknowledged(socket_.file());
  }
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

  /// Sets an option of the socket.
  void set(int level, int option, int value);
  /// Sets what is the same at both ends.
  void configure();
  /// The reason for which a connection has ended, from its error.
  [[nodiscard]] static std::string how_of(int error);
  /// The same if the other side has not got all, and that is not there any more.
  [[nodiscard]] static std::string how_data_is_lost(int error);
  Endpoint& endpoint_;
  int peer_;
  Socket socket_;
  FrameReader reader_;
  SendQueue queue_;
  bool writes_ = false;  // whether the poller looks for room

 private:
  void say(Frame frame, std::string_view text);

  std::optional<Frame> told_;  // while its text arrives
  std::string text_;
};

}  // namespace stretto
