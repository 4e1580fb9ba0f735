// SPDX-License-Identifier: Apache-2.0
// MPI_Gather, MPI_Gatherv, MPI_Scatter and MPI_Scatterv. Ranks other than the root ignore the arguments that
// are significant on the root alone.
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

using Blocks = std::optional<std::vector<UserBlock>>;

/// One rank's part in a gather or a scatter: its own block, and on the root all blocks.
struct Part {
  Collective collective;
  int root = 0;
  int rank = 0;
  int ranks = 0;
  /// The rank's own block. It is empty on the root in place: there the block is among `all`, where it stays.
  std::optional<UserBlock> own = std::nullopt;
  /// The blocks of all ranks, on the root.
  Blocks all = std::nullopt;

  [[nodiscard]] bool is_root() const { return rank == root; }
};

/// The blocks of the root are the output of a gather and the input of a scatter. In place, both are one
/// buffer.
class RootedBlocks final : public CallBuffers {
 public:
  explicit RootedBlocks(const Part& part) : part_(part) {
    MPI_Comm comm = channel_pool().comm();
    const auto own_block = static_cast<std::size_t>(part.rank);
    const bool gathers = is_gather(part.collective);
    const Aliasing aliasing = part.all && part.own
                                  ? aliasing_of_blocks(*part.own, (*part.all)[own_block], *part.all)
                                  : Aliasing::none;
    refuse_if_reported(*this, part.collective, aliasing);
    const auto where_of = [&](bool is_input) { return place_of_input(is_input ? aliasing : Aliasing::none); };
    if (part.all) all_.emplace(*part.all, comm, where_of(!gathers));
    if (part.own) own_.emplace(part.own->users, part.own->count, part.own->datatype, comm, where_of(gathers));
    block_bytes_ = own_ ? own_->bytes() : all_->borders()[own_block + 1] - all_->borders()[own_block];
    const bool has_equal = !has_private_lengths(part.collective);
    borders_ = has_equal ? equal_borders(part.ranks, block_bytes_)
                         : borders_of_one(part.ranks, part.rank, block_bytes_);
    const Range own_holds{borders_[own_block], block_bytes_};
    const std::span<const std::size_t> all_borders =
        all_ ? std::span<const std::size_t>(all_->borders()) : std::span<const std::size_t>(borders_);
    const Range all_holds{0, all_ ? all_->bytes() : 0};
    std::byte* const own = own_ ? own_->data() : nullptr;
    std::byte* const all = all_ ? all_->data() : nullptr;
    call = {.input = gathers ? own : all,
            .output = gathers ? all : own,
            .element = byte_element(),
            .count = has_equal ? borders_.back() : 0,
            .input_holds = gathers ? own_holds : all_holds,
            .output_holds = gathers ? all_holds : own_holds};
    call.root = part.root;
    call.borders = gathers ? std::span<const std::size_t>(borders_) : all_borders;
    if (!has_equal) call.output_borders = gathers ? all_borders : std::span<const std::size_t>(borders_);
    if (own_) return;
    call.in_place = true;
    call.input = call.output = all;
    call.input_holds = call.output_holds = all_holds;
    call.borders = all_borders;
    if (!has_equal) call.output_borders = all_borders;
  }

  int bring_input() override {
    if (!is_gather(part_.collective)) return all_ ? all_->pack() : MPI_SUCCESS;
    return own_ ? own_->pack_all() : all_->pack(static_cast<std::size_t>(part_.rank));
  }
  int finish() override {
    if (is_gather(part_.collective)) return all_ ? all_->unpack() : MPI_SUCCESS;
    return own_ ? own_->unpack() : MPI_SUCCESS;
  }
  void abandon() override {
    if (all_) all_->abandon();
    if (own_) own_->abandon();
  }

 private:
  Part part_;
  std::size_t block_bytes_ = 0;
  std::optional<PackedBlocks> all_;
  std::optional<PackedElements> own_;
};

/// Returns the blocks in the root's buffer.
Blocks blocks_of_root(const BufferArgument& buffer, bool has_counts, int ranks) {
  if (has_counts) {
    if (!buffer.counts.exist() || !buffer.displacements.exist()) return std::nullopt;
    return user_blocks(buffer, ranks);
  }
  if (buffer.count < 0) return std::nullopt;
  const std::vector<RawCount> equal(static_cast<std::size_t>(ranks), buffer.count);
  std::vector<RawCount> begins(equal.size());
  for (std::size_t i = 0; i < begins.size(); ++i) begins[i] = static_cast<RawCount>(i) * buffer.count;
  return user_blocks({.address = buffer.address,
                      .counts = equal.data(),
                      .displacements = begins.data(),
                      .datatype = buffer.datatype},
                     ranks);
}

}  // namespace

std::optional<int> move_blocks_of_root(ProgramCall& program_call) {
  const Collective collective = program_call.collective();
  const bool gathers = is_gather(collective);
  const BufferArgument& own =
      gathers ? program_call.sent : program_call.received;  // may be MPI_IN_PLACE on the root
  const BufferArgument& at_root = gathers ? program_call.received : program_call.sent;
  const bool is_private = has_private_lengths(collective);
  if (is_private && !program_call.forced && session.native_floor(collective, program_call.form) != 0)
    return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->native_only() || program_call.root < 0 ||
      program_call.root >= state->ranks())
    return std::nullopt;
  Part part{
      .collective = collective, .root = program_call.root, .rank = state->rank(), .ranks = state->ranks()};
  const bool in_place = own.in_place();
  const auto own_block = static_cast<std::size_t>(part.rank);
  if (in_place && !part.is_root()) return std::nullopt;
  if (!in_place) {
    if (own.count < 0) return std::nullopt;
    part.own = user_block(own);
  }
  if (part.is_root()) {
    if (at_root.in_place()) return std::nullopt;
    part.all = blocks_of_root(at_root, is_private, part.ranks);
    if (!part.all) return std::nullopt;
  }
  const UserBlock& mine = part.own ? *part.own : (*part.all)[own_block];
  const std::optional<std::size_t> element_bytes = signature_bytes(mine.datatype);
  const std::size_t block = mine.count * element_bytes.value_or(0);
  const std::size_t bytes = is_private ? 0 : block * static_cast<std::size_t>(part.ranks);
  if (!is_private && is_left_to_library(program_call, element_bytes, bytes)) return std::nullopt;
  std::optional<std::size_t> root_bytes = part.all ? signature_bytes(at_root.datatype) : std::size_t{0};
  // The root's own block must have the same length in both of its buffers. If not, the MPI library reports
  // it.
  const bool matches = !part.all || !root_bytes || (*part.all)[own_block].count * *root_bytes == block;
  const CallTraits traits{.collective = collective,
                          .bytes = bytes,
                          .root = program_call.root,
                          .understood = element_bytes && root_bytes && matches,
                          .element_bytes = element_bytes.value_or(0)};
  const ProgramHandles handles{
      .datatype = in_place ? MPI_Datatype{mpi.datatype_null} : own.datatype,
      .other_datatype = part.all ? at_root.datatype : MPI_Datatype{mpi.datatype_null},
      .op = mpi.op_null};
  return dispatch(program_call, traits, handles, state, [&] { return RootedBlocks(part); });
}

}  // namespace stretto
