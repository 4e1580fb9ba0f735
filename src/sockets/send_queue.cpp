// SPDX-License-Identifier: Apache-2.0
#include "sockets/send_queue.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stretto {

void SendQueue::add(const Frame& frame, Message* message) {
  Entry& entry = entries_.emplace_back();
  entry.frame = frame;
  entry.reads = entry.message = message;
  if (message == nullptr) return;
  entry.data = message->data;
  entry.bytes = message->bytes;
}

void SendQueue::add_copied(const Frame& frame, const std::byte* data) {
  Entry& entry = entries_.emplace_back();
  entry.frame = frame;
  entry.bytes = frame.bytes;
  entry.copy = std::make_unique<std::byte[]>(entry.bytes);
  std::memcpy(entry.copy.get(), data, entry.bytes);
  entry.data = entry.copy.get();
}

bool SendQueue::take_part() {
  const std::optional<LongSends::Part> part = long_sends_ == nullptr ? std::nullopt : long_sends_->next();
  if (!part) return false;
  Entry& entry = entries_.emplace_back();
  entry.frame = {
      .kind = FrameKind::part, .context = part->offset, .bytes = part->bytes, .number = part->number};
  entry.reads = part->message;
  entry.data = part->data;
  entry.bytes = part->bytes;
  return true;
}

SendQueue::State SendQueue::write(int file, std::size_t most_parts) {
  constexpr std::size_t most_at_once = 32;
  constexpr std::size_t most_bytes = std::size_t{4} << 20;  // other connections and threads wait meanwhile
  std::size_t all_sent = 0;
  while (!entries_.empty() || (most_parts-- > 0 && take_part())) {
    if (all_sent > most_bytes) return State::blocked;
    std::array<iovec, most_at_once> places{};
    std::size_t count = 0;
    std::size_t skipped = written_;
    const auto add_place = [&](const void* data, std::size_t bytes) {
      const std::size_t skip = std::min(skipped, bytes);
      skipped -= skip;
      if (bytes > skip) {
        places.at(count++) = {.iov_base = static_cast<std::byte*>(const_cast<void*>(data)) + skip,
                              .iov_len = bytes - skip};
      }
    };
    for (const Entry& entry : entries_) {
      if (count + 2 > most_at_once) break;
      add_place(&entry.frame, sizeof(Frame));
      add_place(entry.data, entry.bytes);
    }
    msghdr message{};
    message.msg_iov = places.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(file, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::blocked;
    if (sent < 0) {
      error_ = errno;
      return State::broken;
    }
    all_sent += static_cast<std::size_t>(sent);
    written_ += static_cast<std::size_t>(sent);
    all_written_ += static_cast<std::size_t>(sent);
    while (!entries_.empty() && written_ >= sizeof(Frame) + entries_.front().bytes) finish_first();
    if (written_ > 0 && entries_.front().reads != nullptr) entries_.front().reads->note_step();
  }
  return State::empty;
}

bool SendQueue::go_on_behind(std::uint64_t read) {
  if (read > all_written_ || all_written_ - read > written_) return false;
  written_ -= static_cast<std::size_t>(all_written_ - read);
  all_written_ = read;
  error_ = 0;
  return true;
}

std::size_t SendQueue::bytes() const {
  std::size_t all = 0;
  for (const Entry& entry : entries_) all += sizeof(Frame) + entry.bytes;
  return all - written_;
}

bool SendQueue::has_messages() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return entry.message != nullptr; });
}

void SendQueue::finish_first() {
  Entry done = std::move(entries_.front());
  entries_.pop_front();
  written_ -= sizeof(Frame) + done.bytes;
  if (done.message != nullptr) done.message->end(Message::State::done);
  if (done.frame.kind == FrameKind::part) long_sends_->note_written(done.frame.number, done.bytes);
}

std::size_t SendQueue::fail(const Which& which, const char* reason) {
  std::size_t credit = 0;
  std::size_t left = 0;  // entries that stay
  for (Entry& entry : entries_) {
    const bool fails = entry.reads != nullptr && which(*entry.reads);
    const bool stays = !fails || (written_ > 0 && left == 0);
    if (fails) {
      if (stays) {
        entry.copy = std::make_unique<std::byte[]>(entry.bytes);
        if (entry.bytes > 0) std::memcpy(entry.copy.get(), entry.data, entry.bytes);
        entry.data = entry.copy.get();
      } else if (entry.frame.kind == FrameKind::message) {
        credit += credit_for(entry.bytes);
      }
      entry.reads = nullptr;
      if (Message* message = std::exchange(entry.message, nullptr)) message->end_early(reason);
    }
    if (stays && &entry != &entries_[left]) entries_[left] = std::move(entry);
    left += stays ? 1 : 0;
  }
  entries_.resize(left);
  return credit;
}

}  // namespace stretto
