// SPDX-License-Identifier: Apache-2.0
#include "sockets/long_sends.hpp"

#include <algorithm>
#include <numeric>

namespace stretto {

void LongSends::add(std::uint64_t number, Message& message, std::size_t most_at_once) {
  waiting_.push_back({.number = number, .message = &message, .most_at_once = most_at_once});
}

std::optional<LongSends::Part> LongSends::next() {
  if (waiting_.empty()) return std::nullopt;
  Send send = waiting_.front();
  waiting_.pop_front();
  const Part part{.number = send.number,
                  .offset = send.taken,
                  .data = send.message->data + send.taken,
                  .bytes = send.bytes_of_next(),
                  .message = send.message};
  send.taken += part.bytes;
  (send.taken < send.message->bytes ? waiting_ : taken_).push_back(send);
  return part;
}

std::size_t LongSends::bytes_of_next() const {
  return waiting_.front().bytes_of_next();
}

void LongSends::note_written(std::uint64_t number, std::size_t bytes) {
  for (std::deque<Send>* const among : {&taken_, &waiting_}) {
    const auto found = std::ranges::find(*among, number, &Send::number);
    if (found == among->end()) continue;
    found->written += bytes;
    found->message->note_step();
    if (found->written < found->message->bytes) return;
    Message* const message = found->message;
    among->erase(found);
    leave_memory_(*message);
    return message->end(Message::State::done);
  }
}

std::size_t LongSends::bytes() const {
  return std::accumulate(
      waiting_.begin(), waiting_.end(), std::size_t{0},
      [](std::size_t sum, const Send& one) { return sum + one.message->bytes - one.taken; });
}

void LongSends::fail(const Which& which, const char* reason) {
  for (std::deque<Send>* const among : {&taken_, &waiting_}) {
    std::erase_if(*among, [&](const Send& one) {
      if (!which(*one.message)) return false;
      one.message->end_early(reason);
      return true;
    });
  }
}

}  // namespace stretto
