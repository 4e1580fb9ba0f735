// SPDX-License-Identifier: Apache-2.0
// MPI_Bcast, MPI_Allgather and MPI_Allgatherv. Their messages are bytes (engine/packing/packing.hpp).
#include <memory>
#include <optional>

#include "engine/messages/channel.hpp"
#include "engine/packing/packing.hpp"
#include "interpose/collectives/aliasing.hpp"
#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/moved_blocks.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// A broadcast. The root packs before, the other ranks unpack after.
class Broadcast final : public CallBuffers {
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
class Gathering final : public CallBuffers {
 public:
  /// Without `sent` (MPI_IN_PLACE) the contribution is at its place in the receive buffer.
  Gathering(const std::optional<UserBlock>& sent, const UserBlock& received, int ranks, int rank)
      : result_(received.users, received.count * static_cast<std::size_t>(ranks), received.datatype,
                channel_pool().comm()),
        rank_(static_cast<std::size_t>(rank)),
        count_(sent ? sent->count : received.count) {
    const std::size_t block = result_.bytes() / static_cast<std::size_t>(ranks);
    borders_ = equal_borders(ranks, block);
    call = Call::whole(result_.data(), result_.data(), result_.bytes(), byte_element());
    call.borders = borders_;
    call.in_place = !sent;
    if (!sent) return;
    const UserBlock all{received.users, received.count * static_cast<std::size_t>(ranks), received.datatype};
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
class UnequalGathering final : public CallBuffers {
 public:
  UnequalGathering(const std::optional<UserBlock>& sent, std::span<const UserBlock> received, int rank)
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

FirstLook look_at_broadcast(const FormArguments& form_arguments, void* buffer, std::int64_t count,
                            MPI_Datatype datatype, int /*root*/, MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (predefined == 0 || count < 0) return {};
  return look_at_elements(form_arguments, Collective::bcast, buffer, buffer,
                          static_cast<std::size_t>(count) * predefined, comm);
}

std::optional<int> broadcast(ProgramCall& program_call) {
  const BufferArgument& buffer = program_call.received;
  const std::size_t predefined = predefined_size(buffer.datatype);
  if (buffer.count < 0 || (buffer.count > 0 && buffer.address == nullptr && predefined != 0))
    return std::nullopt;
  const auto elements = static_cast<std::size_t>(buffer.count);
  if (predefined != 0 && is_small(program_call, elements * predefined)) return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || program_call.root < 0 || program_call.root >= state->ranks()) return std::nullopt;
  const std::optional<std::size_t> element_bytes = signature_bytes(buffer.datatype);
  const CallTraits traits{.collective = Collective::bcast,
                          .bytes = elements * element_bytes.value_or(0),
                          .root = program_call.root,
                          .understood = element_bytes.has_value(),
                          .element_bytes = element_bytes.value_or(0)};
  const ProgramHandles handles{
      .datatype = buffer.datatype, .other_datatype = mpi.datatype_null, .op = mpi.op_null};
  return dispatch(program_call, traits, handles, state, [&] {
    return Broadcast(buffer.memory(), elements, buffer.datatype, program_call.root,
                     state->rank() == program_call.root);
  });
}

std::optional<int> gather_from_all(ProgramCall& program_call) {
  return dispatch_equal_blocks(program_call, [&](int ranks, int rank) {
    std::optional<UserBlock> sent;
    if (!program_call.in_place()) sent = user_block(program_call.sent);
    return Gathering(sent, user_block(program_call.received), ranks, rank);
  });
}

std::optional<int> gather_unequal(ProgramCall& program_call) {
  const bool in_place = program_call.in_place();
  const BufferArgument& received = program_call.received;
  if (!received.counts.exist() || !received.displacements.exist() ||
      (!in_place && program_call.sent.count < 0) || received.in_place()) {
    return std::nullopt;
  }
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->native_only()) return std::nullopt;
  const int ranks = state->ranks();
  std::size_t count = 0;
  bool is_unequal = false;
  for (int rank = 0; rank < ranks; ++rank) {
    if (received.counts[rank] < 0) return std::nullopt;
    is_unequal = is_unequal || received.counts[rank] != received.counts[0];
    count += static_cast<std::size_t>(received.counts[rank]);
  }
  const std::optional<std::size_t> element_bytes = signature_bytes(received.datatype);
  const std::size_t bytes = count * element_bytes.value_or(0);
  if (is_left_to_library(program_call, element_bytes, bytes)) return std::nullopt;
  const auto blocks = user_blocks(received, ranks);
  const auto own = static_cast<std::size_t>(received.counts[state->rank()]) * element_bytes.value_or(0);
  CallTraits traits = traits_of_blocks(program_call, bytes, own, element_bytes);
  traits.understood = traits.understood && blocks;
  traits.has_unequal_blocks = is_unequal;
  traits.has_dominant_node = is_unequal && has_dominant_node(state->topology(), received.counts);
  return dispatch(program_call, traits, handles_of(program_call), state, [&] {
    std::optional<UserBlock> sent;
    if (!in_place) sent = user_block(program_call.sent);
    return UnequalGathering(sent, *blocks, state->rank());
  });
}

}  // namespace stretto
