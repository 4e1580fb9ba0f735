// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/messages/connection_transport.hpp"
#include "engine/messages/connections.hpp"
#include "engine/messages/transport.hpp"

namespace stretto {

/// Returns what carries the messages of a communicator of Stretto's own, whose ranks have the same numbers in
/// MPI_COMM_WORLD: the MPI library or, in a job without one, connections.
std::unique_ptr<Transport> make_transport(MPI_Comm comm);

/// The messages of an execution that a transport carries, one in each slot. Beside an MPI library,
/// connections between nodes carry the long ones.
class MessageSlots {
 public:
  explicit MessageSlots(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  /// To be called before a call's first message. Connections carry messages between nodes of
  /// `connections_from` bytes or more (CallResources::connections_from). `element` must stay.
  void begin(std::size_t slots, const Element& element, std::size_t connections_from);
  void keep(std::size_t messages) { transport_->keep(messages); }

  /// See Transport.
  bool post(const Posting& posting, std::size_t slot, int& error) {
    return (goes_between(posting) ? *between_ : *transport_).post(posting, slot, error);
  }
  void take_back();
  [[nodiscard]] bool takes_back() const { return transport_->takes_back(); }
  [[nodiscard]] std::uint64_t steps() const {
    return transport_->steps() + (between_ ? between_->steps() : 0);
  }
  [[nodiscard]] std::size_t count() const { return transport_->count() + (between_ ? between_->count() : 0); }
  [[nodiscard]] bool is_pending(std::size_t slot) const {
    return transport_->is_pending(slot) || (between_ && between_->is_pending(slot));
  }
  int check(const Element& element) { return transport_->check(element); }
  int note_ended(int peer, bool gave_up_call) { return transport_->note_ended(peer, gave_up_call); }
  void drive() { transport_->drive(); }
  /// Does the same unless tests of these messages do.
  void drive_if_idle() {
    if (transport_->count() == 0) drive();
  }

  /// Calls completed(message) for each message that has completed in the first `slots` slots. completed() may
  /// post others. Returns how many there were. Writes the error if the test itself fails.
  template <typename Handle>
  std::size_t test(std::size_t slots, const Handle& handle, int& error) {
    completed_.clear();
    if (between_ && between_->count() > 0) between_->test(slots, completed_);
    if (transport_->count() > 0) error = transport_->test(slots, completed_);
    for (const Completed& message : completed_) handle(message);
    return completed_.size();
  }

 private:
  [[nodiscard]] bool goes_between(const Posting& posting) const;

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ConnectionTransport> between_;
  Connections* connections_ = nullptr;  // nullptr: the transport carries all messages
  std::size_t least_between_ = 0;       // elements
  std::vector<Completed> completed_;
};

}  // namespace stretto
