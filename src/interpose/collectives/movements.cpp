// SPDX-License-Identifier: Apache-2.0
// MPI_Bcast, MPI_Allgather and MPI_Allgatherv. Their messages are bytes (engine/packing.hpp).
#include <memory>
#include <optional>

#include "engine/channel.hpp"
#include "engine/packing.hpp"
#include "interpose/collectives/aliasing.hpp"
#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/moved_blocks.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// A broadcast. The root packs before, the other ranks unpack after.
class Broadcast final : public Message {
 public:
  Broadcast(void* buffer, std::size_t count, MPI_Datatype datatype, int root, bool is_root)
      : packed_(buffer, count, datatype, channel_pool().comm()), count_(count), is_root_(is_root) {
    call = Call::whole(packed_.data(), packed_.data(), packed_.bytes(), byte_element());
    call.root = root;
    call.in_place = true;
  }

  int bring_input() override { return is_root_ ? packed_.pack(0, count_) : MPI_SUCCESS; }
  int finish() override { return is_root_ ? MPI_SUCCESS : packed_.unpack(); }
  void abandon() override { packed_.abandon(); }

 private:
  PackedElements packed_;
  std::size_t count_;
  bool is_root_;
};

/// An allgather of equal blocks.
class Gathering final : public Message {
 public:
  /// Without `sent` (MPI_IN_PLACE) the contribution is at its place in the receive buffer.
  Gathering(const std::optional<UsersBlock>& sent, const UsersBlock& received, int ranks, int rank)
      : result_(received.users, received.count * static_cast<std::size_t>(ranks), received.datatype,
                channel_pool().comm()),
        rank_(static_cast<std::size_t>(rank)),
        count_(sent ? sent->count : received.count) {
    const std::size_t block = result_.bytes() / static_cast<std::size_t>(ranks);
    for (int i = 0; i <= ranks; ++i) borders_.push_back(static_cast<std::size_t>(i) * block);
    call = Call::whole(result_.data(), result_.data(), result_.bytes(), byte_element());
    call.borders = borders_;
    call.in_place = !sent;
    if (!sent) return;
    const UsersBlock all{received.users, received.count * static_cast<std::size_t>(ranks), received.datatype};
    const Aliasing aliasing = aliasing_of_blocks(*sent, block_of(received, rank_), {&all, 1});
    refuse_if_reported(*this, Collective::allgather, aliasing);
    own_.emplace(sent->users, sent->count, sent->datatype, channel_pool().comm(), place_of_input(aliasing));
    call.input = own_->data();
    call.input_holds = {borders_[rank_], block};
  }

  int bring_input() override { return own_ ? own_->pack(0, count_) : result_.pack(rank_ * count_, count_); }
  int finish() override { return result_.unpack(); }
  void abandon() override {
    result_.abandon();
    if (own_) own_->abandon();
  }

 private:
  PackedElements result_;
  std::optional<PackedElements> own_;
  std::size_t rank_;
  std::size_t count_;  // of the contribution
};

/// An allgather of blocks of any lengths, which all ranks know.
class UnequalGathering final : public Message {
 public:
  UnequalGathering(const std::optional<UsersBlock>& sent, std::span<const UsersBlock> received, int rank)
      : result_(received, channel_pool().comm()), rank_(static_cast<std::size_t>(rank)) {
    call = Call::whole(result_.data(), result_.data(), result_.bytes(), byte_element());
    call.borders = result_.borders();
    call.in_place = !sent;
    if (!sent) return;
    const Aliasing aliasing = aliasing_of_blocks(*sent, received[rank_], received);
    refuse_if_reported(*this, Collective::allgather, aliasing);
    own_.emplace(sent->users, sent->count, sent->datatype, channel_pool().comm(), place_of_input(aliasing));
    call.input = own_->data();
    call.input_holds = {result_.borders()[rank_], own_->bytes()};
  }

  int bring_input() override { return own_ ? own_->pack_all() : result_.pack(rank_); }
  int finish() override { return result_.unpack(); }
  void abandon() override {
    result_.abandon();
    if (own_) own_->abandon();
  }

 private:
  PackedBlocks result_;
  std::optional<PackedElements> own_;
  std::size_t rank_;
};

}  // namespace

