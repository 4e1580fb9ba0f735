// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/library_transport.hpp"

#include <algorithm>
#include <climits>
#include <optional>

#include "engine/data/bytes_type.hpp"
#include "engine/messages/library_progress.hpp"

namespace stretto {
namespace {

/// Requests of shorter messages are not kept. Open MPI sends a new short message at once, without making a
/// request, in half the time that starting a kept one takes. On MPICH there is no difference. (Two ranks on
/// one node.)
constexpr std::size_t least_kept_bytes = 512;
/// A call of more messages than this posts them anew each time: a request of the library takes some 500
/// bytes.
constexpr std::size_t most_kept = 8192;

int class_of(int code) {
  int result = code;
  mpi.Error_class(code, &result);
  return result;
}

}  // namespace

LibraryTransport::~LibraryTransport() {
  // These requests are left if a call gave up while nothing was in flight (Execution::leaves_memory).
  for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
    if (requests_[slot] != mpi.request_null && kept_of_[slot] == nullptr) mpi.Request_free(&requests_[slot]);
  }
  for (MPI_Request& request : kept_) {
    if (request != mpi.request_null) mpi.Request_free(&request);
  }
}

void LibraryTransport::begin(std::size_t slots, const Element& element) {
  count_ = 0;
  element_ = &element;
  if (requests_.size() >= slots) return;
  requests_.resize(slots, mpi.request_null);
  kept_of_.resize(slots);
  is_counted_.resize(slots);
  indices_.resize(slots);
  statuses_.resize(slots);
}

void LibraryTransport::keep(std::size_t messages) {
  if (messages <= most_kept) kept_.resize(messages, mpi.request_null);
}

bool LibraryTransport::post(const Posting& posting, std::size_t slot, int& error) {
  MPI_Request& request = requests_[slot];
  const bool fits = posting.count <= INT_MAX;
  const bool is_kept = posting.number < kept_.size() && posting.count > 0 && fits &&
                       posting.count * static_cast<std::size_t>(element_->size) >= least_kept_bytes;
  kept_of_[slot] = is_kept ? &kept_[posting.number] : nullptr;
  is_counted_[slot] = !posting.sends && fits ? 1 : 0;
  const int code = is_kept ? post_kept(posting, kept_of_[slot], &request) : post_once(posting, &request);
  if (code != MPI_SUCCESS) {
    error = code;
    kept_of_[slot] = nullptr;
    const Posting empty{.peer = posting.peer, .tag = posting.tag, .sends = posting.sends};
    if (post_once(empty, &request) != MPI_SUCCESS) {
      request = mpi.request_null;
      return false;
    }
  }
  ++count_;
  return true;
}

/// Returns an MPI error code.
int LibraryTransport::post_once(const Posting& posting, MPI_Request* request) const {
  // Only blocks that cannot be cut have so many elements, and these are bytes.
  std::optional<BytesType> long_type;
  if (posting.count > INT_MAX) long_type.emplace(posting.count);
  const int count = long_type ? 1 : static_cast<int>(posting.count);
  MPI_Datatype datatype = count == 0 ? MPI_Datatype{mpi.byte} : element_->datatype;
  if (long_type) datatype = long_type->handle();
  return posting.sends
             ? mpi.Isend(posting.buffer, count, datatype, posting.peer, posting.tag, comm_, request)
             : mpi.Irecv(posting.buffer, count, datatype, posting.peer, posting.tag, comm_, request);
}

int LibraryTransport::post_kept(const Posting& posting, MPI_Request* kept, MPI_Request* request) const {
  if (*kept == mpi.request_null) {
    const int count = static_cast<int>(posting.count);
    const auto type = element_->datatype;
    const int code = posting.sends
                         ? mpi.Send_init(posting.buffer, count, type, posting.peer, posting.tag, comm_, kept)
                         : mpi.Recv_init(posting.buffer, count, type, posting.peer, posting.tag, comm_, kept);
    if (code != MPI_SUCCESS) return code;
  }
  *request = *kept;
  return mpi.Start(request);
}

int LibraryTransport::test(std::size_t slots, std::vector<Completed>& completed) {
  int done = 0;
  const int code =
      mpi.Testsome(static_cast<int>(slots), requests_.data(), &done, indices_.data(), statuses_.data());
  const bool tells_errors = code != MPI_SUCCESS && class_of(code) == mpi.err_in_status;
  if (code != MPI_SUCCESS && !tells_errors) return code;
  if (done == mpi.undefined) return MPI_SUCCESS;
  for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i)
    completed.push_back(take(static_cast<std::size_t>(indices_[i]), statuses_[i], tells_errors));
  return MPI_SUCCESS;
}

Completed LibraryTransport::take(std::size_t slot, const MPI_Status* status, bool tells_error) {
  Completed message{.slot = slot, .error = tells_error ? error_of(status) : MPI_SUCCESS};
  MPI_Request* const kept = kept_of_[slot];
  // Open MPI frees a request that failed.
  if (message.error != MPI_SUCCESS && kept != nullptr && requests_[slot] == mpi.request_null)
    *kept = mpi.request_null;
  requests_[slot] = mpi.request_null;  // a kept request stays
  --count_;
  if (message.error != MPI_SUCCESS || is_counted_[slot] == 0 || mpi.Get_count == nullptr) return message;
  int elements = 0;
  mpi.Get_count(status, element_->datatype, &elements);
  message.arrived =
      static_cast<std::size_t>(std::max(elements, 0)) * static_cast<std::size_t>(element_->size);
  return message;
}

int LibraryTransport::check(const Element& element) {
  std::byte any{};
  MPI_Request unused = mpi.request_null;
  const int error = mpi.Recv_init(&any, 1, element.datatype, 0, 0, comm_, &unused);
  if (unused != mpi.request_null) mpi.Request_free(&unused);
  return error;
}

void LibraryTransport::drive() {
  drive_library(comm_);
}

}  // namespace stretto
