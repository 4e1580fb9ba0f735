// SPDX-License-Identifier: Apache-2.0
#include "interpose/collectives/library_buffers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "interpose/session/raw_handle.hpp"

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

  /// `place`: in bytes.
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
  /// Blocks of all ranks: `places` in elements, or nullptr for blocks that are adjacent.
  template <typename Count>
  Span& add_all(const Count* counts, const Count* places, MPI_Datatype datatype, int ranks) {
    if (counts == nullptr) return *this;
    const Layout layout(datatype);
    std::int64_t behind = 0;
    for (int i = 0; i < ranks; ++i) {
      add((places != nullptr ? static_cast<std::int64_t>(places[i]) : behind) * layout.extent, counts[i],
          layout);
      behind += counts[i];
    }
    return *this;
  }
  /// Blocks of all ranks: `places` in bytes, each of its own type.
  template <typename Count>
  Span& add_all(const Count* counts, const Count* places, RawDatatypes datatypes, int ranks) {
    if (counts == nullptr || places == nullptr || datatypes == nullptr) return *this;
    Layout layout(mpi.datatype_null);
    for (int i = 0; i < ranks; ++i) {
      if (counts[i] <= 0) continue;
      if (datatypes[i] != layout.datatype) layout = Layout(datatypes[i]);
      add(places[i], counts[i], layout);
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
  const void* buffer_;
  std::int64_t begin_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t data_ = 0;
  std::vector<TouchedElements> elements_;
};

Span elements(const void* buffer, std::int64_t count, MPI_Datatype datatype) {
  return Span(buffer).add(0, count, Layout(datatype));
}

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

/// In place, the arguments of the input mean nothing: input() is not called.
template <typename Input>
LibraryBuffers both(const void* sendbuf, const Input& input, const TouchedBytes& output) {
  if (sendbuf == mpi.in_place) return {.input = {}, .output = output, .reads_output = true};
  return {.input = input(), .output = output};
}

}  // namespace

template <typename Count>
LibraryBuffers buffers_of_allreduce(const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype,
                                    RawOp /*op*/, RawComm /*comm*/) {
  return both(
      sendbuf, [&] { return elements(sendbuf, count, datatype); }, elements(recvbuf, count, datatype));
}

template <typename Count>
LibraryBuffers buffers_of_bcast(void* buffer, Count count, RawDatatype datatype, int root, RawComm comm) {
  const TouchedBytes all = elements(buffer, count, datatype);
  return rank_in(comm) == root ? LibraryBuffers{.input = all, .output = {}}
                               : LibraryBuffers{.input = {}, .output = all};
}

template <typename Count>
LibraryBuffers buffers_of_reduce(const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype,
                                 RawOp op, int root, RawComm comm) {
  LibraryBuffers its = buffers_of_allreduce(sendbuf, recvbuf, count, datatype, op, comm);
  if (rank_in(comm) != root) its.output = {};
  return its;
}

template <typename Count>
LibraryBuffers buffers_of_reduce_scatter(const void* sendbuf, void* recvbuf, const Count* recvcounts,
                                         RawDatatype datatype, RawOp /*op*/, RawComm comm) {
  if (recvcounts == nullptr) return {};
  const int ranks = size_of(comm);
  const auto all = [&](const void* buffer) {
    return Span(buffer).add_all(recvcounts, static_cast<const Count*>(nullptr), datatype, ranks);
  };
  const bool in_place = sendbuf == mpi.in_place;
  return both(
      sendbuf, [&] { return all(sendbuf); },
      in_place ? all(recvbuf) : elements(recvbuf, recvcounts[rank_in(comm)], datatype));
}

template <typename Count>
LibraryBuffers buffers_of_reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount,
                                               RawDatatype datatype, RawOp /*op*/, RawComm comm) {
  const std::int64_t all = std::int64_t{recvcount} * size_of(comm);
  return both(
      sendbuf, [&] { return elements(sendbuf, all, datatype); },
      elements(recvbuf, sendbuf == mpi.in_place ? all : std::int64_t{recvcount}, datatype));
}

template <typename Count>
LibraryBuffers buffers_of_allgather(const void* sendbuf, Count sendcount, RawDatatype sendtype,
                                    void* recvbuf, Count recvcount, RawDatatype recvtype, RawComm comm) {
  return both(
      sendbuf, [&] { return elements(sendbuf, sendcount, sendtype); },
      elements(recvbuf, std::int64_t{recvcount} * size_of(comm), recvtype));
}

template <typename Count>
LibraryBuffers buffers_of_allgatherv(const void* sendbuf, Count sendcount, RawDatatype sendtype,
                                     void* recvbuf, const Count* recvcounts, const Count* displs,
                                     RawDatatype recvtype, RawComm comm) {
  return both(
      sendbuf, [&] { return elements(sendbuf, sendcount, sendtype); },
      Span(recvbuf).add_all(recvcounts, displs, recvtype, size_of(comm)));
}

