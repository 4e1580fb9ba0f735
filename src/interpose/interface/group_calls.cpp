// SPDX-License-Identifier: Apache-2.0
// Calls of the interface for frameworks. MPI's counts are int: longer messages are cut into several calls,
// or counted in larger units.
#include <algorithm>
#include <climits>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <utility>

#include "interpose/collectives/collective_forms.hpp"
#include "interpose/interface/group.hpp"

namespace stretto {
namespace {

using Work = std::unique_ptr<stretto_work>;

Work work_of(const stretto_group* group) {
  auto work = std::make_unique<stretto_work>();
  work->held = group->held;
  return work;
}

/// The bytes or elements of one part of a call that is cut: a power of two, so that elements stay aligned.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

/// Starts a call by start(request), which returns an MPI error code, and adds its request to the work. The
/// library writes the request to `request`. Returns false, after set_error(), if the call fails.
template <typename Start>
bool add(const Work& work, const Start& start) {
  ProgramHandle<MPI_Request> request(mpi.request_null);
  const int error = start(request.address());
  if (error != MPI_SUCCESS) {
    set_error(text_of_error(error));
    return false;
  }
  work->requests.push_back(request.load());
  return true;
}

/// Returns the work. After a failure, gives up the calls that have been started, and returns nullptr.
stretto_work* finish(Work work, bool is_started) {
  stretto_work* result = work.release();
  if (is_started) return result;
  stretto_work_free(result);
  return nullptr;
}

/// Calls start(first, count, request) for each part of a message.
template <typename Start>
stretto_work* cut(const stretto_group* group, std::size_t count, const Start& start) {
  return without_exceptions(static_cast<stretto_work*>(nullptr), [&]() -> stretto_work* {
    Work work = work_of(group);
    bool is_started = true;
    std::size_t first = 0;
    do {
      const std::size_t some = std::min(count - first, most_at_once);
      is_started = add(work, [&](void* request) { return start(first, static_cast<int>(some), request); });
      first += some;
    } while (is_started && first < count);
    return finish(std::move(work), is_started);
  });
}

Way non_blocking(void* request) {
  return {.form = Form::non_blocking, .request = request};
}

/// Returns the name of the function to which calls go on. A job without MPI has functions of its own for
/// calls that no schedule carries out.
const char* symbol_of(const char* name) {
  return mpi.has_library() ? name + own_prefix.size() : name;
}

const std::byte* at(const void* data, std::size_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}
std::byte* at(void* data, std::size_t bytes) {
  return static_cast<std::byte*>(data) + bytes;
}

/// Bytes in units that MPI can count: single bytes, unless there are too many. The ranks of a call may
/// have different units, since the type signature is the same.
class Units {
 public:
  /// `largest` is the largest number of bytes that MPI must count. `common` is a divisor of all counts.
  Units(std::size_t largest, std::size_t common, stretto_work& work) : datatype_(mpi.byte) {
    constexpr std::size_t longest_unit = std::size_t{1} << 20;
    if (largest <= INT_MAX) return;
    while (unit_ < longest_unit && common % (2 * unit_) == 0) unit_ *= 2;
    fits_ = largest / unit_ <= INT_MAX;
    if (!fits_ || unit_ == 1) return;
    mpi.Type_contiguous(static_cast<int>(unit_), mpi.byte, &work.datatype);
    mpi.Type_commit(&work.datatype);
    datatype_ = work.datatype;
  }

  [[nodiscard]] bool fits() const {
    if (!fits_) {
      set_error(
          "the message has more than 2 GiB in parts that are not multiples of a large power of two, so MPI's "
          "int cannot count them; split it");
    }
    return fits_;
  }
  [[nodiscard]] int count(std::size_t bytes) const { return static_cast<int>(bytes / unit_); }
  [[nodiscard]] MPI_Datatype datatype() const { return datatype_; }