std::optional<int> try_bcast(Form& form, void* buffer, std::int64_t count, MPI_Datatype datatype, int root,
                             MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (count < 0 || (count > 0 && buffer == nullptr && predefined != 0)) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (predefined != 0 && is_small(form, Collective::bcast, elements * predefined, comm)) return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || root < 0 || root >= state->ranks()) return std::nullopt;
  const std::optional<std::size_t> element_bytes = signature_bytes(datatype);
  const CallTraits traits{.collective = Collective::bcast,
                          .bytes = elements * element_bytes.value_or(0),
                          .root = root,
                          .understood = element_bytes.has_value(),
                          .element_bytes = element_bytes.value_or(0)};
  return dispatch(form, traits,
                  {.datatype = datatype, .other_datatype = mpi.datatype_null, .op = mpi.op_null}, comm, state,
                  [&] { return Broadcast(buffer, elements, datatype, root, state->rank() == root); });
}

std::optional<int> try_allgather(Form& form, const void* sendbuf, std::int64_t sendcount,
                                 MPI_Datatype sendtype, void* recvbuf, std::int64_t recvcount,
                                 MPI_Datatype recvtype, MPI_Comm comm) {
  const bool in_place = sendbuf == mpi.in_place;
  if (recvcount < 0 || (!in_place && sendcount < 0) || recvbuf == mpi.in_place) return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->ranks() == 0) return std::nullopt;
  const int ranks = state->ranks();
  const std::optional<std::size_t> element_bytes = signature_bytes(recvtype);
  const std::size_t block = static_cast<std::size_t>(recvcount) * element_bytes.value_or(0);
  const std::size_t bytes = block * static_cast<std::size_t>(ranks);
  if (!form.forced && element_bytes && bytes < session.native_floor(Collective::allgather, form.face)) {
    return std::nullopt;
  }
  const SentElements elements{sendbuf, sendcount, sendtype};
  const CallTraits traits = traits_of_blocks(Collective::allgather, bytes, elements, block, element_bytes);
  return dispatch(form, traits, elements.handles(recvtype), comm, state, [&] {
    std::optional<UsersBlock> sent;
    // Schedules never write to the input (proven).
    if (!in_place) sent = {const_cast<void*>(sendbuf), static_cast<std::size_t>(sendcount), sendtype};
    return Gathering(sent, {recvbuf, static_cast<std::size_t>(recvcount), recvtype}, ranks, state->rank());
  });
}

template <typename Count>
std::optional<int> try_allgatherv(Form& form, const void* sendbuf, std::int64_t sendcount,
                                  MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                  const Count* displs, MPI_Datatype recvtype, MPI_Comm comm) {
  const bool in_place = sendbuf == mpi.in_place;
  if (recvcounts == nullptr || displs == nullptr || (!in_place && sendcount < 0) || recvbuf == mpi.in_place)
    return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->native_only()) return std::nullopt;
  const int ranks = state->ranks();
  std::size_t count = 0;
  bool is_unequal = false;
  for (int rank = 0; rank < ranks; ++rank) {
    if (recvcounts[rank] < 0) return std::nullopt;
    is_unequal = is_unequal || recvcounts[rank] != recvcounts[0];
    count += static_cast<std::size_t>(recvcounts[rank]);
  }
  const std::optional<std::size_t> element_bytes = signature_bytes(recvtype);
  const std::size_t bytes = count * element_bytes.value_or(0);
  if (!form.forced && element_bytes && bytes < session.native_floor(Collective::allgather, form.face)) {
    return std::nullopt;
  }
  const auto received = users_blocks(recvbuf, ranks, recvcounts, displs, recvtype);
  const std::size_t own = static_cast<std::size_t>(recvcounts[state->rank()]) * element_bytes.value_or(0);
  const SentElements elements{sendbuf, sendcount, sendtype};
  CallTraits traits = traits_of_blocks(Collective::allgather, bytes, elements, own, element_bytes);
  traits.understood = traits.understood && received;
  traits.has_unequal_blocks = is_unequal;
  traits.has_dominant_node = is_unequal && has_dominant_node(state->topology(), recvcounts);
  return dispatch(form, traits, elements.handles(recvtype), comm, state, [&] {
    std::optional<UsersBlock> sent;
    if (!in_place) sent = {const_cast<void*>(sendbuf), static_cast<std::size_t>(sendcount), sendtype};
    return UnequalGathering(sent, *received, state->rank());
  });
}

template std::optional<int> try_allgatherv(Form&, const void*, std::int64_t, MPI_Datatype, void*, const int*,
                                           const int*, MPI_Datatype, MPI_Comm);
template std::optional<int> try_allgatherv(Form&, const void*, std::int64_t, MPI_Datatype, void*,
                                           const std::int64_t*, const std::int64_t*, MPI_Datatype, MPI_Comm);

}  // namespace stretto
