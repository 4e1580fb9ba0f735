// SPDX-License-Identifier: Apache-2.0
#include "engine/execution/native_execution.hpp"

#include <algorithm>
#include <climits>
#include <utility>

namespace stretto {
namespace {

/// Open MPI's MPI_Iallreduce uses a slow algorithm in place, so an in-place segment is reduced from a copy.
bool copies_in_place_input() {
  return mpi.is(Interface::openmpi);
}

/// Open MPI's MPI_Ireduce (4.1.4) writes outside its memory if elements do not begin at their address. It is
/// used only if there is a kernel: elements with a kernel have no such offset. Whether there is a kernel
/// depends on the operation and is the same on all ranks; where elements begin may differ.
bool reduces_shifted_elements_wrongly() {
  return mpi.is(Interface::openmpi);
}

template <typename Pointer>
Pointer moved(Pointer base, std::size_t elements, const Element& element) {
  return base + static_cast<std::ptrdiff_t>(elements) * element.extent;
}

}  // namespace

bool NativeExecution::may_block(Collective collective, const Element& element) {
  return collective == Collective::reduce && reduces_shifted_elements_wrongly() && element.kernel == nullptr;
}

NativeExecution::~NativeExecution() {
  free_types();
}

void NativeExecution::start(const Call& call, const CallResources& /*resources*/) {
  requests_.assign(segments_of(call), mpi.request_null);
  under_way_ = true;
  // Segments that have been started must complete, even if a later one could not be started.
  start_error_ = start_segments(call);
}

std::size_t NativeExecution::segments_of(const Call& call) const {
  return pipelining_.count(call.count, static_cast<std::size_t>(call.element.size));
}

bool NativeExecution::leaves_buffers_to_library(const Call& call) const {
  return collective_ != Collective::reduce_scatter || segments_of(call) == 1;
}

void NativeExecution::start_failed(const Call& /*call*/, const CallResources& /*resources*/, int error) {
  check(error);
  under_way_ = false;
}

bool NativeExecution::progress() {
  int done = 0;
  const int error =
      mpi.Testall(static_cast<int>(requests_.size()), requests_.data(), &done, mpi.statuses_ignore);
  if (error == MPI_SUCCESS && done == 0) return false;
  check(start_error_ != MPI_SUCCESS ? start_error_ : error);
  gave_up_ = this->error() != MPI_SUCCESS;
  under_way_ = false;
  free_types();
  packed_ = {};
  return true;
}

void NativeExecution::free_types() {
  for (MPI_Datatype& type : std::exchange(types_, {})) mpi.Type_free(&type);
}

int NativeExecution::start_segments(const Call& call) {
  if (collective_ == Collective::reduce_scatter) return start_reduce_scatter(call);
  if (collective_ == Collective::allgather) return start_allgather(call);
  if (collective_ == Collective::alltoall) return start_alltoall(call);
  return start_cut_segments(call, Partition(call.count, requests_.size()));
}

/// Allreduce, broadcast and reduce: a segment is a run of the message.
int NativeExecution::start_cut_segments(const Call& call, const Partition& segments) {
  const Element& element = call.element;
  const bool has_input = collective_ != Collective::bcast;
  const bool copy = has_input && call.in_place && copies_in_place_input() && !call.library_reads_device;
  if (copy) packed_ = PooledBuffer(element.span(call.count));
  std::byte* copied = element.place(packed_.data(), call.count);

  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Range part = segments.run(i);
    const int count = static_cast<int>(part.count);
    void* output = call.output_holds.count == 0
                       ? nullptr
                       : moved(static_cast<std::byte*>(call.output), part.first, element);
    const void* input = moved(static_cast<const std::byte*>(call.input), part.first, element);
    if (copy) {
      std::byte* into = moved(copied, part.first, element);
      if (const int error = element.copy(into, input, part.count); error != MPI_SUCCESS) return error;
      input = into;
    } else if (call.in_place) {
      input = mpi.in_place;
    }
    int error = MPI_SUCCESS;
    if (collective_ == Collective::allreduce) {
      error = mpi.Iallreduce(input, output, count, element.datatype, element.op, comm_, &requests_[i]);
    } else if (collective_ == Collective::bcast) {
      error = mpi.Ibcast(output, count, element.datatype, call.root, comm_, &requests_[i]);
    } else if (may_block(collective_, element)) {
      error = mpi.Reduce(input, output, count, element.datatype, element.op, call.root, comm_);
    } else {
      error =
          mpi.Ireduce(input, output, count, element.datatype, element.op, call.root, comm_, &requests_[i]);
    }
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

/// Starts an alltoall, which is not cut. It serves measurements beside Stretto's algorithms.
int NativeExecution::start_alltoall(const Call& call) {
  const auto ranks = call.borders.size() - 1;
  const std::size_t block = call.count / ranks;
  if (block > INT_MAX) return mpi.err_count;
  const auto count = static_cast<int>(block);
  const MPI_Datatype datatype = call.element.datatype;
  return mpi.Ialltoall(call.input, count, datatype, call.output, count, datatype, comm_, requests_.data());
}

/// A segment is a part of every rank's block. The library wants these parts to be adjacent, so the input is
/// packed, unless there is one segment.
int NativeExecution::start_reduce_scatter(const Call& call) {
  const Element& element = call.element;
  const std::size_t ranks = call.borders.size() - 1;
  const std::size_t segments = requests_.size();
  counts_.resize(ranks * segments);
  if (segments == 1 && (!call.in_place || call.library_reads_device)) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      counts_[rank] = static_cast<int>(call.borders[rank + 1] - call.borders[rank]);
    return mpi.Ireduce_scatter(call.in_place ? mpi.in_place : call.input, call.output, counts_.data(),
                               element.datatype, element.op, comm_, requests_.data());
  }
  packed_ = PooledBuffer(element.span(call.count));
  std::byte* packed = element.place(packed_.data(), call.count);
  const auto* input = static_cast<const std::byte*>(call.input);

  std::size_t filled = 0;
  std::vector<std::size_t> begin_of_segment;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    begin_of_segment.push_back(filled);
    const BlockCut cut(call.borders, segment, segments);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const Range part = cut.run(rank);
      counts_[segment * ranks + rank] = static_cast<int>(part.count);
      const int error =
          element.copy(moved(packed, filled, element), moved(input, part.first, element), part.count);
      if (error != MPI_SUCCESS) return error;
      filled += part.count;
    }
  }
  std::size_t done = 0;
  int own = 0;
  mpi.Comm_rank(comm_, &own);
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const int* counts = &counts_[segment * ranks];
    const int error = mpi.Ireduce_scatter(moved(packed, begin_of_segment[segment], element),
                                          moved(static_cast<std::byte*>(call.output), done, element), counts,
                                          element.datatype, element.op, comm_, &requests_[segment]);
    if (error != MPI_SUCCESS) return error;
    done += static_cast<std::size_t>(counts[own]);
  }
  return MPI_SUCCESS;
}