 private:
  MPI_Datatype datatype_;
  std::size_t unit_ = 1;
  bool fits_ = true;
};

/// Starts a call whose blocks have the same number of bytes on all ranks, by start(units, request).
template <typename Start>
stretto_work* by_blocks(const stretto_group* group, std::size_t bytes, const Start& start) {
  return without_exceptions(static_cast<stretto_work*>(nullptr), [&]() -> stretto_work* {
    Work work = work_of(group);
    const Units units(bytes, bytes, *work);
    const bool is_started = units.fits() && add(work, [&](void* request) { return start(units, request); });
    return finish(std::move(work), is_started);
  });
}

using Size = std::size_t;

/// Starts a call with one or two buffers, by start(units, numbers, request). The adjacent parts of a buffer
/// have these numbers of bytes, one for each rank. `numbers` has the counts and displacements of each buffer.
template <typename Start>
stretto_work* by_parts(const stretto_group* group, std::initializer_list<const Size*> buffers,
                       const Start& start) {
  return without_exceptions(static_cast<stretto_work*>(nullptr), [&]() -> stretto_work* {
    const auto size = static_cast<Size>(group->size);
    Size common = 0;
    Size largest = 0;
    for (const Size* bytes : buffers) {
      largest = std::max(largest, std::accumulate(bytes, bytes + size, Size{0}));
      for (Size i = 0; i < size; ++i) common = std::gcd(common, bytes[i]);
    }
    Work work = work_of(group);
    const Units units(largest, common, *work);
    if (!units.fits()) return nullptr;
    work->numbers.reserve(2 * size * buffers.size());
    for (const Size* bytes : buffers) {
      Size begin = 0;
      for (Size i = 0; i < size; ++i) work->numbers.push_back(units.count(bytes[i]));
      for (Size i = 0; i < size; begin += bytes[i++]) work->numbers.push_back(units.count(begin));
    }
    const int* const numbers = work->numbers.data();
    const bool is_started = add(work, [&](void* request) { return start(units, numbers, request); });
    return finish(std::move(work), is_started);
  });
}

/// Starts a message between two ranks, by start_with(buffer, MPI_Request*). Host memory takes the place of
/// device memory that the library does not take. Returns an MPI error code.
template <typename Start>
int start_message(const stretto_group* group, const LibraryBuffers& buffers, void* buffer,
                  void* request_of_work, const Start& start_with) {
  const auto request = Place<MPI_Request>::of_program(request_of_work);
  const auto start = [&](void* its_buffer) {
    return request.through_word([&](MPI_Request* word) { return start_with(its_buffer, word); });
  };
  if (may_need_staging()) {
    const auto staged = stage_for_library(
        buffers, Form::non_blocking, request, group->comm, [&](const void* input, void* output) {
          return start(input != nullptr ? const_cast<void*>(input) : output);
        });
    if (staged) return *staged;
  }
  if (device_stream() != nullptr) {
    const int error = await_device_stream(buffer, nullptr, group->comm);
    if (error != MPI_SUCCESS) return error;
  }
  return start(buffer);
}

}  // namespace
}  // namespace stretto

using namespace stretto;

STRETTO_VISIBLE int stretto_knows_device_memory(const void* address) {
  return is_known_to_driver(address) ? 1 : 0;
}

