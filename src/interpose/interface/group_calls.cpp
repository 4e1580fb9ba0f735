// SPDX-License-Identifier: Apache-2.0
// Calls of the interface for frameworks. Counts have 64 bits all the way to Stretto's schedules. Where the
// MPI library carries a call out and has no functions with such counts, units of many bytes are counted.
#include <algorithm>
#include <climits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/data/bytes_type.hpp"
#include "interpose/collectives/collective_forms.hpp"
#include "interpose/interface/group.hpp"
#include "interpose/interface/onward.hpp"

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
    set_error(work->error.empty() ? text_of_error(error) : work->error);
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

/// Starts a call by start(work, request).
template <typename Start>
stretto_work* begin(const stretto_group* group, const Start& start) {
  return without_exceptions(static_cast<stretto_work*>(nullptr), [&]() -> stretto_work* {
    Work work = work_of(group);
    const bool is_started = add(work, [&](void* request) { return start(*work, request); });
    return finish(std::move(work), is_started);
  });
}

/// Calls start(work, first, count, request) for each part of a message.
template <typename Start>
stretto_work* cut(const stretto_group* group, std::size_t count, const Start& start) {
  return without_exceptions(static_cast<stretto_work*>(nullptr), [&]() -> stretto_work* {
    Work work = work_of(group);
    bool is_started = true;
    std::size_t first = 0;
    do {
      const std::size_t some = std::min(count - first, most_at_once);
      is_started =
          add(work, [&](void* request) { return start(*work, first, static_cast<RawCount>(some), request); });
      first += some;
    } while (is_started && first < count);
    return finish(std::move(work), is_started);
  });
}

FormArguments non_blocking(void* request) {
  return {.form = Form::non_blocking, .request = request};
}

MPI_Datatype bytes_type() {
  return mpi.byte;
}

const std::byte* at(const void* data, std::size_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}
std::byte* at(void* data, std::size_t bytes) {
  return static_cast<std::byte*>(data) + bytes;
}

#define STRETTO_ONWARD(Name, Iname, name, iname, parameters, arguments, record)                          \
  [[maybe_unused]] auto name##_onward(const stretto_group* group, stretto_work& work) {                  \
    static const LibraryFunctions<int(STRETTO_LIST parameters, void*)> functions("own:MPI_" #Iname "_c", \
                                                                                 "MPI_" #Iname);         \
    return Onward(functions, group, work);                                                               \
  }
STRETTO_COLLECTIVES(STRETTO_ONWARD, RawCount)
#undef STRETTO_ONWARD

/// Counts and displacements of adjacent parts, one for each rank.
struct Parts {
  const RawCount* counts;
  const RawCount* displacements;
};
/// Keeps them in the work, since the call reads them until its end.
Parts keep_parts(const stretto_group* group, const std::size_t* counts, stretto_work& work) {
  const auto size = static_cast<std::size_t>(group->size);
  std::vector<RawCount>& all = work.numbers.emplace_back(counts, counts + size);
  all.resize(2 * size);
  std::exclusive_scan(counts, counts + size, all.begin() + group->size, RawCount{0});
  return {all.data(), all.data() + size};
}

