// SPDX-License-Identifier: Apache-2.0
#include "sockets/outgoing.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "sockets/files.hpp"
#include "sockets/incoming.hpp"

namespace stretto {
namespace {

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
  const int bytes = std::max(least, static_cast<int>(round_trip * fastest)) / 2;
  setsockopt(socket.file(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

int error_of(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

/// The most unsent bytes in each of several connections: just enough to keep it busy, so that each takes only
/// the parts that it can carry.
constexpr int most_unsent_of_streams = 256 << 10;
/// A rank whose host does not answer, or whose listener sends this rank away again and again, is lost. A rank
/// that has the connection and does not look at it is only late.
constexpr std::chrono::seconds longest_beginning{60};
constexpr int most_times_sent_away = 600;
/// A rank that leaves closes both of its connections to another rank. Its farewell may come over the other
/// connection: behind all that was sent there, or on a connection that is not even admitted yet.
constexpr std::chrono::milliseconds longest_wait_for_farewell{200};

}  // namespace

Outgoing::Outgoing(Endpoint& endpoint, int peer)
    : Connection(endpoint, peer, &long_sends_, [this] { return should_take_part(); }),
      long_sends_([this](const Message& message) {
        leave_memory(message);
        for (const auto& one : others_) one->leave_memory(message);
      }) {}

Outgoing::Outgoing(Outgoing& first, int stream)
    : Connection(first.endpoint_, first.peer_, &first.long_sends_, [this] { return should_take_part(); }),
      first_(&first),
      long_sends_({}),
      stream_(stream) {
  rail_ = own_rail();
  begin();
}

void Outgoing::connect(const Address& address) {
  if (state_ != State::without_address) return;
  rails_ = {address};
  begin();
}

/// Begins to connect over a rail. Returns no socket, and an error, if that is impossible now.
Socket Outgoing::open_towards(std::size_t rail, int& error) {
  // Connects from the address by which the others know this rank.
  Address own = endpoint_.rails_.at(rail);
  own.port = 0;
  Address address = first_->rails_.at(rail);
  // A scope is this node's own number for the interface.
  if (address.scope != 0) address.scope = own.scope;
  SystemAddress to(address);
  SystemAddress from(own);
  Socket opened = open_file(
      [&] { return ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  error = errno;
  if (!opened) return opened;
  // Ports run short only if each is reserved for a single connection.
  const int without_port = 1;
  if (own.family == 4)
    setsockopt(opened.file(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &without_port, sizeof(without_port));
  if (own.family == address.family) static_cast<void>(bind(opened.file(), from.get(), from.length));
  error = ::connect(opened.file(), to.get(), to.length) != 0 && errno != EINPROGRESS ? errno : 0;
  if (error != 0) opened.close();
  return opened;
}

void Outgoing::begin() {
  is_waiting_ = false;
  began_ = Endpoint::Clock::now();
  trial_.note_beginning();
  rate_.note_beginning();
  address_ = first_->rails_.at(rail_);
  state_ = State::connecting;
  int error = 0;
  socket_ = open_towards(rail_, error);
  if (!socket_) return try_again(error);
  configure();
  if (stream_ > 0) set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent_of_streams);
  writes_ = true;
  if (!endpoint_.poller_.add(socket_, *this, writes_)) try_again(errno);
}

/// Connects again later, unless the rank is gone. A listener that has many visitors closes connections, and a
/// rank that has no file descriptors left gets none.
void Outgoing::try_again(int error) {
  close();
  state_ = State::connecting;
  const bool is_refused = error == ECONNREFUSED && ++times_refused_ >= rails();
  const bool is_gone = is_refused || ++times_sent_away_ > most_times_sent_away;
  if (is_gone) return note_end(error);
  rail_ = next_rail();
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
    endpoint_.part_from(peer_, how_data_is_lost(error_));
    return true;
  }
  if (stream_ == 0) {
    rails_.resize(1);
    for (const Address& one : welcome.more_rails) {
      if (one.family != 0 && rails_.size() < endpoint_.rails_.size()) rails_.push_back(one);
    }
  }
  state_ = State::ready;
  was_ready_ = true;
  error_ = times_sent_away_ = 0;
  times_refused_ = 0;
  trial_.note_made();
  if (rails() > 1) queue_.keep_messages();
  limit_send_buffer(socket_);
  if (streams_ > 1) set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent_of_streams);
  flush();
  return true;
}

bool Outgoing::look(bool readable, bool writable) {
  if (state_ == State::connecting) return (readable || writable) && greet();
  if (state_ == State::greeting) return readable && take_challenge();
  if (state_ == State::answered) return readable && take_welcome();
  const bool has_read = readable && read();
  const bool has_written = writable && flush();
  // What this one leaves may be for another one that nothing else would call.
  if (rails() > 1 && !writes_) first_->share_parts();
  return has_written || has_read;
}

void Outgoing::look_at_clock(Endpoint::Clock::time_point now) {
  for (const auto& one : others_) one->look_at_clock(now);
  if (state_ == State::useless) return;
  if (is_waiting_) return begin();
  if (rails() > 1) look_at_rail(now);
  if (state_ == State::ended) {
    const auto& other = endpoint_.peer(peer_).in;
    const bool may_say_farewell = other != nullptr && other->is_open();
    if (now - ended_ > longest_wait_for_farewell && !may_say_farewell) endpoint_.lose(peer_, how_of(error_));
  } else if (state_ == State::connecting && now - began_ > longest_beginning) {
    if (stream_ > 0) return note_end(ETIMEDOUT);
    Connection::note_end(ETIMEDOUT);
  }
}

/// Returns the rail to be tried next.
std::size_t Outgoing::next_rail() const {
  const RailSet out_of_order = endpoint_.out_of_order(peer_);
  for (std::size_t step = 1; step < rails(); ++step) {
    const std::size_t one = (rail_ + step) % rails();
    if (!out_of_order[one]) return one;
  }
  return rail_;
}

/// Makes the connection again. The other side sees a reset: by a close it would know that this rank ends.
void Outgoing::go_over(std::size_t rail) {
  look_at_acknowledged();
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_.file(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  close();
  rail_ = rail;
  begin();
}

/// Whether this connection takes the next part of a long message. It does not if the others are expected to
/// carry all that is left before this one has carried that part: a slow rail must not be what all wait for.
bool Outgoing::should_take_part() {
  if (rails() == 1) return true;
  const auto now = Endpoint::Clock::now();
  const auto part = static_cast<double>(first_->long_sends_.bytes_of_next());
  const auto seconds_for_part = [&](const Outgoing& one, double rate) {
    return (static_cast<double>(one.queue_.bytes_left()) + part) / rate;
  };
  if (const auto counted = read_tcp_delivery(socket_.file())) rate_.note(now, *counted);
  const std::optional<double> own = rate_.at(now);
  if (!own) return true;
  auto bytes = static_cast<double>(first_->long_sends_.bytes());
  double all = 0;
  double soonest = std::numeric_limits<double>::infinity();
  for (std::size_t number = 0; number < first_->streams_; ++number) {
    const Outgoing& one = first_->stream(number);
    const std::optional<double> rate = one.rate_.at(now);
    if (&one == this || !one.is_ready() || !rate) continue;
    all += *rate;
    bytes += static_cast<double>(one.queue_.bytes_left());
    soonest = std::min(soonest, seconds_for_part(one, *rate));
  }
  return all == 0 || seconds_for_part(*this, *own) <= std::max(soonest, bytes / all);
}

/// Leaves a rail that carries nothing, and comes back to its own one.
void Outgoing::look_at_rail(Endpoint::Clock::time_point now) {
  if (state_ == State::ended) return;
  first_->share_parts();  // a rail may have become slower
  if (endpoint_.out_of_order(peer_)[rail_] || carries_nothing(now)) {
    if (const std::size_t next = next_rail(); next != rail_) go_over(next);
  } else if (state_ == State::ready && rail_ != own_rail() && own_rail_carries_again(now)) {
    go_over(own_rail());
  }
}

/// Whether a first packet, or what was sent, has got no answer for so long that the rail may be cut.
bool Outgoing::carries_nothing(Endpoint::Clock::time_point now) {
  if (!socket_) return false;
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(socket_.file(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
  // Before the first answer, the kernel has assumed a second.
  const bool is_measured = info.tcpi_state == TCP_ESTABLISHED;
  const std::chrono::microseconds round_trip(is_measured ? info.tcpi_rtt + 4 * info.tcpi_rttvar : 0);
  look_at_acknowledged();
  return trial_.is_silent(now, info.tcpi_unacked > 0, queue_.acknowledged(), round_trip);
}

bool Outgoing::own_rail_carries_again(Endpoint::Clock::time_point now) {
  if (endpoint_.out_of_order(peer_)[own_rail()]) return false;
  return trial_.carries(now, [&] {
    int error = 0;
    return open_towards(own_rail(), error);
  });
}

bool Outgoing::needs_clock() const {
  const bool needs_other_rail = endpoint_.rails_.size() > 1 && state_ == State::ready &&
                                (queue_.bytes_left() > 0 || long_sends_.has_next() || rail_ != own_rail());
  return state_ == State::connecting || state_ == State::ended || needs_other_rail ||
         std::ranges::any_of(others_, [](const auto& one) { return one->needs_clock(); });
}

void Outgoing::leave_memory(const Message& message) {
  if (rails() > 1) look_at_acknowledged();
  queue_.leave_memory(message);
}

void Outgoing::note_end(int error) {
  look_at_acknowledged();
  close();
  if (error_ == 0) error_ = error;
  if (state_ == State::ready && error != 0 && endpoint_.is_needed(peer_)) return go_over(next_rail());
  const bool was_of_use = stream_ == 0 || was_ready_;
  state_ = was_of_use ? State::ended : State::useless;
  if (!was_of_use) return;
  ended_ = Endpoint::Clock::now();
  endpoint_.look_soon();
}

/// Returns the length up to which messages are sent whole.
std::size_t Outgoing::longest_whole() const {
  return Endpoint::streams() > 1 || rails() > 1 ? longest_whole_of_streams : longest_whole_message;
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
  if (rails() > 1) endpoint_.look_soon();
}

void Outgoing::tell_rails(RailSet out_of_order) {
  queue_.add({.kind = FrameKind::rails, .context = out_of_order.to_ulong()});
  flush();
}

/// A connection that waits to connect again has no socket. Short messages that were offered for their credit
/// count, long ones do not. A connection that is being made counts for its messages only: a rank that is busy
/// with something else may take long to welcome it, and needs no news of a rank that it has not waited for.
std::size_t Outgoing::bytes_left() const {
  if (state_ == State::ended || state_ == State::useless || state_ == State::without_address) return 0;
  if (!is_ready() && !queue_.has_messages() && offered_.empty()) return 0;
  std::size_t all = long_sends_.bytes() + (is_ready() ? Connection::bytes_left() : queue_.bytes_left());
  for (const auto& one : others_) all += one->is_ready() ? one->bytes_left() : 0;
  for (const auto& [number, message] : offered_)
    all += message->bytes <= longest_whole() ? credit_for(message->bytes) : 0;
  return all;
}

void Outgoing::use_streams(std::size_t streams) {
  if (streams == streams_) return;
  streams_ = streams;
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, streams > 1 ? most_unsent_of_streams : 0);
  while (others_.size() + 1 < streams)
    others_.push_back(std::make_unique<Outgoing>(*this, static_cast<int>(others_.size()) + 1));
}

/// Sends a long message in parts over all connections that have room.
void Outgoing::send_long(std::uint64_t number, Message& message) {
  const auto streams = static_cast<std::size_t>(Endpoint::streams());
  use_streams((streams + rails() - 1) / rails() * rails());  // as many on each rail
  const std::size_t parts_each = rails() > 1 ? 4 : 1;        // so that a faster rail takes more
  const std::size_t part = streams_ > 1 ? std::clamp(message.bytes / (streams_ * parts_each),
                                                     longest_whole_of_streams, longest_part_of_streams)
                                        : longest_part;
  long_sends_.add(number, message, part);
  if (streams_ == 1) {
    if (!writes_) flush();
    return;
  }
  share_parts();
}

/// Gives parts of long messages to the connections that have room. They take turns, so even a message that
/// one of them could take alone goes over all.
void Outgoing::share_parts() {
  std::size_t vain = 0;
  while (vain < streams_ && long_sends_.has_next()) {
    Outgoing& one = stream(next_stream_++ % streams_);
    const std::size_t before = long_sends_.bytes();
    if (!one.writes_) one.flush(1);
    vain = long_sends_.bytes() < before ? 0 : vain + 1;
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

}  // namespace stretto
