// SPDX-License-Identifier: Apache-2.0
#include "sockets/send_queue.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stretto {
namespace {

/// Up to here, bytes are copied before the kernel is asked whether they have arrived.
constexpr std::size_t most_unasked = std::size_t{64} << 10;
/// The longest copy whose memory is used again, and the most of these.
constexpr std::size_t most_spared = longest_whole_of_streams;
constexpr std::size_t most_spares = 8;

}  // namespace

void SendQueue::copy_behind(Entry& entry, std::size_t gone) {
  if (entry.bytes <= most_spared && !spare_.empty()) {
    entry.copy = std::move(spare_.back());
    spare_.pop_back();
  }
  entry.gone = gone;
  entry.copy.assign(entry.data + gone, entry.data + entry.bytes);
  entry.data = entry.copy.data();
}

void SendQueue::keep_behind(Entry& entry, std::size_t done) {
  const bool is_copied = entry.reads == nullptr;
  entry.reads = nullptr;
  if (!is_copied && entry.bytes > 0)
    copy_behind(entry, std::min(entry.bytes, done - std::min(done, sizeof(Frame))));
}

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
  entry.data = data;
  copy_behind(entry, 0);
}

bool SendQueue::take_part() {
  if (long_sends_ == nullptr || !long_sends_->has_next() || (takes_part_ && !takes_part_())) return false;
  const std::optional<LongSends::Part> part = long_sends_->next();
  Entry& entry = entries_.emplace_back();
  entry.frame = {
      .kind = FrameKind::part, .context = part->offset, .bytes = part->bytes, .number = part->number};
  entry.reads = part->message;
  entry.is_part = true;
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
    const auto add_place = [&](const void* data, std::size_t bytes, std::size_t gone = 0) {
      const std::size_t skip = std::min(skipped, bytes);
      skipped -= skip;
      if (bytes > skip) {
        places.at(count++) = {.iov_base = static_cast<std::byte*>(const_cast<void*>(data)) + skip - gone,
                              .iov_len = bytes - skip};
      }
    };
    for (const Entry& entry : entries_) {
      if (count + 2 > most_at_once) break;
      add_place(&entry.frame, sizeof(Frame));
      add_place(entry.data, entry.bytes, entry.gone);
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
    if (keeps_messages_ && bytes_on_their_way_ + written_ > most_unasked) look_at_acknowledged(file);
    while (!entries_.empty() && written_ >= entries_.front().size()) finish_first();
    if (written_ > 0 && entries_.front().reads != nullptr) entries_.front().reads->note_step();
  }
  return State::empty;
}

bool SendQueue::go_on_behind(std::uint64_t read) {
  if (read > all_written_) return false;
  const std::uint64_t unread = all_written_ - read;
  while (unread > written_) {
    if (on_their_way_.empty()) return false;
    written_ += on_their_way_.back().size();
    bytes_on_their_way_ -= on_their_way_.back().size();
    entries_.push_front(std::move(on_their_way_.back()));
    on_their_way_.pop_back();
  }
  written_ -= static_cast<std::size_t>(unread);
  all_written_ = acknowledged_ = read;
  forget_on_their_way();
  error_ = 0;
  const std::size_t gone = entries_.empty() ? 0 : entries_.front().gone;
  return gone == 0 || written_ >= sizeof(Frame) + gone;
}

/// Returns the number of bytes of the first entry on its way that need not be sent again.
std::size_t SendQueue::acknowledged_of_first() const {
  const std::uint64_t begin = all_written_ - written_ - bytes_on_their_way_;
  return static_cast<std::size_t>(acknowledged_ - std::min(acknowledged_, begin));
}

void SendQueue::forget_on_their_way() {
  on_their_way_.clear();
  bytes_on_their_way_ = 0;
}

void SendQueue::look_at_acknowledged(int file) {
  int unread = 0;
  if (ioctl(file, SIOCOUTQ, &unread) != 0) return;
  acknowledged_ =
      std::max(acknowledged_, all_written_ - std::min(all_written_, static_cast<std::uint64_t>(unread)));
  while (!on_their_way_.empty() && acknowledged_of_first() >= on_their_way_.front().size()) {
    Entry& first = on_their_way_.front();
    bytes_on_their_way_ -= first.size();
    if (!first.copy.empty() && first.bytes <= most_spared && spare_.size() < most_spares)
      spare_.push_back(std::move(first.copy));
    on_their_way_.pop_front();
  }
}

void SendQueue::leave_memory(const Message& message) {
  if (!keeps_messages_) return;
  std::size_t begin = 0;  // of an entry, behind that of the first one
  const std::size_t acknowledged = acknowledged_of_first();
  for (Entry& entry : on_their_way_) {
    if (entry.reads == &message) keep_behind(entry, acknowledged - std::min(acknowledged, begin));
    begin += entry.size();
  }
}

std::size_t SendQueue::bytes() const {
  std::size_t all = 0;
  for (const Entry& entry : entries_) all += entry.size();
  return all - written_;
}

bool SendQueue::has_messages() const {
  return std::ranges::any_of(entries_, &Entry::is_of_message) ||
         std::ranges::any_of(on_their_way_, &Entry::is_of_message);
}

void SendQueue::finish_first() {
  Entry& done = on_their_way_.emplace_back(std::move(entries_.front()));
  entries_.pop_front();
  written_ -= done.size();
  bytes_on_their_way_ += done.size();
  const Frame frame = done.frame;
  Message* const message = std::exchange(done.message, nullptr);
  const bool ends_part = std::exchange(done.is_part, false);
  if (done.is_of_message() && !keeps_messages_) forget_on_their_way();
  if (message != nullptr) {
    leave_memory(*message);
    message->end(Message::State::done);
  }
  if (ends_part) long_sends_->note_written(frame.number, frame.bytes);
}

std::size_t SendQueue::fail(const Which& which, const char* reason) {
  std::size_t credit = 0;
  std::size_t left = 0;  // entries that stay
  for (Entry& entry : on_their_way_) {
    if (entry.reads != nullptr && which(*entry.reads)) leave_memory(*entry.reads);
  }
  for (Entry& entry : entries_) {
    const bool fails = entry.reads != nullptr && which(*entry.reads);
    const bool stays = !fails || (written_ > 0 && left == 0);
    if (fails) {
      if (stays) {
        keep_behind(entry, 0);
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