STRETTO_VISIBLE stretto_work* stretto_group_allreduce(stretto_group* group, const void* in, void* out,
                                                      size_t count, stretto_type type, stretto_op op) {
  static const AllreduceNext<void*> next(symbol_of("own:MPI_Iallreduce"));
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  return cut(group, count, [&](Size first, int some, void* request) {
    const void* from = in == out ? mpi.in_place : at(in, first * by.bytes);
    return allreduce(next, non_blocking(request), from, at(out, first * by.bytes), some, by.datatype, by.op,
                     group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_reduce(stretto_group* group, const void* in, void* out,
                                                   size_t count, stretto_type type, stretto_op op, int root) {
  static const ReduceNext<void*> next(symbol_of("own:MPI_Ireduce"));
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  const bool is_root = group->rank == root;
  return cut(group, count, [&](Size first, int some, void* request) {
    const void* from = is_root && in == out ? mpi.in_place : at(in, first * by.bytes);
    void* into = is_root ? at(out, first * by.bytes) : nullptr;
    return reduce(next, non_blocking(request), from, into, some, by.datatype, by.op, root, group->comm,
                  request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_reduce_scatter(stretto_group* group, const void* in, void* out,
                                                           const size_t* counts, stretto_type type,
                                                           stretto_op op) {
  static const Reduce_scatter_blockNext<void*> next_block(symbol_of("own:MPI_Ireduce_scatter_block"));
  static const Reduce_scatterNext<void*> next(symbol_of("own:MPI_Ireduce_scatter"));
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  const auto size = static_cast<Size>(group->size);
  if (*std::max_element(counts, counts + size) > INT_MAX) {
    set_error(
        "a rank's part of a reduce_scatter has more elements than MPI's int can count; split the message");
    return nullptr;
  }
  Work work = work_of(group);
  work->numbers.assign(counts, counts + size);
  const bool is_even = std::all_of(counts, counts + size, [&](Size count) { return count == counts[0]; });
  const bool is_started = add(work, [&](void* request) {
    return is_even ? reduce_scatter_block(next_block, non_blocking(request), in, out, work->numbers[0],
                                          by.datatype, by.op, group->comm, request)
                   : reduce_scatter(next, non_blocking(request), in, out,
                                    static_cast<const int*>(work->numbers.data()), by.datatype, by.op,
                                    group->comm, request);
  });
  return finish(std::move(work), is_started);
}

STRETTO_VISIBLE stretto_work* stretto_group_bcast(stretto_group* group, void* data, size_t bytes, int root) {
  static const BcastNext<void*> next(symbol_of("own:MPI_Ibcast"));
  return cut(group, bytes, [&](Size first, int some, void* request) {
    return bcast(next, non_blocking(request), static_cast<void*>(at(data, first)), some,
                 MPI_Datatype{mpi.byte}, root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_allgather(stretto_group* group, const void* in, void* out,
                                                      size_t bytes) {
  static const AllgatherNext<void*> next(symbol_of("own:MPI_Iallgather"));
  return by_blocks(group, bytes, [&](const Units& units, void* request) {
    const int count = units.count(bytes);
    return allgather(next, non_blocking(request), in, count, units.datatype(), out, count, units.datatype(),
                     group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_allgatherv(stretto_group* group, const void* in, void* out,
                                                       const size_t* bytes) {
  static const AllgathervNext<void*> next(symbol_of("own:MPI_Iallgatherv"));
  const auto own = static_cast<Size>(group->rank);
  return by_parts(group, {bytes}, [&](const Units& units, const int* numbers, void* request) {
    return allgatherv(next, non_blocking(request), in, numbers[own], units.datatype(), out, numbers,
                      numbers + group->size, units.datatype(), group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_gather(stretto_group* group, const void* in, void* out,
                                                   size_t bytes, int root) {
  static const GatherNext<void*> next(symbol_of("own:MPI_Igather"));
  return by_blocks(group, bytes, [&](const Units& units, void* request) {
    const int count = units.count(bytes);
    return gather(next, non_blocking(request), in, count, units.datatype(), out, count, units.datatype(),
                  root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_scatter(stretto_group* group, const void* in, void* out,
                                                    size_t bytes, int root) {
  static const ScatterNext<void*> next(symbol_of("own:MPI_Iscatter"));
  return by_blocks(group, bytes, [&](const Units& units, void* request) {
    const int count = units.count(bytes);
    return scatter(next, non_blocking(request), in, count, units.datatype(), out, count, units.datatype(),
                   root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_alltoall(stretto_group* group, const void* in, void* out,
                                                     size_t bytes) {
  static const AlltoallNext<void*> next(symbol_of("own:MPI_Ialltoall"));
  return by_blocks(group, bytes, [&](const Units& units, void* request) {
    const int count = units.count(bytes);
    return alltoall(next, non_blocking(request), in, count, units.datatype(), out, count, units.datatype(),
                    group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_alltoallv(stretto_group* group, const void* in,
                                                      const size_t* in_bytes, void* out,
                                                      const size_t* out_bytes) {
  static const AlltoallvNext<void*> next(symbol_of("own:MPI_Ialltoallv"));
  return by_parts(group, {in_bytes, out_bytes}, [&](const Units& units, const int* numbers, void* request) {
    const int* const received = numbers + Size{2} * static_cast<Size>(group->size);
    return alltoallv(next, non_blocking(request), in, numbers, numbers + group->size, units.datatype(), out,
                     received, received + group->size, units.datatype(), group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_barrier(stretto_group* group) {
  return without_exceptions(static_cast<stretto_work*>(nullptr), [&]() -> stretto_work* {
    static const BarrierNext<void*> next(symbol_of("own:MPI_Ibarrier"));
    Work work = work_of(group);
    const bool is_started =
        add(work, [&](void* request) { return barrier(next, non_blocking(request), group->comm, request); });
    return finish(std::move(work), is_started);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_send(stretto_group* group, const void* in, size_t bytes, int to,
                                                 int tag) {
  return by_blocks(group, bytes, [&](const Units& units, void* request) {
    const LibraryBuffers buffers{.input = {.buffer = in, .bytes = bytes, .data = {}}, .output = {}};
    return start_message(group, buffers, const_cast<void*>(in), request, [&](void* buffer, MPI_Request* its) {
      return mpi.Isend(buffer, units.count(bytes), units.datatype(), to, tag, group->comm, its);
    });
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_recv(stretto_group* group, void* out, size_t bytes, int from,
                                                 int tag) {
  return by_blocks(group, bytes, [&](const Units& units, void* request) {
    const LibraryBuffers buffers{
        .input = {}, .output = {.buffer = out, .bytes = bytes, .data = {}}, .is_message = true};
    return start_message(group, buffers, out, request, [&](void* buffer, MPI_Request* its) {
      return mpi.Irecv(buffer, units.count(bytes), units.datatype(),
                       from == STRETTO_ANY_SOURCE ? mpi.any_source : from, tag, group->comm, its);
    });
  });
}
