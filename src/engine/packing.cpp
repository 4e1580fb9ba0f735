// SPDX-License-Identifier: Apache-2.0
#include "engine/packing.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include "engine/element.hpp"

namespace stretto {

std::optional<std::size_t> signature_bytes(MPI_Datatype datatype) {
  if (const std::size_t bytes = predefined_size(datatype)) return bytes;
  int size = 0;
  if (datatype == mpi.datatype_null || mpi.Type_size(datatype, &size) != MPI_SUCCESS || size < 0) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(size);
}

bool is_flat(MPI_Datatype datatype) {
  if (const std::size_t bytes = predefined_size(datatype)) {
    // Pairs such as MPI_DOUBLE_INT have gaps.
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    return mpi.Type_get_extent(datatype, &lower_bound, &extent) == MPI_SUCCESS &&
           static_cast<std::size_t>(extent) == bytes;
  }
  // Size and extent do not tell whether elements lie in order; how the type was made does.
  int integers = 0;
  int addresses = 0;
  int datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
  if (mpi.Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner) != MPI_SUCCESS)
    return false;
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
  std::array<int, 1> count{};
  std::array<MPI_Aint, 1> none{};
  MPI_Datatype inner{};
  if (mpi.Type_get_contents(datatype, integers, addresses, datatypes, count.data(), none.data(), &inner) !=
      MPI_SUCCESS) {
    return false;
  }
  const bool flat = is_flat(inner);
  int inner_combiner = MPI_COMBINER_NAMED;
  mpi.Type_get_envelope(inner, &integers, &addresses, &datatypes, &inner_combiner);
  if (inner_combiner != MPI_COMBINER_NAMED) mpi.Type_free(&inner);
  return flat;
}

PackedElements::PackedElements(void* users, std::size_t count, MPI_Datatype datatype, MPI_Comm comm)
    : users_(users), count_(count), datatype_(datatype), comm_(comm), is_flat_(stretto::is_flat(datatype)) {
  element_bytes_ = signature_bytes(datatype).value_or(0);
  if (is_flat_) return;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_extent(datatype, &lower_bound, &extent);
  extent_ = extent;
  packed_ = PooledBuffer(bytes());
}

std::size_t PackedElements::elements_at_once() const {
  return static_cast<std::size_t>(INT_MAX) / std::max<std::size_t>(element_bytes_, 1);
}

int PackedElements::pack(std::size_t first, std::size_t count) {
  if (is_flat_) return MPI_SUCCESS;
  const std::size_t at_once = elements_at_once();
  if (at_once == 0) return MPI_ERR_COUNT;
  for (std::size_t done = 0; done < count;) {
    const std::size_t some = std::min(at_once, count - done);
    const std::size_t bytes = some * element_bytes_;
    int position = 0;
    const int error =
        mpi.Pack(users_element(first + done), static_cast<int>(some), datatype_,
                 packed_.data() + (first + done) * element_bytes_, static_cast<int>(bytes), &position, comm_);
    if (error != MPI_SUCCESS) return error;
    done += some;
  }
  return MPI_SUCCESS;
}

int PackedElements::unpack() {
  if (is_flat_) return MPI_SUCCESS;
  const std::size_t at_once = elements_at_once();
  if (at_once == 0) return MPI_ERR_COUNT;
  for (std::size_t done = 0; done < count_;) {
    const std::size_t some = std::min(at_once, count_ - done);
    const std::size_t bytes = some * element_bytes_;
    int position = 0;
    const int error = mpi.Unpack(packed_.data() + done * element_bytes_, static_cast<int>(bytes), &position,
                                 users_element(done), static_cast<int>(some), datatype_, comm_);
    if (error != MPI_SUCCESS) return error;
    done += some;
  }
  return MPI_SUCCESS;
}

}  // namespace stretto
