// SPDX-License-Identifier: Apache-2.0
#include "engine/packing/packed_blocks.hpp"

namespace stretto {
namespace {

/// Returns the beginning of the run that flat blocks form in the program's memory; nullptr if they form none.
std::byte* find_run(std::span<const UserBlock> blocks, const std::vector<std::size_t>& borders) {
  std::byte* begin = nullptr;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (borders[i + 1] == borders[i]) continue;
    auto* const here = static_cast<std::byte*>(blocks[i].users);
    const bool is_known =
        i > 0 && borders[i] > borders[i - 1] && blocks[i].datatype == blocks[i - 1].datatype;
    if (!is_known && !is_flat(blocks[i].datatype)) return nullptr;
    // Blocks at absolute addresses (MPI_BOTTOM) are taken as they are.
    if (begin == nullptr) begin = here - borders[i];
    if (here != begin + borders[i]) return nullptr;
  }
  return begin;
}

}  // namespace

PackedBlocks::PackedBlocks(std::span<const UserBlock> blocks, MPI_Comm comm, Where where) {
  borders_.reserve(blocks.size() + 1);
  borders_.push_back(0);
  ElementBytes element_bytes;
  for (const UserBlock& block : blocks) {
    const std::size_t bytes =
        block.count > 0 ? block.count * element_bytes.of(block.datatype).value_or(0) : 0;
    borders_.push_back(borders_.back() + bytes);
  }
  if (bytes() == 0) return;
  if (where == Where::users_if_possible) data_ = find_run(blocks, borders_);
  if (data_ != nullptr) return;
  packed_ = PooledBuffer(bytes());
  data_ = packed_.data();
  pieces_.reserve(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const UserBlock& block = blocks[i];
    // The type of an empty block may be null.
    const bool is_empty = borders_[i + 1] == borders_[i];
    pieces_.emplace_back(block.users, is_empty ? 0 : block.count, is_empty ? mpi.byte : block.datatype, comm,
                         data_ + borders_[i]);
  }
}

int PackedBlocks::pack() {
  for (PackedElements& piece : pieces_) {
    if (const int error = piece.pack_all(); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int PackedBlocks::unpack() {
  for (PackedElements& piece : pieces_) {
    if (const int error = piece.unpack(); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

}  // namespace stretto
