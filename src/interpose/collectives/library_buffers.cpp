// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/library_buffers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace stretto {
namespace {

struct Layout {
  explicit Layout(MPI_Datatype its) : datatype(its) {
    if (datatype == mpi.datatype_null) return;
    MPI_Aint lower_bound = 0;
    MPI_Count bytes = 0;
    mpi.Type_get_extent(datatype, &lower_bound, &extent);
    mpi.Type_get_true_extent(datatype, &true_lower_bound, &true_extent);
    mpi.Type_size_x(datatype, &bytes);
    size = static_cast<std::int64_t>(bytes);
  }

  MPI_Datatype datatype;
  MPI_Aint extent = 0;
  MPI_Aint true_lower_bound = 0;
  MPI_Aint true_extent = 0;
  std::int64_t size = 0;
};

/// Collects the bytes that elements of a buffer span.
class Span {
 public:
  explicit Span(const void* buffer) : buffer_(buffer) {}

  /// `place` is in bytes.
  Span& add(std::int64_t place, std::int64_t count, const Layout& layout) {
    if (count <= 0 || layout.true_extent <= 0) return *this;
    const std::int64_t last = (count - 1) * layout.extent;
    const std::int64_t first = place + layout.true_lower_bound;
    begin_ = std::min(begin_, first + std::min<std::int64_t>(last, 0));
    end_ = std::max(end_, first + std::max<std::int64_t>(last, 0) + layout.true_extent);
    data_ += count * layout.size;
    elements_.push_back({.place = place,
                         .count = count,
                         .datatype = layout.datatype,
                         .extent = layout.extent,
                         .true_lower_bound = layout.true_lower_bound});
    return *this;
  }
  /// Adds the blocks of all ranks.
  Span& add_all(const BufferArgument& blocks, int ranks) {
    if (blocks.datatypes != nullptr) return add_typed(blocks, ranks);
    const Layout layout(blocks.datatype);
    if (!blocks.counts.exist()) return add(0, blocks.count * ranks, layout);
    std::int64_t behind = 0;
    for (int i = 0; i < ranks; ++i) {
      add((blocks.displacements.exist() ? blocks.displacements[i] : behind) * layout.extent, blocks.counts[i],
          layout);
      behind += blocks.counts[i];
    }
    return *this;
  }

  operator TouchedBytes() const {  // NOLINT(google-explicit-constructor)
    if (begin_ >= end_ || buffer_ == mpi.in_place) return {};
    return {.buffer = buffer_,
            .first = static_cast<std::ptrdiff_t>(begin_),
            .bytes = static_cast<std::size_t>(end_ - begin_),
            .data = data_ < end_ - begin_ ? elements_ : std::vector<TouchedElements>()};
  }

 private:
  /// Adds blocks that each have a type of their own.
  Span& add_typed(const BufferArgument& blocks, int ranks) {
    if (!blocks.counts.exist() || !blocks.displacements.exist()) return *this;
    Layout layout(mpi.datatype_null);
    for (int i = 0; i < ranks; ++i) {
      if (blocks.counts[i] <= 0) continue;
      if (blocks.datatypes[i] != layout.datatype) layout = Layout(blocks.datatypes[i]);
      add(blocks.displacements[i], blocks.counts[i], layout);
    }
    return *this;
  }

  const void* buffer_;
  std::int64_t begin_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t data_ = 0;
  std::vector<TouchedElements> elements_;
};

int rank_in(MPI_Comm comm) {
  int rank = 0;
  mpi.Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  mpi.Comm_size(comm, &size);
  return size;
}

/// Returns the blocks of its two buffers that a rank's call touches.
HeldBlocks touched_by(const ProgramCall& program_call, int rank) {
  // A broadcast reads its buffer on the root and writes it on the others.
  if (program_call.function == MpiFunction::bcast && rank == program_call.root)
    return {Held::all, Held::none};
  HeldBlocks touched = held_blocks(program_call.collective(), rank, program_call.root);
  // MPI_IN_PLACE counts only on ranks where it has a meaning. (Rank 0 of an exscan gets nothing, but its
  // input is in the receive buffer.)
  const bool is_first_of_exscan = program_call.collective() == Collective::exscan && rank == 0;
  if (program_call.in_place() && (touched.output != Held::none || is_first_of_exscan))
    touched.output = std::max(touched.input, touched.output);
  return touched;
}

TouchedBytes bytes_of(const ProgramCall& program_call, const BufferArgument& buffer, Held held, int rank) {
  Span span(buffer.address);
  if (held == Held::none || !buffer.exists || buffer.in_place()) return span;
  // If ranks have no blocks, the count is that of the whole message.
  if (held == Held::all && has_block_of_each_rank(program_call.collective()))
    return span.add_all(buffer, size_of(program_call.comm));
  return span.add(0, buffer.counts.exist() ? buffer.counts[rank] : buffer.count, Layout(buffer.datatype));
}

}  // namespace

LibraryBuffers buffers_of(const ProgramCall& program_call) {
  if (program_call.function == MpiFunction::reduce_scatter && !program_call.received.counts.exist())
    return {};
  const int rank = rank_in(program_call.comm);
  const auto [input, output] = touched_by(program_call, rank);
  const BufferArgument& sent =
      program_call.function == MpiFunction::bcast ? program_call.received : program_call.sent;
  return {.input = bytes_of(program_call, sent, input, rank),
          .output = bytes_of(program_call, program_call.received, output, rank),
          .reads_output = sent.in_place()};
}

}  // namespace stretto
