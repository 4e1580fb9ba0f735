// SPDX-License-Identifier: Apache-2.0
#include "sockets/connections.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "sockets/files.hpp"

namespace stretto {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A link that is silent for this long is lost, as it is for TCP when there is something to send. If there is
/// nothing to send, the kernel probes the link. (Whoever waits with a time-out does not wait so long. An
/// outage of some minutes, such as that of a switch that starts again, must not end a job that survives it
/// with gloo and MPI libraries, which never probe.)
constexpr int longest_silence = 900;  // s
constexpr int probes = 15;

void set(const Socket& socket, int level, int option, int value) {
  setsockopt(socket.file(), level, option, &value, sizeof(value));
}

void configure(const Socket& socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, longest_silence / probes);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, longest_silence / probes);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, probes - 1);
}

/// Limits the system's send buffer to the bytes that fill a link of 25 Gbit/s for a round trip, but not below
/// 512 KiB, which a core's cache holds. With a larger buffer, a thread that serves both directions writes
/// megabytes before it reads again, from memory that has left the caches (docs/engine.md). Where a round trip
/// takes long, the size is left to the system.
void limit_send_buffer(const Socket& socket) {
  constexpr double fastest = 3.2e9;  // bytes per second
  constexpr double longest = 1e-3;   // s
  constexpr int least = 512 << 10;
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(socket.file(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  const double round_trip = 1e-6 * info.tcpi_rtt;
  if (round_trip > longest) return;
  // The system doubles the size that is asked for, because it counts its own overhead.
  set(socket, SOL_SOCKET, SO_SNDBUF, std::max(least, static_cast<int>(round_trip * fastest)) / 2);
}

int error_of(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

constexpr const char* data_is_lost = ", and data on its way is lost";

std::string how_of(int error) {
  return error == 0 ? "its connection was closed" : std::generic_category().message(error);
}

constexpr std::size_t most_read_at_once = std::size_t{1} << 20;
/// The most unsent bytes in each of several connections: just enough to keep it busy, so that each takes only
/// the parts that it can carry.
constexpr int most_unsent_of_streams = 256 << 10;
/// A rank whose host does not answer, or whose listener sends this rank away again and again, is lost. A rank
/// that has the connection and does not look at it is only late.
constexpr seconds longest_beginning{60};
constexpr int most_times_sent_away = 600;
/// A rank that leaves closes both of its connections to another rank. Its farewell may come over the other
/// connection: behind all that was sent there, or on a connection that is not even admitted yet.
constexpr milliseconds longest_wait_for_farewell{200};
/// A connection may break on one side only. The maker notices that when it sends something or its kernel
/// probes the link.
constexpr seconds longest_break{2 * longest_silence / probes};

}  // namespace

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
  const bool is_farewell = frame.kind == FrameKind::farewell;
  if (frame.kind != FrameKind::news && !is_farewell) {
    return endpoint_.failure() == nullptr ? take_own(frame) : std::optional(Landing{});
  }
  const bool is_rank = frame.tag >= 0 && frame.tag < endpoint_.ranks();
  if (!is_rank || frame.bytes == 0 || frame.bytes > longest_reason) return std::nullopt;
  told_ = News{.rank = is_farewell ? any_rank : frame.tag,
               .group = frame.context,
               .from = frame.number,
               .reason = nullptr};
  text_.assign(frame.bytes, '\0');
  return Landing{.into = reinterpret_cast<std::byte*>(text_.data()), .room = text_.size()};
}

void Connection::take_end() {
  if (!told_) return take_own_end();
  News news = *std::exchange(told_, std::nullopt);
  news.reason = keep_reason(text_);
  if (news.rank == any_rank) {
    set(socket_, IPPROTO_TCP, TCP_QUICKACK, 1);  // the other side waits for the acknowledgement (bytes_left)
    return endpoint_.take_farewell(peer_, news.reason, news.from != 0);
  }
  endpoint_.take_news(news, peer_);
}

void Connection::say_farewell(const char* reason, bool is_news) {
  say({.kind = FrameKind::farewell, .number = is_news ? 1U : 0U}, reason);
}

void Connection::tell(const News& news) {
  say({.kind = FrameKind::news, .tag = news.rank, .context = news.group, .number = news.from}, news.reason);
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

Outgoing::Outgoing(Endpoint& endpoint, int peer) : Connection(endpoint, peer, &long_sends_) {}

Outgoing::Outgoing(Outgoing& first, int stream)
    : Connection(first.endpoint_, first.peer_, &first.long_sends_), stream_(stream) {
  connect(first.address_);
}

void Outgoing::connect(const Address& address) {
  if (state_ != State::without_address) return;
  address_ = address;
  begin();
}

void Outgoing::begin() {
  is_waiting_ = false;
  began_ = Endpoint::Clock::now();
  // A scope is this node's own number for the interface.
  if (address_.scope != 0) address_.scope = endpoint_.listens_at().scope;
  SystemAddress to(address_);
  socket_ = open_file(
      [&] { return ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  state_ = State::connecting;
  if (!socket_) return try_again(errno);
  // Connects from the address by which the others know this rank.
  Address own = endpoint_.listens_at();
  own.port = 0;
  SystemAddress from(own);
  // Ports run short only if each is reserved for a single connection.
  if (own.family == 4) set(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (own.family == address_.family) static_cast<void>(bind(socket_.file(), from.get(), from.length));
  configure(socket_);
  if (stream_ > 0) set(socket_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent_of_streams);
  if (::connect(socket_.file(), to.get(), to.length) != 0 && errno != EINPROGRESS) return try_again(errno);
  if (!endpoint_.poller_.add(socket_, *this, writes_ = true)) try_again(errno);
}

/// Connects again later, unless the rank is gone. A listener that has many visitors closes connections, and a
/// rank that has no file descriptors left gets none.
void Outgoing::try_again(int error) {
  close();
  state_ = State::connecting;
  const bool is_gone = error == ECONNREFUSED || ++times_sent_away_ > most_times_sent_away;
  if (is_gone) return note_end(error);
  is_waiting_ = true;
  endpoint_.look_soon();
}

bool Outgoing::greet() {
  if (const int error = error_of(socket_); error != 0) {
    try_again(error);
    return true;
  }
  hello_.rank = static_cast<std::uint32_t>(endpoint_.rank());
  hello_.ranks = static_cast<std::uint32_t>(endpoint_.ranks());
  hello_.stream = static_cast<std::uint32_t>(stream_);
  hello_.to = static_cast<std::uint32_t>(peer_);
  hello_.listens_at = endpoint_.listens_at();
  fill_randomly(hello_.number);
  ++hello_.attempt;
  hello_.received = reader_.bytes();
  state_ = State::greeting;
  endpoint_.poller_.set_writes(socket_, *this, writes_ = false);
  if (::send(socket_.file(), &hello_, sizeof(hello_), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(hello_))
    try_again(errno);
  return true;
}

/// Takes what the listener says before it sends frames. Returns whether all of it is there. `has_moved`:
/// whether anything has happened.
template <typename Reply>
bool Outgoing::take_reply(Reply& reply, bool& has_moved) {
  const ssize_t got = recv(socket_.file(), &reply, sizeof(reply), MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  has_moved = got <= 0 || static_cast<std::size_t>(got) == sizeof(reply);
  if (got <= 0) try_again(got < 0 ? errno : 0);
  if (got <= 0 || !has_moved) return false;
  static_cast<void>(recv(socket_.file(), &reply, sizeof(reply), MSG_DONTWAIT));
  return true;
}

bool Outgoing::take_challenge() {
  Challenge challenge;
  if (bool has_moved = false; !take_reply(challenge, has_moved)) return has_moved;
  const SipTag right = proof_of(End::listener, endpoint_.secret_, hello_, challenge.number, address_);
  if (!are_equal(challenge.proof, right)) {
    close();
    endpoint_.lose(peer_, "a process that is not of this job answers at its address");
    return true;
  }
  const Answer answer{proof_of(End::maker, endpoint_.secret_, hello_, challenge.number, address_)};
  if (::send(socket_.file(), &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(answer)) {
    try_again(errno);
    return true;
  }
  state_ = State::answered;
  return true;
}

bool Outgoing::take_welcome() {
  Welcome welcome;
  if (bool has_moved = false; !take_reply(welcome, has_moved)) return has_moved;
  if (!queue_.go_on_behind(welcome.received)) {
    endpoint_.part_from(peer_, how_of(error_) + data_is_lost);
    return true;
  }
  state_ = State::ready;
  was_ready_ = true;
  error_ = times_sent_away_ = 0;
  limit_send_buffer(socket_);
  if (streams_ > 1) set(socket_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent_of_streams);
  flush();
  return true;
}

bool Outgoing::look(bool readable, bool writable) {
  if (state_ == State::connecting) return (readable || writable) && greet();
  if (state_ == State::greeting) return readable && take_challenge();
  if (state_ == State::answered) return readable && take_welcome();
  const bool has_read = readable && read();
  return (writable && flush()) || has_read;
}

void Outgoing::look_at_clock(Endpoint::Clock::time_point now) {
  for (const auto& one : others_) one->look_at_clock(now);
  if (state_ == State::useless) return;
  if (is_waiting_) return begin();
  if (state_ == State::ended) {
    const auto& other = endpoint_.peer(peer_).in;
    const bool may_say_farewell = other != nullptr && other->is_open();
    if (now - ended_ > longest_wait_for_farewell && !may_say_farewell) endpoint_.lose(peer_, how_of(error_));
  } else if (state_ == State::connecting && now - began_ > longest_beginning) {
    if (stream_ > 0) return note_end(ETIMEDOUT);
    Connection::note_end(ETIMEDOUT);
  }
}

bool Outgoing::needs_clock() const {
  return state_ == State::connecting || state_ == State::ended ||
         std::ranges::any_of(others_, [](const auto& one) { return one->needs_clock(); });
}

void Outgoing::note_end(int error) {
  close();
  if (error_ == 0) error_ = error;
  if (state_ == State::ready && error != 0 && endpoint_.is_needed(peer_)) return begin();
  const bool was_of_use = stream_ == 0 || was_ready_;
  state_ = was_of_use ? State::ended : State::useless;
  if (!was_of_use) return;
  ended_ = Endpoint::Clock::now();
  endpoint_.look_soon();
}

/// Returns the length up to which messages are sent whole.
std::size_t Outgoing::longest_whole() {
  return Endpoint::streams() > 1 ? longest_whole_of_streams : longest_whole_message;
}

void Outgoing::send(Message& message) {
  const bool must_ask = credit_ < most_credit / 2 && !asks_for_credit_;
  const bool fits = message.bytes <= longest_whole() && credit_for(message.bytes) <= credit_ && !must_ask;
  Frame frame{.kind = fits ? FrameKind::message : FrameKind::offer,
              .tag = message.tag,
              .context = message.context,
              .bytes = message.bytes};
  if (fits) {
    credit_ -= credit_for(message.bytes);
    queue_.add(frame, &message);
  } else {
    asks_for_credit_ = true;
    frame.number = ++offers_;
    offered_[frame.number] = &message;
    queue_.add(frame);
  }
  if (!writes_) flush();
}

/// A connection that waits to connect again has no socket. Short messages that were offered for their credit
/// count, long ones do not. A connection that is being made counts for its messages only: a rank that is busy
/// with something else may take long to welcome it, and needs no news of a rank that it has not waited for.
std::size_t Outgoing::bytes_left() const {
  if (state_ == State::ended || state_ == State::useless || state_ == State::without_address) return 0;
  if (!is_ready() && !queue_.has_messages() && offered_.empty()) return 0;
  std::size_t all = long_sends_.bytes() + (socket_ ? Connection::bytes_left() : queue_.bytes());
  for (const auto& one : others_) all += one->is_ready() ? one->bytes_left() : 0;
  for (const auto& [number, message] : offered_)
    all += message->bytes <= longest_whole() ? credit_for(message->bytes) : 0;
  return all;
}

void Outgoing::use_streams(std::size_t streams) {
  if (streams == streams_) return;
  streams_ = streams;
  set(socket_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, streams > 1 ? most_unsent_of_streams : 0);
  while (others_.size() + 1 < streams)
    others_.push_back(std::make_unique<Outgoing>(*this, static_cast<int>(others_.size()) + 1));
}

/// Sends a long message in parts over all connections that have room.
void Outgoing::send_long(std::uint64_t number, Message& message) {
  use_streams(static_cast<std::size_t>(Endpoint::streams()));
  const std::size_t part =
      streams_ > 1 ? std::clamp(message.bytes / streams_, longest_whole_of_streams, longest_part_of_streams)
                   : longest_part;
  long_sends_.add(number, message, part);
  if (streams_ == 1) {
    if (!writes_) flush();
    return;
  }
  // Connections that have room take turns, so even a message that one of them could take alone goes over all.
  std::size_t vain = 0;
  while (vain < streams_ && long_sends_.has_next()) {
    Outgoing& one = stream(next_stream_++ % streams_);
    vain = !one.writes_ && one.flush(1) ? 0 : vain + 1;
  }
}

std::optional<Landing> Outgoing::take_own(const Frame& frame) {
  if (frame.kind == FrameKind::credit) {
    credit_ = std::min(most_credit, credit_ + std::min<std::size_t>(frame.bytes, most_credit));
    return Landing{};
  }
  if (frame.kind != FrameKind::wanted || frame.number > offers_) return std::nullopt;
  asks_for_credit_ = false;
  const auto found = offered_.find(frame.number);
  if (found == offered_.end()) return Landing{};  // it has failed meanwhile
  Message& message = *found->second;
  offered_.erase(found);
  send_long(frame.number, message);
  return Landing{};
}

void Outgoing::fail(const Which& which, const char* reason) {
  credit_ += queue_.fail(which, reason);
  for (const auto& one : others_) credit_ += one->queue_.fail(which, reason);
  long_sends_.fail(which, reason);
  std::erase_if(offered_, [&](const auto& offered) {
    if (!which(*offered.second)) return false;
    offered.second->end_early(reason);
    return true;
  });
}

Incoming::Incoming(Endpoint& endpoint, int peer, Visitor& visitor) : Connection(endpoint, peer, nullptr) {
  begin(visitor);
}

Incoming::Incoming(Incoming& first, int stream, Visitor& visitor)
    : Incoming(first.endpoint_, first.peer_, visitor) {
  first_ = &first;
  stream_ = stream;
}

void Incoming::take_visitor(Visitor& visitor) {
  const auto stream = static_cast<int>(visitor.hello().stream);
  if (stream != stream_) {
    const auto known = std::ranges::find(others_, stream, [](const auto& one) { return one->stream_; });
    if (known != others_.end()) return (*known)->take_visitor(visitor);
    others_.push_back(std::make_unique<Incoming>(*this, stream, visitor));
    return;
  }
  // The maker has ended each earlier attempt, although that may not be seen yet.
  if (visitor.hello().attempt <= attempt_) return;
  if (!broken_) broken_ = {.error = ECONNRESET, .since = Endpoint::Clock::now()};
  while (read()) {
  }
  close();
  if (endpoint_.is_needed(peer_)) begin(visitor);
}

void Incoming::begin(Visitor& visitor) {
  endpoint_.poller_.remove(visitor.socket());
  socket_ = std::move(visitor.socket());
  writes_ = false;
  attempt_ = visitor.hello().attempt;
  configure(socket_);
  if (!queue_.go_on_behind(visitor.hello().received)) {
    const int error = broken_ ? std::exchange(broken_, std::nullopt)->error : 0;
    return endpoint_.part_from(peer_, how_of(error) + data_is_lost);
  }
  broken_.reset();
  const Welcome welcome{.received = reader_.bytes()};
  const ssize_t sent = ::send(socket_.file(), &welcome, sizeof(welcome), MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool is_ready = sent == sizeof(welcome) && endpoint_.poller_.add(socket_, *this);
  if (!is_ready) return Incoming::note_end(errno);
  flush();
}

bool Incoming::look(bool readable, bool writable) {
  const bool has_read = readable && read();
  return (writable && flush()) || has_read;
}

void Incoming::note_end(int error) {
  if (broken_) return close();
  if (error == 0 || !endpoint_.is_needed(peer_)) return give_up(error);
  close();
  broken_ = {.error = error, .since = Endpoint::Clock::now()};
  // If the rank has ended, this rank's own connection shows that.
  endpoint_.outgoing(peer_);
  endpoint_.look_soon();
}

void Incoming::look_at_clock(Endpoint::Clock::time_point now) {
  if (broken_ && now - broken_->since > longest_break) give_up(std::exchange(broken_, std::nullopt)->error);
}

/// Messages fail only if they cannot arrive any more: a rank may end without waiting for what it has sent.
void Incoming::give_up(int error) {
  Connection::note_end(error);
  const Message* const present = message_being_read();
  if (present != nullptr)
    first_->fail([&](const Message& one) { return &one == present; }, endpoint_.why_gone(peer_));
  if (!first_->is_any_open()) first_->fail([](const Message&) { return true; }, endpoint_.why_gone(peer_));
}

bool Incoming::is_any_open() const {
  return is_open() || std::ranges::any_of(others_, [](const auto& one) { return one->is_open(); });
}

Message* Incoming::message_being_read() const {
  if (!reads_part_) return receive_;
  const auto found = first_->wanted_.find(frame_.number);
  return found == first_->wanted_.end() ? nullptr : found->second.receive;
}

void Incoming::note_step() {
  if (Message* const present = message_being_read()) present->note_step();
}

std::optional<Landing> Incoming::take_own(const Frame& frame) {
  frame_ = frame;
  if (stream_ > 0 && frame.kind != FrameKind::part) return std::nullopt;
  switch (frame.kind) {
    case FrameKind::message:
      return take_message(frame);
    case FrameKind::offer:
      return take_offer(frame);
    case FrameKind::part:
      return take_part(frame);
    default:
      return std::nullopt;
  }
}

std::optional<Landing> Incoming::take_message(const Frame& frame) {
  if (frame.bytes > longest_whole_message) return std::nullopt;
  const Envelope envelope{.source = peer_, .context = frame.context, .tag = frame.tag, .bytes = frame.bytes};
  receive_ = endpoint_.inbox_.match(envelope);
  Landing landing;
  if (receive_ != nullptr) {
    landing = {receive_->data, receive_->bytes};
  } else {
    auto early = std::make_unique<EarlyMessage>();
    early->envelope = envelope;
    early->data = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(frame.bytes, 1));
    landing = {early->data.get(), frame.bytes};
    early_ = early.get();
    endpoint_.inbox_.keep(std::move(early));
  }
  if (frame.bytes == 0) take_own_end();
  return landing;
}

std::optional<Landing> Incoming::take_offer(const Frame& frame) {
  if (frame.number <= last_offer_) return std::nullopt;
  last_offer_ = frame.number;
  const Envelope envelope{.source = peer_, .context = frame.context, .tag = frame.tag, .bytes = frame.bytes};
  if (Message* receive = endpoint_.inbox_.match(envelope)) {
    receive->arrived = frame.bytes;
    want(frame.number, *receive);
    return Landing{};
  }
  auto early = std::make_unique<EarlyMessage>();
  early->envelope = envelope;
  early->number = frame.number;
  endpoint_.inbox_.keep(std::move(early));
  return Landing{};
}

void Incoming::want(std::uint64_t number, Message& receive) {
  if (!is_of_use()) return receive.end_early(endpoint_.why_gone(peer_));
  wanted_[number] = {.receive = &receive, .bytes = receive.arrived, .rest = receive.arrived, .announced = 0};
  if (taken_ > 0) queue_.add({.kind = FrameKind::credit, .bytes = std::exchange(taken_, 0)});
  queue_.add({.kind = FrameKind::wanted, .number = number});
  if (!writes_) flush();
}

std::optional<Landing> Incoming::take_part(const Frame& frame) {
  const auto found = first_->wanted_.find(frame.number);
  if (found == first_->wanted_.end()) return std::nullopt;
  Wanted& wanted = found->second;
  const std::size_t to_be_announced = wanted.bytes - wanted.announced;
  if (frame.bytes > std::min(to_be_announced, longest_part) || frame.context > wanted.bytes - frame.bytes)
    return std::nullopt;
  wanted.announced += frame.bytes;
  reads_part_ = true;
  if (frame.bytes == 0) {
    take_own_end();
    return Landing{};
  }
  if (wanted.receive == nullptr) return Landing{};
  const Message& receive = *wanted.receive;
  const std::size_t offset = frame.context;
  return offset >= receive.bytes ? Landing{} : Landing{receive.data + offset, receive.bytes - offset};
}

void Incoming::take_own_end() {
  if (endpoint_.failure() != nullptr) return;
  if (std::exchange(reads_part_, false)) {
    const auto found = first_->wanted_.find(frame_.number);
    found->second.rest -= frame_.bytes;
    if (found->second.rest > 0) return;
    Message* const receive = found->second.receive;
    first_->wanted_.erase(found);
    if (receive == nullptr) return;
    receive->source = peer_;
    return receive->end(Message::State::done);
  }
  EarlyMessage* const early = std::exchange(early_, nullptr);
  Message* const receive = std::exchange(receive_, nullptr);
  if (early != nullptr) early->is_whole = true;
  if (own_early_) return endpoint_.deliver(std::move(own_early_), *receive);
  if (receive == nullptr && early == nullptr) give_credit(frame_.bytes);  // the receive has failed
  if (receive == nullptr) return;
  receive->source = peer_;
  receive->arrived = frame_.bytes;
  receive->end(Message::State::done);
  give_credit(frame_.bytes);
}

void Incoming::give_present(Inbox::Early early, Message& receive) {
  if (!is_of_use()) return receive.end_early(endpoint_.why_gone(peer_));
  own_early_ = std::move(early);
  receive_ = &receive;
}

void Incoming::fail(const Which& which, const char* reason) {
  const auto skip_present = [&](Incoming& one) {
    const Message* const present = one.message_being_read();
    if (present != nullptr && which(*present)) one.reader_.forget_landing();
  };
  skip_present(*this);
  for (const auto& one : others_) skip_present(*one);
  if (receive_ != nullptr && which(*receive_)) {
    if (std::exchange(own_early_, nullptr)) early_ = nullptr;
    std::exchange(receive_, nullptr)->end_early(reason);
  }
  for (auto& [number, wanted] : wanted_) {
    if (wanted.receive != nullptr && which(*wanted.receive))
      std::exchange(wanted.receive, nullptr)->end_early(reason);
  }
  if (!is_any_open()) wanted_.clear();
}

}  // namespace stretto