template <typename Count>
LibraryBuffers buffers_of_alltoall(const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf,
                                   Count recvcount, RawDatatype recvtype, RawComm comm) {
  const std::int64_t ranks = size_of(comm);
  return both(
      sendbuf, [&] { return elements(sendbuf, sendcount * ranks, sendtype); },
      elements(recvbuf, recvcount * ranks, recvtype));
}

template <typename Count>
LibraryBuffers buffers_of_alltoallv(const void* sendbuf, const Count* sendcounts, const Count* sdispls,
                                    RawDatatype sendtype, void* recvbuf, const Count* recvcounts,
                                    const Count* rdispls, RawDatatype recvtype, RawComm comm) {
  const int ranks = size_of(comm);
  return both(
      sendbuf, [&] { return Span(sendbuf).add_all(sendcounts, sdispls, sendtype, ranks); },
      Span(recvbuf).add_all(recvcounts, rdispls, recvtype, ranks));
}

template <typename Count>
LibraryBuffers buffers_of_alltoallw(const void* sendbuf, const Count* sendcounts, const Count* sdispls,
                                    RawDatatypes sendtypes, void* recvbuf, const Count* recvcounts,
                                    const Count* rdispls, RawDatatypes recvtypes, RawComm comm) {
  const int ranks = size_of(comm);
  return both(
      sendbuf, [&] { return Span(sendbuf).add_all(sendcounts, sdispls, sendtypes, ranks); },
      Span(recvbuf).add_all(recvcounts, rdispls, recvtypes, ranks));
}

template <typename Count>
LibraryBuffers buffers_of_gather(const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf,
                                 Count recvcount, RawDatatype recvtype, int root, RawComm comm) {
  const bool is_root = rank_in(comm) == root;
  return both(
      sendbuf, [&] { return elements(sendbuf, sendcount, sendtype); },
      is_root ? elements(recvbuf, std::int64_t{recvcount} * size_of(comm), recvtype) : Span(recvbuf));
}

template <typename Count>
LibraryBuffers buffers_of_gatherv(const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf,
                                  const Count* recvcounts, const Count* displs, RawDatatype recvtype,
                                  int root, RawComm comm) {
  const bool is_root = rank_in(comm) == root;
  return both(
      sendbuf, [&] { return elements(sendbuf, sendcount, sendtype); },
      is_root ? Span(recvbuf).add_all(recvcounts, displs, recvtype, size_of(comm)) : Span(recvbuf));
}

template <typename Count>
LibraryBuffers buffers_of_scatter(const void* sendbuf, Count sendcount, RawDatatype sendtype, void* recvbuf,
                                  Count recvcount, RawDatatype recvtype, int root, RawComm comm) {
  const bool is_root = rank_in(comm) == root;
  const bool in_place = recvbuf == mpi.in_place;
  return {
      .input = is_root ? elements(sendbuf, std::int64_t{sendcount} * size_of(comm), sendtype) : Span(sendbuf),
      .output = in_place ? Span(recvbuf) : elements(recvbuf, recvcount, recvtype)};
}

template <typename Count>
LibraryBuffers buffers_of_scatterv(const void* sendbuf, const Count* sendcounts, const Count* displs,
                                   RawDatatype sendtype, void* recvbuf, Count recvcount,
                                   RawDatatype recvtype, int root, RawComm comm) {
  const bool is_root = rank_in(comm) == root;
  const bool in_place = recvbuf == mpi.in_place;
  return {
      .input = is_root ? Span(sendbuf).add_all(sendcounts, displs, sendtype, size_of(comm)) : Span(sendbuf),
      .output = in_place ? Span(recvbuf) : elements(recvbuf, recvcount, recvtype)};
}

template <typename Count>
LibraryBuffers buffers_of_scan(const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype,
                               RawOp op, RawComm comm) {
  return buffers_of_allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

template <typename Count>
LibraryBuffers buffers_of_exscan(const void* sendbuf, void* recvbuf, Count count, RawDatatype datatype,
                                 RawOp op, RawComm comm) {
  LibraryBuffers its = buffers_of_allreduce(sendbuf, recvbuf, count, datatype, op, comm);
  // On rank 0 it has no meaning, and the library writes nothing.
  if (sendbuf != mpi.in_place && rank_in(comm) == 0) its.output = {};
  return its;
}

template <typename Count>
LibraryBuffers buffers_of_barrier(RawComm /*comm*/) {
  return {};
}

#define STRETTO_FOR_INT(Name, Iname, name, iname, collective, parameters, arguments) \
  template LibraryBuffers buffers_of_##name<int> parameters;
STRETTO_COLLECTIVES(STRETTO_FOR_INT, int)
#define STRETTO_FOR_LARGE(Name, Iname, name, iname, collective, parameters, arguments) \
  template LibraryBuffers buffers_of_##name<RawCount> parameters;
STRETTO_COLLECTIVES(STRETTO_FOR_LARGE, RawCount)

}  // namespace stretto
