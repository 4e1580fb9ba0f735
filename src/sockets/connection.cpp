// SPDX-License-Identifier: Apache-2.0
#include "sockets/connection.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <system_error>
#include <utility>

namespace stretto {
namespace {

/// A link that is silent for this long is lost, as it is for TCP when there is something to send. If there is
/// nothing to send, the kernel probes the link. (Whoever waits with a time-out does not wait so long. An
/// outage of some minutes, such as that of a switch that starts again, must not end a job that survives it
/// with gloo and MPI libraries, which never probe.)
constexpr int longest_silence = 900;  // s

constexpr std::size_t most_read_at_once = std::size_t{1} << 20;

}  // namespace

void Connection::set(int level, int option, int value) {
  setsockopt(socket_.file(), level, option, &value, sizeof(value));
}

void Connection::configure() {
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds_between_probes);
  set(IPPROTO_TCP, TCP_KEEPINTVL, seconds_between_probes);
  set(IPPROTO_TCP, TCP_KEEPCNT, longest_silence / seconds_between_probes - 1);
}

std::string Connection::how_of(int error) {
  return error == 0 ? "its connection was closed" : std::generic_category().message(error);
}

std::string Connection::how_data_is_lost(int error) {
  return how_of(error) + ", and data on its way is lost";
}

std::size_t Connection::bytes_left() const {
  if (!socket_ || queue_.error() != 0) return 0;
  int on_its_way = 0;
  const bool is_known = ioctl(socket_.file(), SIOCOUTQ, &on_its_way) == 0;
  return queue_.bytes() + (is_known ? static_cast<std::size_t>(on_its_way) : 0);
}

/// A connection that takes nothing more may still have a farewell to be read, so its end is noticed in
/// read().
bool Connection::flush(std::size_t most_parts) {
  if (!socket_ || !is_ready() || queue_.is_empty() || queue_.error() != 0) return false;
  const SendQueue::State state = queue_.write(socket_.file(), most_parts);
  const bool must_wait = state == SendQueue::State::blocked;
  if (must_wait != writes_) endpoint_.poller_.set_writes(socket_, *this, writes_ = must_wait);
  return true;
}

bool Connection::read() {
  if (!socket_) return false;
  const FrameReader::Found found = reader_.read(socket_, *this, most_read_at_once, endpoint_.buffer_);
  if (found == FrameReader::Found::end) {
    note_end(reader_.error() != 0 ? reader_.error() : queue_.error());
  } else if (found == FrameReader::Found::fault) {
    endpoint_.part_from(peer_, "its data cannot be read");
  }
  if (found == FrameReader::Found::something) note_step();
  return found != FrameReader::Found::nothing;
}

std::optional<Landing> Connection::take(const Frame& frame) {
  const bool is_word = frame.kind == FrameKind::census;
  if (frame.kind != FrameKind::news && frame.kind != FrameKind::farewell && !is_word)
    return endpoint_.failure() == nullptr ? take_own(frame) : std::optional(Landing{});
  const bool is_rank = frame.tag >= 0 && frame.tag < endpoint_.ranks();
  const std::size_t most = is_word ? Census::Word::longest_text(endpoint_.ranks()) : longest_reason;
  if (!is_rank || frame.bytes == 0 || frame.bytes > most) return std::nullopt;
  told_ = frame;
  text_.assign(frame.bytes, '\0');
  return Landing{.into = reinterpret_cast<std::byte*>(text_.data()), .room = text_.size()};
}

void Connection::take_end() {
  if (!told_) return take_own_end();
  const Frame frame = *std::exchange(told_, std::nullopt);
  if (frame.kind == FrameKind::census) {
    if (const auto word = Census::Word::read(text_, endpoint_.ranks()))
      return endpoint_.take_word({.group = frame.context, .number = frame.number}, *word, peer_);
    return endpoint_.part_from(peer_, "its data cannot be read");
  }
  const char* const reason = keep_reason(text_);
  if (frame.kind == FrameKind::farewell) {
    set(IPPROTO_TCP, TCP_QUICKACK, 1);  // the other side waits for the acknowledgement (bytes_left)
    return endpoint_.take_farewell(peer_, reason, frame.number != 0);
  }
  endpoint_.take_news({.rank = frame.tag, .group = frame.context, .from = frame.number, .reason = reason},
                      peer_);
}

void Connection::say_farewell(const char* reason, bool is_news) {
  say({.kind = FrameKind::farewell, .number = is_news ? 1U : 0U}, reason);
}

void Connection::tell(const News& news) {
  say({.kind = FrameKind::news, .tag = news.rank, .context = news.group, .number = news.from}, news.reason);
}

void Connection::say(const CensusId& census, const Census::Word& word) {
  say({.kind = FrameKind::census, .context = census.group, .number = census.number}, word.text());
}

void Connection::say(Frame frame, std::string_view text) {
  frame.bytes = text.size();
  queue_.add_copied(frame, reinterpret_cast<const std::byte*>(text.data()));
  flush();
}

void Connection::note_end(int error) {
  close();
  endpoint_.lose(peer_, how_of(error));
}

void Connection::close() {
  endpoint_.poller_.remove(socket_);
  socket_.close();
}

}  // namespace stretto
