// SPDX-License-Identifier: Apache-2.0
// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "interpose/collectives/aliasing.hpp"
#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/moved_blocks.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// An alltoall of equal blocks. In place, the input is a copy of what the receive buffer holds.
class Exchange final : public Message {
 public:
  /// All that is sent, unless it is in place, and all that is received.
  Exchange(const std::optional<UsersBlock>& sent, const UsersBlock& received, int ranks)
      : result_(received.users, received.count, received.datatype, channel_pool().comm()),
        aliasing_(sent ? aliasing_of_blocks(*sent, received, {&received, 1}) : Aliasing::borne),
        input_(sent ? sent->users : received.users, sent ? sent->count : received.count,
               sent ? sent->datatype : received.datatype, channel_pool().comm(), place_of_input(aliasing_)) {
    refuse_if_reported(*this, Collective::alltoall, aliasing_);
    borders_ = equal_borders(ranks, result_.bytes() / static_cast<std::size_t>(ranks));
    call = Call::whole(input_.data(), result_.data(), result_.bytes(), byte_element());
    call.borders = borders_;
  }

  int bring_input() override { return input_.pack_all(); }
  int finish() override { return result_.unpack(); }
  void abandon() override {
    result_.abandon();
    input_.abandon();
  }

 private:
  PackedElements result_;
  Aliasing aliasing_;
  PackedElements input_;
};

/// An alltoall of blocks of any lengths.
class UnequalExchange final : public Message {
 public:
  UnequalExchange(std::span<const UsersBlock> sent, std::span<const UsersBlock> received, Aliasing aliasing)
      : input_(sent, channel_pool().comm(), place_of_input(aliasing)),
        result_(received, channel_pool().comm()) {
    refuse_if_reported(*this, Collective::alltoallv, aliasing);
    call = {.input = input_.data(),
            .output = result_.data(),
            .element = byte_element(),
            .input_holds = {0, input_.bytes()},
            .output_holds = {0, result_.bytes()}};
    call.borders = input_.borders();
    call.output_borders = result_.borders();
  }

  int bring_input() override { return input_.pack(); }
  int finish() override { return result_.unpack(); }
  void abandon() override {
    input_.abandon();
    result_.abandon();
  }

 private:
  PackedBlocks input_;
  PackedBlocks result_;
};

/// Nothing if a type is not known.
std::optional<std::size_t> bytes_of(std::span<const UsersBlock> blocks) {
  std::size_t bytes = 0;
  ElementBytes element_bytes;
  for (const UsersBlock& block : blocks) {
    if (block.count == 0) continue;
    const std::optional<std::size_t> of_element = element_bytes.of(block.datatype);
    if (!of_element) return std::nullopt;
    bytes += block.count * *of_element;
  }
  return bytes;
}

using Blocks = std::optional<std::vector<UsersBlock>>;

/// `sent` is empty for a call in place.
std::optional<int> exchange_blocks(Form& form, const Blocks& sent, const Blocks& received, bool in_place,
                                   Aliasing aliasing, const ProgramHandles& handles, MPI_Comm comm,
                                   const std::shared_ptr<Communicator>& state) {
  if (!received || (!in_place && !sent)) return std::nullopt;
  const std::vector<UsersBlock>& input = in_place ? *received : *sent;
  const std::optional<std::size_t> to_others = bytes_of(input);
  const std::optional<std::size_t> from_others = in_place ? to_others : bytes_of(*received);
  const CallTraits traits{.collective = Collective::alltoallv,
                          .in_place = InPlaceEverywhere::of(Collective::alltoallv, in_place),
                          .understood = to_others && from_others};
  form.private_bytes = to_others.value_or(0) + from_others.value_or(0);
  return dispatch(form, traits, handles, comm, state,
                  [&] { return UnequalExchange(input, *received, in_place ? Aliasing::borne : aliasing); });
}

/// Displacements of MPI_Alltoallw are bytes, and each block has a type.
template <typename Count>
Blocks typed_blocks(const void* buffer, int ranks, const Count* counts, const Count* displacements,
                    RawDatatypes datatypes) {
  std::vector<UsersBlock> blocks;
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(buffer));
  for (int rank = 0; rank < ranks; ++rank) {
    if (counts[rank] < 0) return std::nullopt;
    blocks.push_back({begin + static_cast<std::ptrdiff_t>(displacements[rank]),
                      static_cast<std::size_t>(counts[rank]), datatypes[rank]});
  }
  return blocks;
}

/// Whether table and rule only say `native`, which only a race may change.
bool is_left_to_races(const Form& form) {
  return !form.forced && session.native_floor(Collective::alltoallv, form.face) != 0;
}

bool is_left_to_library(const Form& form) {
  return is_left_to_races(form) && !(form.face == Face::blocking && session.races_lengths);
}

bool is_left_to_library(const Form& form, Communicator& state) {
  if (state.native_only()) return true;
  return is_left_to_races(form) && pass_to_library(state, Collective::alltoallv);
}

}  // namespace

