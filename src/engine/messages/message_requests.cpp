// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/message_requests.hpp"

#include <climits>
#include <optional>

#include "engine/data/bytes_type.hpp"
#include "engine/messages/call_resources.hpp"

namespace stretto {
namespace {

/// Requests of shorter messages are not kept. Open MPI sends a new short message at once, without making a
/// request, in half the time that starting a kept one takes. On MPICH there is no difference. (Two ranks on
/// one node.)
constexpr std::size_t least_kept_bytes = 512;

int class_of(int code) {
  int result = code;
  mpi.Error_class(code, &result);
  return result;
}

}  // namespace

std::optional<int> CompletedMessage::arrived(const Element& element) const {
  if (own != nullptr) return static_cast<int>(own->arrived / static_cast<std::size_t>(element.size));
  if (mpi.Get_count == nullptr) return std::nullopt;
  int arrived = 0;
  mpi.Get_count(status, element.datatype, &arrived);
  return arrived;
}

MessageRequests::~MessageRequests() {
  // Nothing may be read from or written to the memory of a message that will not end.
  take_back();
  // These requests are left if a call gave up while nothing was in flight (Execution::leaves_memory).
  for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
    if (requests_[slot] != mpi.request_null && kept_of_[slot] == nullptr) mpi.Request_free(&requests_[slot]);
  }
  for (MPI_Request& request : kept_) {
    if (request != mpi.request_null) mpi.Request_free(&request);
  }
}

void MessageRequests::take_back() {
  for (std::size_t slot = 0; slot < is_own_.size() && own_count_ > 0; ++slot) {
    if (!is_own(slot)) continue;
    connections_->endpoint().abort(own_[slot], "a call was given up");
    take_own(slot);
  }
  if (mpi.has_library()) return;
  for (MPI_Request& request : requests_) {
    if (request != mpi.request_null) mpi.Cancel(&request);
  }
}

std::uint64_t MessageRequests::steps() const {
  std::uint64_t all = 0;
  for (std::size_t slot = 0; slot < is_own_.size() && own_count_ > 0; ++slot)
    all += is_own(slot) ? own_[slot].steps.load(std::memory_order_relaxed) : 0;
  if (mpi.steps == nullptr) return all;
  for (MPI_Request request : requests_) all += mpi.steps(request);
  return all;
}

void MessageRequests::begin(std::size_t slots, std::size_t connections_from) {
  count_ = 0;
  connections_from_ = connections_from;
  connections_ = connections_from == CallResources::no_connections ? nullptr : connections();
  if (connections_ != nullptr && is_own_.size() < slots) {
    own_ = std::make_unique<Message[]>(slots);
    is_own_.assign(slots, 0);
  }
  if (requests_.size() >= slots) return;
  requests_.resize(slots, mpi.request_null);
  kept_of_.resize(slots);
  completed_.resize(slots);
  statuses_.resize(slots);
}

bool MessageRequests::post(const Posting& posting, const Element& element, std::size_t slot,
                           std::size_t number, int& error) {
  // Sending elements without gaps is sending bytes.
  if (connections_ != nullptr && element.contiguous() && connections_->lead_to(posting.peer) &&
      posting.expected * static_cast<std::size_t>(element.size) >= connections_from_) {
    post_own(posting, element, slot);
    return true;
  }
  MPI_Request& request = requests_[slot];
  const bool is_kept = number < kept_.size() && posting.count > 0 && posting.count <= INT_MAX &&
                       posting.count * static_cast<std::size_t>(element.size) >= least_kept_bytes;
  kept_of_[slot] = is_kept ? &kept_[number] : nullptr;
  const int code =
      is_kept ? post_kept(posting, element, kept_of_[slot], &request) : post_once(posting, element, &request);
  if (code != MPI_SUCCESS) {
    error = code;
    kept_of_[slot] = nullptr;
    const Posting empty{.peer = posting.peer, .tag = posting.tag, .sends = posting.sends};
    if (post_once(empty, element, &request) != MPI_SUCCESS) {
      request = mpi.request_null;
      return false;
    }
  }
  ++count_;
  return true;
}

void MessageRequests::post_own(const Posting& posting, const Element& element, std::size_t slot) {
  Message& message = own_[slot];
  message.state.store(Message::State::pending, std::memory_order_relaxed);
  message.sends = posting.sends;
  message.peer = posting.peer;
  message.context = Connections::context;
  message.tag = posting.tag;
  message.data = static_cast<std::byte*>(posting.buffer);
  message.bytes = posting.count * static_cast<std::size_t>(element.size);
  message.arrived = 0;
  is_own_[slot] = 1;
  ++own_count_;
  ++count_;
  connections_->endpoint().start(message);
}

int MessageRequests::take_own(std::size_t slot) {
  const Message& message = own_[slot];
  is_own_[slot] = 0;
  --own_count_;
  --count_;
  if (message.state == Message::State::failed) return mpi.err_other;
  return !message.sends && message.arrived > message.bytes ? mpi.err_truncate : MPI_SUCCESS;
}

/// Returns an MPI error code.
int MessageRequests::post_once(const Posting& posting, const Element& element, MPI_Request* request) const {
  // Only blocks that cannot be cut have so many elements, and these are bytes.
  std::optional<BytesType> long_type;
  if (posting.count > INT_MAX) long_type.emplace(posting.count);
  const int count = long_type ? 1 : static_cast<int>(posting.count);
  MPI_Datatype datatype = count == 0 ? MPI_Datatype{mpi.byte} : element.datatype;
  if (long_type) datatype = long_type->handle();
  return posting.sends
             ? mpi.Isend(posting.buffer, count, datatype, posting.peer, posting.tag, comm_, request)
             : mpi.Irecv(posting.buffer, count, datatype, posting.peer, posting.tag, comm_, request);
}

int MessageRequests::post_kept(const Posting& posting, const Element& element, MPI_Request* kept,
                               MPI_Request* request) const {
  if (*kept == mpi.request_null) {
    const int count = static_cast<int>(posting.count);
    const int code =
        posting.sends
            ? mpi.Send_init(posting.buffer, count, element.datatype, posting.peer, posting.tag, comm_, kept)
            : mpi.Recv_init(posting.buffer, count, element.datatype, posting.peer, posting.tag, comm_, kept);
    if (code != MPI_SUCCESS) return code;
  }
  *request = *kept;
  return mpi.Start(request);
}

int MessageRequests::find_completed(std::size_t slots, int& error) {
  int done = 0;
  const int code =
      mpi.Testsome(static_cast<int>(slots), requests_.data(), &done, completed_.data(), statuses_.data());
  tells_errors_ = code != MPI_SUCCESS && class_of(code) == mpi.err_in_status;
  if (code != MPI_SUCCESS && !tells_errors_) {
    error = code;
    return 0;
  }
  return done == mpi.undefined ? 0 : done;
}

/// Returns the error of a message that has completed.
int MessageRequests::take(std::size_t slot, const MPI_Status* status) {
  const int error = tells_errors_ ? error_of(status) : MPI_SUCCESS;
  MPI_Request* const kept = kept_of_[slot];
  // Open MPI frees a request that failed.
  if (error != MPI_SUCCESS && kept != nullptr && requests_[slot] == mpi.request_null)
    *kept = mpi.request_null;
  requests_[slot] = mpi.request_null;  // a kept request stays
  --count_;
  return error;
}

}  // namespace stretto
