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

/// An alltoall of equal blocks. In place, the input is a copy of the receive buffer.
class Exchange final : public CallBuffers {
 public:
  /// `sent` has all blocks that are sent; it is empty if the call is in place. `received` has all that are
  /// received.
  Exchange(const std::optional<UserBlock>& sent, const UserBlock& received, int ranks)
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
class UnequalExchange final : public CallBuffers {
 public:
  UnequalExchange(std::span<const UserBlock> sent, std::span<const UserBlock> received, Aliasing aliasing)
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

/// Returns nothing if a type is unknown.
std::optional<std::size_t> bytes_of(std::span<const UserBlock> blocks) {
  std::size_t bytes = 0;
  ElementBytes element_bytes;
  for (const UserBlock& block : blocks) {
    if (block.count == 0) continue;
    const std::optional<std::size_t> of_element = element_bytes.of(block.datatype);
    if (!of_element) return std::nullopt;
    bytes += block.count * *of_element;
  }
  return bytes;
}

using Blocks = std::optional<std::vector<UserBlock>>;

/// Returns the blocks that a rank sends or receives. In MPI_Alltoallw, displacements are in bytes, and each
/// block has a type.
Blocks blocks_of(const BufferArgument& buffer, int ranks) {
  if (buffer.datatypes == nullptr) return user_blocks(buffer, ranks);
  std::vector<UserBlock> blocks;
  auto* const begin = static_cast<std::byte*>(buffer.memory());
  for (int rank = 0; rank < ranks; ++rank) {
    if (buffer.counts[rank] < 0) return std::nullopt;
    blocks.push_back({begin + buffer.displacements[rank], static_cast<std::size_t>(buffer.counts[rank]),
                      buffer.datatypes[rank]});
  }
  return blocks;
}

/// Whether a buffer has all arguments that a call needs.
bool is_whole(const BufferArgument& buffer, bool has_types) {
  return buffer.counts.exist() && buffer.displacements.exist() && (!has_types || buffer.datatypes != nullptr);
}

/// Returns the types of blocks that have elements.
std::vector<MPI_Datatype> types_of(std::initializer_list<const Blocks*> all) {
  std::vector<MPI_Datatype> types;
  for (const Blocks* blocks : all) {
    if (!*blocks) continue;
    for (const UserBlock& block : **blocks) {
      if (block.count > 0) types.push_back(block.datatype);
    }
  }
  return types;
}

/// Whether table and rule always choose `native`, so that only a race may change the choice.
bool is_left_to_races(const ProgramCall& program_call) {
  return !program_call.forced && session.native_floor(Collective::alltoallv, program_call.form) != 0;
}

bool is_left_to_library(const ProgramCall& program_call) {
  return is_left_to_races(program_call) && !(program_call.form == Form::blocking && session.races_lengths);
}

bool is_left_to_library(const ProgramCall& program_call, Communicator& state) {
  if (state.native_only()) return true;
  return is_left_to_races(program_call) && pass_to_library(state, Collective::alltoallv);
}

}  // namespace

std::optional<int> exchange_equal(ProgramCall& program_call) {
  return dispatch_equal_blocks(program_call, [&](int ranks, int /*rank*/) {
    const auto blocks = static_cast<std::size_t>(ranks);
    std::optional<UserBlock> sent;
    if (!program_call.in_place()) sent = user_block(program_call.sent, blocks);
    return Exchange(sent, user_block(program_call.received, blocks), ranks);
  });
}

std::optional<int> exchange_unequal(ProgramCall& program_call) {
  if (is_left_to_library(program_call)) return std::nullopt;
  const bool in_place = program_call.in_place();
  const bool has_types = program_call.function == MpiFunction::alltoallw;
  if (program_call.received.in_place() || !is_whole(program_call.received, has_types) ||
      (!in_place && !is_whole(program_call.sent, has_types))) {
    return std::nullopt;
  }
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || is_left_to_library(program_call, *state)) return std::nullopt;
  const Blocks received = blocks_of(program_call.received, state->ranks());
  const Blocks sent = in_place ? std::nullopt : blocks_of(program_call.sent, state->ranks());
  if (!received || (!in_place && !sent)) return std::nullopt;
  const Aliasing aliasing =
      aliasing_of_exchange(program_call.sent.address, program_call.received.memory(),
                           program_call.sent.counts == program_call.received.counts &&
                               program_call.sent.datatype == program_call.received.datatype &&
                               program_call.sent.datatypes == program_call.received.datatypes);
  const std::vector<UserBlock>& input = in_place ? *received : *sent;
  const std::optional<std::size_t> to_others = bytes_of(input);
  const std::optional<std::size_t> from_others = in_place ? to_others : bytes_of(*received);
  const CallTraits traits{.collective = Collective::alltoallv,
                          .in_place = InPlaceEverywhere::of(Collective::alltoallv, in_place),
                          .understood = to_others && from_others};
  program_call.private_bytes = to_others.value_or(0) + from_others.value_or(0);
  const std::vector<MPI_Datatype> types =
      has_types ? types_of({&received, &sent}) : std::vector<MPI_Datatype>();
  ProgramHandles handles = has_types ? ProgramHandles{.datatype = mpi.datatype_null,
                                                      .other_datatype = mpi.datatype_null,
                                                      .op = mpi.op_null}
                                     : handles_of(program_call);
  handles.more_datatypes = types;
  return dispatch(program_call, traits, handles, state,
                  [&] { return UnequalExchange(input, *received, in_place ? Aliasing::borne : aliasing); });
}

}  // namespace stretto
