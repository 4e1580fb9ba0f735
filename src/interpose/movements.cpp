// SPDX-License-Identifier: Apache-2.0
// MPI_Bcast and MPI_Allgather: their messages are bytes (engine/packing.hpp).
#include <climits>
#include <vector>

#include "engine/packing.hpp"
#include "interpose/carry_out.hpp"
#include "interpose/collectives.hpp"
#include "interpose/handles.hpp"
#include "interpose/next.hpp"

namespace stretto {
namespace {

void require_packed(int error) {
  if (error != MPI_SUCCESS) throw std::runtime_error("the MPI library could not pack a message");
}

/// A broadcast: packed on the root before, unpacked on the others after.
class Broadcast {
 public:
  Broadcast(void* buffer, std::size_t count, MPI_Datatype datatype, int root, bool is_root, MPI_Comm comm)
      : message_(buffer, count, datatype, comm), is_root_(is_root) {
    if (is_root) require_packed(message_.pack(0, count));
    call = Call::whole(message_.data(), message_.data(), message_.bytes(), byte_element());
    call.root = root;
    call.in_place = true;
  }

  int finish() { return is_root_ ? MPI_SUCCESS : message_.unpack(); }

  Call call;

 private:
  PackedElements message_;
  bool is_root_;
};

struct Contribution {
  void* buffer;
  std::size_t count;
  MPI_Datatype datatype;
};

/// An allgather of equal blocks.
class Gathering {
 public:
  /// Without a `sent` one (MPI_IN_PLACE) the contribution stands in its place in the receive buffer.
  Gathering(const std::optional<Contribution>& sent, const Contribution& received, int ranks, int rank,
            MPI_Comm comm)
      : result_(received.buffer, received.count * static_cast<std::size_t>(ranks), received.datatype, comm) {
    const std::size_t block = result_.bytes() / static_cast<std::size_t>(ranks);
    for (int i = 0; i <= ranks; ++i) borders_.push_back(static_cast<std::size_t>(i) * block);
    call = Call::whole(result_.data(), result_.data(), result_.bytes(), byte_element());
    call.borders = borders_;
    if (sent) {
      own_.emplace(sent->buffer, sent->count, sent->datatype, comm);
      require_packed(own_->pack(0, sent->count));
      call.input = own_->data();
      call.input_holds = {borders_[static_cast<std::size_t>(rank)], block};
    } else {
      call.in_place = true;
      require_packed(result_.pack(static_cast<std::size_t>(rank) * received.count, received.count));
    }
  }

  int finish() { return result_.unpack(); }

  Call call;

 private:
  PackedElements result_;
  std::optional<PackedElements> own_;
  std::vector<std::size_t> borders_;
};

}  // namespace

std::optional<int> try_bcast(void* buffer, std::int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm,
                             const std::optional<Spec>& forced) {
  const std::size_t predefined = predefined_size(datatype);
  if (count < 0 || (buffer == nullptr && predefined != 0)) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (!forced && predefined != 0 && elements * predefined < session.native_floor(Collective::bcast)) {
    return std::nullopt;
  }
  Communicator* state = nullptr;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || root < 0 || root >= state->topology().ranks()) return std::nullopt;
  const std::optional<std::size_t> element_bytes = signature_bytes(datatype);
  const CallTraits traits{.collective = Collective::bcast,
                          .bytes = elements * element_bytes.value_or(0),
                          .root = root,
                          .understood = element_bytes.has_value()};
  return carry_out(
      traits, comm, *state, forced,
      [&] { return Broadcast(buffer, elements, datatype, root, state->rank() == root, comm); },
      [&] {
        return count > INT_MAX
                   ? next_with<RawCount>().bcast(buffer, count, to_raw(datatype), root, to_raw(comm))
                   : next_with<int>().bcast(buffer, static_cast<int>(count), to_raw(datatype), root,
                                            to_raw(comm));
      });
}

std::optional<int> try_allgather(const void* sendbuf, std::int64_t sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, std::int64_t recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                 const std::optional<Spec>& forced) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  // Both may be MPI_BOTTOM, with datatypes of absolute addresses.
  const bool same_buffer = sendbuf == recvbuf && recvbuf != nullptr;
  if (recvcount < 0 || (!in_place && sendcount < 0) || same_buffer || recvbuf == MPI_IN_PLACE) {
    return std::nullopt;
  }
  Communicator* state = nullptr;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->topology().ranks() == 0) return std::nullopt;
  const int ranks = state->topology().ranks();
  const std::optional<std::size_t> element_bytes = signature_bytes(recvtype);
  const std::size_t block = static_cast<std::size_t>(recvcount) * element_bytes.value_or(0);
  const std::size_t bytes = block * static_cast<std::size_t>(ranks);
  if (!forced && element_bytes && bytes < session.native_floor(Collective::allgather)) return std::nullopt;
  // What is sent must be what is received; the library says so if it is not.
  const std::optional<std::size_t> sent_bytes = in_place ? element_bytes : signature_bytes(sendtype);
  const bool matches = in_place || static_cast<std::size_t>(sendcount) * sent_bytes.value_or(0) == block;
  const CallTraits traits{.collective = Collective::allgather,
                          .bytes = bytes,
                          .understood = element_bytes && sent_bytes && matches};
  return carry_out(
      traits, comm, *state, forced,
      [&] {
        std::optional<Contribution> sent;
        // Nothing is ever written to the input (proven).
        if (!in_place) sent = {const_cast<void*>(sendbuf), static_cast<std::size_t>(sendcount), sendtype};
        return Gathering(sent, {recvbuf, static_cast<std::size_t>(recvcount), recvtype}, ranks, state->rank(),
                         comm);
      },
      [&] {
        return sendcount > INT_MAX || recvcount > INT_MAX
                   ? next_with<RawCount>().allgather(sendbuf, sendcount, to_raw(sendtype), recvbuf, recvcount,
                                                     to_raw(recvtype), to_raw(comm))
                   : next_with<int>().allgather(sendbuf, static_cast<int>(sendcount), to_raw(sendtype),
                                                recvbuf, static_cast<int>(recvcount), to_raw(recvtype),
                                                to_raw(comm));
      });
}

}  // namespace stretto
