// SPDX-License-Identifier: Apache-2.0
#include "sockets/incoming.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sockets/outgoing.hpp"

namespace stretto {
namespace {

/// A connection may break on one side only. The maker notices that when it sends something or its kernel
/// probes the link.
constexpr std::chrono::seconds longest_break{2 * Connection::seconds_between_probes};

}  // namespace

Incoming::Incoming(Endpoint& endpoint, int peer, Visitor& visitor) : Connection(endpoint, peer) {
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
  configure();
  if (!queue_.go_on_behind(visitor.hello().received)) {
    const int error = broken_ ? std::exchange(broken_, std::nullopt)->error : 0;
    return endpoint_.part_from(peer_, how_data_is_lost(error));
  }
  broken_.reset();
  Welcome welcome{.received = reader_.bytes()};
  std::copy(endpoint_.rails_.begin() + 1, endpoint_.rails_.end(), welcome.more_rails.begin());
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
    case FrameKind::rails:
      endpoint_.take_rails(peer_, RailSet(frame.context));
      return Landing{};
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