/// The bytes of a message between two ranks, as an int counts them.
class MessageCount {
 public:
  explicit MessageCount(std::size_t bytes) : count_(bytes > INT_MAX ? 1 : static_cast<int>(bytes)) {
    if (bytes > INT_MAX) all_.emplace(bytes);
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype datatype() const { return all_ ? all_->handle() : MPI_Datatype{mpi.byte}; }

 private:
  int count_;
  std::optional<BytesType> all_;
};

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
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  return cut(group, count, [&](stretto_work& work, std::size_t first, RawCount some, void* request) {
    const void* from = in == out ? mpi.in_place : at(in, first * by.bytes);
    return allreduce(allreduce_onward(group, work), non_blocking(request), from, at(out, first * by.bytes),
                     some, by.datatype, by.op, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_reduce(stretto_group* group, const void* in, void* out,
                                                   size_t count, stretto_type type, stretto_op op, int root) {
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  const bool is_root = group->rank == root;
  return cut(group, count, [&](stretto_work& work, std::size_t first, RawCount some, void* request) {
    const void* from = is_root && in == out ? mpi.in_place : at(in, first * by.bytes);
    void* into = is_root ? at(out, first * by.bytes) : nullptr;
    return reduce(reduce_onward(group, work), non_blocking(request), from, into, some, by.datatype, by.op,
                  root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_reduce_scatter(stretto_group* group, const void* in, void* out,
                                                           const size_t* counts, stretto_type type,
                                                           stretto_op op) {
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  return begin(group, [&](stretto_work& work, void* request) {
    const RawCount* const parts = keep_parts(group, counts, work).counts;
    const bool is_even =
        std::all_of(parts, parts + group->size, [&](RawCount one) { return one == parts[0]; });
    return is_even ? reduce_scatter_block(reduce_scatter_block_onward(group, work), non_blocking(request), in,
                                          out, parts[0], by.datatype, by.op, group->comm, request)
                   : reduce_scatter(reduce_scatter_onward(group, work), non_blocking(request), in, out, parts,
                                    by.datatype, by.op, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_bcast(stretto_group* group, void* data, size_t bytes, int root) {
  return cut(group, bytes, [&](stretto_work& work, std::size_t first, RawCount some, void* request) {
    return bcast(bcast_onward(group, work), non_blocking(request), static_cast<void*>(at(data, first)), some,
                 bytes_type(), root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_allgather(stretto_group* group, const void* in, void* out,
                                                      size_t bytes) {
  const auto count = static_cast<RawCount>(bytes);
  return begin(group, [&](stretto_work& work, void* request) {
    return allgather(allgather_onward(group, work), non_blocking(request), in, count, bytes_type(), out,
                     count, bytes_type(), group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_allgatherv(stretto_group* group, const void* in, void* out,
                                                       const size_t* bytes) {
  return begin(group, [&](stretto_work& work, void* request) {
    const Parts parts = keep_parts(group, bytes, work);
    return allgatherv(allgatherv_onward(group, work), non_blocking(request), in, parts.counts[group->rank],
                      bytes_type(), out, parts.counts, parts.displacements, bytes_type(), group->comm,
                      request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_gather(stretto_group* group, const void* in, void* out,
                                                   size_t bytes, int root) {
  const auto count = static_cast<RawCount>(bytes);
  return begin(group, [&](stretto_work& work, void* request) {
    return gather(gather_onward(group, work), non_blocking(request), in, count, bytes_type(), out, count,
                  bytes_type(), root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_scatter(stretto_group* group, const void* in, void* out,
                                                    size_t bytes, int root) {
  const auto count = static_cast<RawCount>(bytes);
  return begin(group, [&](stretto_work& work, void* request) {
    return scatter(scatter_onward(group, work), non_blocking(request), in, count, bytes_type(), out, count,
                   bytes_type(), root, group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_alltoall(stretto_group* group, const void* in, void* out,
                                                     size_t bytes) {
  const auto count = static_cast<RawCount>(bytes);
  return begin(group, [&](stretto_work& work, void* request) {
    return alltoall(alltoall_onward(group, work), non_blocking(request), in, count, bytes_type(), out, count,
                    bytes_type(), group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_alltoallv(stretto_group* group, const void* in,
                                                      const size_t* in_bytes, void* out,
                                                      const size_t* out_bytes) {
  return begin(group, [&](stretto_work& work, void* request) {
    const Parts sent = keep_parts(group, in_bytes, work);
    const Parts received = keep_parts(group, out_bytes, work);
    return alltoallv(alltoallv_onward(group, work), non_blocking(request), in, sent.counts,
                     sent.displacements, bytes_type(), out, received.counts, received.displacements,
                     bytes_type(), group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_barrier(stretto_group* group) {
  return begin(group, [&](stretto_work& work, void* request) {
    return barrier(barrier_onward(group, work), non_blocking(request), group->comm, request);
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_send(stretto_group* group, const void* in, size_t bytes, int to,
                                                 int tag) {
  return begin(group, [&](stretto_work& /*work*/, void* request) {
    const LibraryBuffers buffers{.input = {.buffer = in, .bytes = bytes, .data = {}}, .output = {}};
    const MessageCount message(bytes);
    return start_message(
        group, buffers, const_cast<void*>(in), request, [&](void* buffer, MPI_Request* word) {
          return mpi.Isend(buffer, message.count(), message.datatype(), to, tag, group->comm, word);
        });
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_recv(stretto_group* group, void* out, size_t bytes, int from,
                                                 int tag) {
  return begin(group, [&](stretto_work& /*work*/, void* request) {
    const LibraryBuffers buffers{
        .input = {}, .output = {.buffer = out, .bytes = bytes, .data = {}}, .is_message = true};
    const MessageCount message(bytes);
    return start_message(group, buffers, out, request, [&](void* buffer, MPI_Request* word) {
      return mpi.Irecv(buffer, message.count(), message.datatype(),
                       from == STRETTO_ANY_SOURCE ? mpi.any_source : from, tag, group->comm, word);
    });
  });
}
