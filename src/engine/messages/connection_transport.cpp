// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/connection_transport.hpp"

#include "mpi/mpi.hpp"

namespace stretto {
namespace {

/// Returns the error code of a message that has failed.
int code_of(const char* reason) {
  return mpi.code_of == nullptr ? mpi.err_other : mpi.code_of(reason);
}

}  // namespace

void ConnectionTransport::begin(std::size_t slots, const Element& element) {
  element_ = &element;
  if (is_pending_.size() >= slots) return;
  messages_ = std::make_unique<Message[]>(slots);
  is_pending_.assign(slots, 0);
}

bool ConnectionTransport::post(const Posting& posting, std::size_t slot, int& /*error*/) {
  Message& message = messages_[slot];
  message.state.store(Message::State::pending, std::memory_order_relaxed);
  message.sends = posting.sends;
  message.peer = posting.peer;
  message.context = context_;
  message.tag = posting.tag;
  message.data = static_cast<std::byte*>(posting.buffer);
  message.bytes = posting.count * static_cast<std::size_t>(element_->size);
  message.arrived = 0;
  is_pending_[slot] = 1;
  ++count_;
  endpoint_.start(message);
  return true;
}

int ConnectionTransport::test(std::size_t slots, std::vector<Completed>& completed) {
  if (take_completed(slots, completed)) return MPI_SUCCESS;
  endpoint_.progress();
  take_completed(slots, completed);
  return MPI_SUCCESS;
}

bool ConnectionTransport::take_completed(std::size_t slots, std::vector<Completed>& completed) {
  const std::size_t before = completed.size();
  std::size_t left = count_;
  for (std::size_t slot = 0; slot < slots && left > 0; ++slot) {
    if (!is_pending(slot)) continue;
    --left;
    if (messages_[slot].has_ended()) completed.push_back(take(slot));
  }
  return completed.size() > before;
}

Completed ConnectionTransport::take(std::size_t slot) {
  const Message& message = messages_[slot];
  is_pending_[slot] = 0;
  --count_;
  if (message.state == Message::State::failed) return {.slot = slot, .error = code_of(message.reason)};
  if (message.sends) return {.slot = slot};
  return {.slot = slot,
          .error = message.arrived > message.bytes ? mpi.err_truncate : MPI_SUCCESS,
          .arrived = message.arrived};
}

void ConnectionTransport::take_back() {
  for (std::size_t slot = 0; slot < is_pending_.size() && count_ > 0; ++slot) {
    if (!is_pending(slot)) continue;
    endpoint_.abort(messages_[slot], "a call was given up");
    take(slot);
  }
}

std::uint64_t ConnectionTransport::steps() const {
  std::uint64_t all = 0;
  for (std::size_t slot = 0; slot < is_pending_.size() && count_ > 0; ++slot)
    all += is_pending(slot) ? messages_[slot].steps.load(std::memory_order_relaxed) : 0;
  return all;
}

int ConnectionTransport::note_ended(int peer, bool gave_up_call) {
  return mpi.note_ended == nullptr ? MPI_SUCCESS : mpi.note_ended(peer, gave_up_call);
}

}  // namespace stretto
