// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/message_slots.hpp"

#include "engine/messages/call_resources.hpp"
#include "engine/messages/library_transport.hpp"

namespace stretto {

std::unique_ptr<Transport> make_transport(MPI_Comm comm) {
  if (mpi.has_library()) return std::make_unique<LibraryTransport>(comm);
  return std::make_unique<ConnectionTransport>(mpi.endpoint(), mpi.context_of(comm));
}

void MessageSlots::begin(std::size_t slots, const Element& element, std::size_t connections_from) {
  transport_->begin(slots, element);
  completed_.reserve(slots);
  // Sending elements without gaps is sending bytes.
  const bool may_go_between = connections_from != CallResources::no_connections && element.contiguous();
  connections_ = may_go_between ? connections() : nullptr;
  if (connections_ == nullptr) return;
  if (!between_ || !between_->goes_over(connections_->endpoint()))
    between_ = std::make_unique<ConnectionTransport>(connections_->endpoint(), Connections::context);
  between_->begin(slots, element);
  const auto size = static_cast<std::size_t>(element.size);
  least_between_ = size == 0 ? SIZE_MAX : (connections_from + size - 1) / size;
}

bool MessageSlots::goes_between(const Posting& posting) const {
  return connections_ != nullptr && posting.expected >= least_between_ && connections_->lead_to(posting.peer);
}

void MessageSlots::take_back() {
  if (between_) between_->take_back();
  transport_->take_back();
}

}  // namespace stretto
