// SPDX-License-Identifier: Apache-2.0
#include "engine/packing/packing.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <vector>

#include "engine/data/bytes_type.hpp"
#include "engine/data/element.hpp"
#include "engine/data/self_message.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/device/gpu_awareness.hpp"
#include "engine/messages/channel.hpp"
#include "engine/packing/data_runs.hpp"

namespace stretto {

std::optional<std::size_t> signature_bytes(MPI_Datatype datatype) {
  if (const std::size_t bytes = predefined_size(datatype)) return bytes;
  MPI_Count size = 0;
  if (datatype == mpi.datatype_null || mpi.Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) {
    return std::nullopt;
  }
  // Only a call that moves data shows whether the datatype is committed.
  std::byte nothing{};
  int position = 0;
  if (mpi.Pack(&nothing, 0, datatype, &nothing, 1, &position, channel_pool().comm()) != MPI_SUCCESS) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(size);
}

namespace {

/// The way in which a datatype was made: by which function of MPI, and with how many arguments of each kind.
struct Envelope {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count datatypes = 0;
  int combiner = mpi.combiner_named;

  /// Predefined types must not be freed.
  [[nodiscard]] bool is_predefined() const {
    return combiner == mpi.combiner_named || combiner == mpi.combiner_f90_real ||
           combiner == mpi.combiner_f90_complex || combiner == mpi.combiner_f90_integer;
  }
};

/// Returns the envelope of a datatype. If the library knows large counts, a datatype may have been made with
/// them. The query with int is then an error that goes to the program's handler. So the query with large
/// counts is used where it exists.
std::optional<Envelope> envelope_of(MPI_Datatype datatype) {
  Envelope it;
  if (mpi.Type_get_envelope_c != nullptr) {
    const int error = mpi.Type_get_envelope_c(datatype, &it.integers, &it.addresses, &it.large_counts,
                                              &it.datatypes, &it.combiner);
    return error == MPI_SUCCESS ? std::optional(it) : std::nullopt;
  }
  int integers = 0;
  int addresses = 0;
  int datatypes = 0;
  if (mpi.Type_get_envelope(datatype, &integers, &addresses, &datatypes, &it.combiner) != MPI_SUCCESS) {
    return std::nullopt;
  }
  it.integers = integers;
  it.addresses = addresses;
  it.datatypes = datatypes;
  return it;
}

/// The datatype that another one repeats or duplicates.
class InnerType {
 public:
  explicit InnerType(MPI_Datatype datatype) {
    const std::optional<Envelope> how = envelope_of(datatype);
    if (!how || (how->combiner != mpi.combiner_contiguous && how->combiner != mpi.combiner_dup)) return;
    if (contents_of(datatype, *how) != MPI_SUCCESS) handle_ = mpi.datatype_null;
  }
  InnerType(const InnerType&) = delete;
  InnerType& operator=(const InnerType&) = delete;
  /// MPI returns a new handle, unless the type is predefined.
  ~InnerType() {
    if (!exists()) return;
    const std::optional<Envelope> how = envelope_of(handle_);
    if (how && !how->is_predefined()) mpi.Type_free(&handle_);
  }

  [[nodiscard]] bool exists() const { return handle_ != mpi.datatype_null; }
  [[nodiscard]] MPI_Datatype handle() const { return handle_; }

 private:
  int contents_of(MPI_Datatype datatype, const Envelope& how) {
    int count = 0;
    MPI_Aint no_address = 0;
    if (mpi.Type_get_contents_c != nullptr) {
      MPI_Count large_count = 0;
      return mpi.Type_get_contents_c(datatype, how.integers, how.addresses, how.large_counts, how.datatypes,
                                     &count, &no_address, &large_count, &handle_);
    }
    return mpi.Type_get_contents(datatype, static_cast<int>(how.integers), static_cast<int>(how.addresses),
                                 static_cast<int>(how.datatypes), &count, &no_address, &handle_);
  }

  MPI_Datatype handle_ = mpi.datatype_null;
};

/// The program's elements where the MPI library can access them: in a copy, if they are in device memory that
/// it does not accept. If `is_read`, the library reads them; otherwise it writes them, and the copy goes
/// back.
class AccessibleElements {
 public:
  AccessibleElements(void* users, std::size_t count, std::ptrdiff_t extent, MPI_Datatype datatype,
                     bool is_read)
      : users_(static_cast<std::byte*>(users)) {
    if (count == 0 || !may_have_device_memory() || library_is_gpu_aware()) return;
    MPI_Aint lower_bound = 0;
    MPI_Aint true_extent = 0;
    mpi.Type_get_true_extent(datatype, &lower_bound, &true_extent);
    const std::ptrdiff_t last = extent * static_cast<std::ptrdiff_t>(count - 1);
    offset_ = lower_bound + std::min<std::ptrdiff_t>(last, 0);
    bytes_ = static_cast<std::size_t>(std::abs(last) + true_extent);
    if (!is_in_device_memory(users_ + offset_)) return;
    copy_ = PooledBuffer(bytes_);
    if (is_read) {
      copy_anywhere(copy_.data(), users_ + offset_, bytes_);
    } else {
      add_runs(written_, runs_of_element(datatype), lower_bound - offset_, count, extent);
    }
  }