std::optional<int> try_alltoall(Form& form, const void* sendbuf, std::int64_t sendcount,
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
  if (!form.forced && element_bytes && bytes < session.native_floor(Collective::alltoall, form.face)) {
    return std::nullopt;
  }
  const auto of_ranks = static_cast<std::size_t>(ranks);
  const SentElements elements{sendbuf, sendcount, sendtype};
  const CallTraits traits = traits_of_blocks(Collective::alltoall, bytes, elements, block, element_bytes);
  return dispatch(form, traits, elements.handles(recvtype), comm, state, [&] {
    std::optional<UsersBlock> sent;
    if (!in_place)
      sent = {const_cast<void*>(sendbuf), of_ranks * static_cast<std::size_t>(sendcount), sendtype};
    return Exchange(sent, {recvbuf, of_ranks * static_cast<std::size_t>(recvcount), recvtype}, ranks);
  });
}

template <typename Count>
std::optional<int> try_alltoallv(Form& form, const void* sendbuf, const Count* sendcounts,
                                 const Count* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                 const Count* recvcounts, const Count* rdispls, MPI_Datatype recvtype,
                                 MPI_Comm comm) {
  if (is_left_to_library(form)) return std::nullopt;
  const bool in_place = sendbuf == mpi.in_place;
  if (recvbuf == mpi.in_place || recvcounts == nullptr || rdispls == nullptr ||
      (!in_place && (sendcounts == nullptr || sdispls == nullptr))) {
    return std::nullopt;
  }
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || is_left_to_library(form, *state)) return std::nullopt;
  const int ranks = state->ranks();
  const Blocks received = users_blocks(recvbuf, ranks, recvcounts, rdispls, recvtype);
  const Blocks sent = in_place ? std::nullopt : users_blocks(sendbuf, ranks, sendcounts, sdispls, sendtype);
  const ProgramHandles handles{
      .datatype = recvtype, .other_datatype = in_place ? mpi.datatype_null : sendtype, .op = mpi.op_null};
  const Aliasing aliasing =
      aliasing_of_exchange(sendbuf, recvbuf, sendcounts == recvcounts && sendtype == recvtype);
  return exchange_blocks(form, sent, received, in_place, aliasing, handles, comm, state);
}

template <typename Count>
std::optional<int> try_alltoallw(Form& form, const void* sendbuf, const Count* sendcounts,
                                 const Count* sdispls, RawDatatypes sendtypes, void* recvbuf,
                                 const Count* recvcounts, const Count* rdispls, RawDatatypes recvtypes,
                                 MPI_Comm comm) {
  if (is_left_to_library(form)) return std::nullopt;
  const bool in_place = sendbuf == mpi.in_place;
  if (recvbuf == mpi.in_place || recvcounts == nullptr || rdispls == nullptr || recvtypes == nullptr ||
      (!in_place && (sendcounts == nullptr || sdispls == nullptr || sendtypes == nullptr))) {
    return std::nullopt;
  }
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || is_left_to_library(form, *state)) return std::nullopt;
  const int ranks = state->ranks();
  const Blocks received = typed_blocks(recvbuf, ranks, recvcounts, rdispls, recvtypes);
  const Blocks sent = in_place ? std::nullopt : typed_blocks(sendbuf, ranks, sendcounts, sdispls, sendtypes);
  std::vector<MPI_Datatype> types;
  for (const Blocks* blocks : {&received, &sent}) {
    if (!*blocks) continue;
    for (const UsersBlock& block : **blocks) {
      if (block.count > 0) types.push_back(block.datatype);
    }
  }
  const ProgramHandles handles{.datatype = mpi.datatype_null,
                               .other_datatype = mpi.datatype_null,
                               .op = mpi.op_null,
                               .more_datatypes = types};
  const Aliasing aliasing =
      aliasing_of_exchange(sendbuf, recvbuf, sendcounts == recvcounts && sendtypes == recvtypes);
  return exchange_blocks(form, sent, received, in_place, aliasing, handles, comm, state);
}

template std::optional<int> try_alltoallv(Form&, const void*, const int*, const int*, MPI_Datatype, void*,
                                          const int*, const int*, MPI_Datatype, MPI_Comm);
template std::optional<int> try_alltoallv(Form&, const void*, const std::int64_t*, const std::int64_t*,
                                          MPI_Datatype, void*, const std::int64_t*, const std::int64_t*,
                                          MPI_Datatype, MPI_Comm);
template std::optional<int> try_alltoallw(Form&, const void*, const int*, const int*, RawDatatypes,
                                          void*, const int*, const int*, RawDatatypes, MPI_Comm);
template std::optional<int> try_alltoallw(Form&, const void*, const std::int64_t*, const std::int64_t*,
                                          RawDatatypes, void*, const std::int64_t*,
                                          const std::int64_t*, RawDatatypes, MPI_Comm);

}  // namespace stretto