/// A segment is a part of every rank's block. A datatype that is as long as a block but holds only the part
/// puts it in its place. Elements are bytes here.
int NativeExecution::start_allgather(const Call& call) {
  const std::size_t block = call.borders[1] - call.borders[0];
  // No request may be null: MPI_Testall of MPICH 4.0.2 ends the process if some of a hundred are.
  requests_.resize(std::min(requests_.size(), block));
  types_.reserve(requests_.size());
  const Partition parts(block, requests_.size());
  for (std::size_t segment = 0; segment < requests_.size(); ++segment) {
    const Range part = parts.run(segment);
    MPI_Datatype bytes{};
    MPI_Datatype spread{};
    mpi.Type_contiguous(static_cast<int>(part.count), mpi.byte, &bytes);
    mpi.Type_create_resized(bytes, 0, static_cast<MPI_Aint>(block), &spread);
    mpi.Type_commit(&spread);
    const void* input = call.in_place ? mpi.in_place : static_cast<const std::byte*>(call.input) + part.first;
    const int error = mpi.Iallgather(input, static_cast<int>(part.count), mpi.byte,
                                     static_cast<std::byte*>(call.output) + part.first, 1, spread, comm_,
                                     &requests_[segment]);
    // It is freed when the calls have completed: some libraries free types that they still need.
    types_.push_back(spread);
    mpi.Type_free(&bytes);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

}  // namespace stretto