  [[nodiscard]] std::byte* data() const { return copy_.data() == nullptr ? users_ : copy_.data() - offset_; }
  void put_back() {
    if (copy_.data() != nullptr) copy_runs_to_device(users_ + offset_, copy_, written_);
  }

 private:
  std::byte* users_;
  std::ptrdiff_t offset_ = 0;
  std::size_t bytes_ = 0;
  PooledBuffer copy_;
  std::vector<Range> written_;
};

}  // namespace

bool is_flat(MPI_Datatype datatype) {
  if (const std::size_t bytes = predefined_size(datatype)) {
    // Pairs such as MPI_DOUBLE_INT have gaps.
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    return mpi.Type_get_extent(datatype, &lower_bound, &extent) == MPI_SUCCESS &&
           static_cast<std::size_t>(extent) == bytes;
  }
  // Size and extent do not show whether elements are in order, but the way in which the type was made does.
  const InnerType inner(datatype);
  return inner.exists() && is_flat(inner.handle());
}

PackedElements::PackedElements(void* users, std::size_t count, MPI_Datatype datatype, MPI_Comm comm,
                               Where where)
    : users_(users), count_(count), datatype_(datatype), comm_(comm), is_flat_(stretto::is_flat(datatype)) {
  element_bytes_ = signature_bytes(datatype).value_or(0);
  if (is_flat_ && where == Where::users_if_possible) return;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_extent(datatype, &lower_bound, &extent);
  extent_ = extent;
  packed_ = PooledBuffer(bytes());
  place_ = packed_.data();
}

PackedElements::PackedElements(void* users, std::size_t count, MPI_Datatype datatype, MPI_Comm comm,
                               std::byte* place)
    : users_(users), count_(count), datatype_(datatype), comm_(comm), is_flat_(stretto::is_flat(datatype)) {
  element_bytes_ = signature_bytes(datatype).value_or(0);
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  if (count > 0) mpi.Type_get_extent(datatype, &lower_bound, &extent);
  extent_ = extent;
  place_ = place;
}

int PackedElements::pack(std::size_t first, std::size_t count) {
  if (is_flat_ && is_packed()) {
    copy_anywhere(packed_element(first), users_element(first), count * element_bytes_);
    return MPI_SUCCESS;
  }
  if (!is_packed() || count == 0) return MPI_SUCCESS;
  const AccessibleElements users(users_element(first), count, extent_, datatype_, true);
  return each_some(
      first, count, users.data() - (users_element(first) - users_element(0)),
      [&](void* users_elements, std::size_t index, int some, int bytes) {
        int position = 0;
        return mpi.Pack(users_elements, some, datatype_, packed_element(index), bytes, &position, comm_);
      },
      [&](void* users_elements, std::size_t index, MPI_Datatype bytes) {
        return copy_by_message(users_elements, 1, datatype_, packed_element(index), 1, bytes);
      });
}

int PackedElements::unpack() {
  if (is_flat_ && is_packed()) {
    copy_anywhere(users_element(0), packed_element(0), bytes());
    return MPI_SUCCESS;
  }
  if (!is_packed() || count_ == 0) return MPI_SUCCESS;
  AccessibleElements users(users_, count_, extent_, datatype_, false);
  const int error = each_some(
      0, count_, users.data(),
      [&](void* users_elements, std::size_t index, int some, int bytes) {
        int position = 0;
        return mpi.Unpack(packed_element(index), bytes, &position, users_elements, some, datatype_, comm_);
      },
      [&](void* users_elements, std::size_t index, MPI_Datatype bytes) {
        return copy_by_message(packed_element(index), 1, bytes, users_elements, 1, datatype_);
      });
  users.put_back();
  return error;
}

template <typename Some, typename Exchange>
int PackedElements::each_some(std::size_t first, std::size_t count, std::byte* users, Some some,
                              Exchange exchange) {
  if (element_bytes_ == 0) return MPI_SUCCESS;
  const auto element = [&](std::size_t index) {
    return static_cast<void*>(users + static_cast<std::ptrdiff_t>(index) * extent_);
  };
  const std::size_t at_once = INT_MAX / element_bytes_;
  // MPICH refuses to pack from MPI_BOTTOM.
  if (at_once == 0 || users == nullptr) {
    BytesType bytes(element_bytes_);
    int error = MPI_SUCCESS;
    for (std::size_t i = first; error == MPI_SUCCESS && i < first + count; ++i)
      error = exchange(element(i), i, bytes.handle());
    return error;
  }
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(at_once, count - done);
    const int error = some(element(first + done), first + done, static_cast<int>(now),
                           static_cast<int>(now * element_bytes_));
    if (error != MPI_SUCCESS) return error;
    done += now;
  }
  return MPI_SUCCESS;
}

}  // namespace stretto
