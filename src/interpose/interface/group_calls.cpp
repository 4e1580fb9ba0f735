// SPDX-License-Identifier: Apache-2.0
// Calls of the interface for frameworks. Counts have 64 bits all the way to Stretto's schedules. Where the
// MPI library carries a call out and has no functions with such counts, units of many bytes are counted.
#include <algorithm>
#include <climits>
#include <memory>
#include <new>
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

/// Returns a work whose calls start(work) starts. If that returns false, gives up those that it has started,
/// and returns nullptr.
template <typename Start>
stretto_work* make_work(const stretto_group& group, const Start& start) {
  try {
    auto work = std::make_unique<stretto_work>();
    work->held = group.held;
    if (start(*work)) return work.release();
    stretto_work_free(work.release());
  } catch (const std::bad_alloc&) {
    set_error("there is no memory left");
  }
  return nullptr;
}

/// Adds the request of a call that has been started. Returns false, after set_error(), if there is an error.
bool take(stretto_work& work, ProgramHandle<MPI_Request>& request, int error) {
  if (error == MPI_SUCCESS) {
    work.requests.push_back(request.load());
  } else {
    set_error(work.error.empty() ? text_of_error(error) : work.error);
  }
  return error == MPI_SUCCESS;
}

BufferArgument bytes_at(const void* data, std::size_t bytes) {
  return one_block(data, static_cast<std::int64_t>(bytes), mpi.byte);
}

/// Lets the library carry a call out with these buffers (nullptr: those of the call). A function with a
/// single buffer gets the output, or else the input. Returns an MPI error code.
int start_in_library(const stretto_group& group, stretto_work& work, const ProgramCall& call,
                     const void* input, void* output, void* request) {
  const NativeCall native(call);
  mark_communication_thread(false);
  // The names are those of MPI's parameters (interpose/collectives/signatures.hpp).
  const void* const sendbuf = input != nullptr ? input : call.sent.address;
  void* const recvbuf = output != nullptr ? output : call.received.memory();
  void* const buffer = output == nullptr && input != nullptr ? const_cast<void*>(input) : recvbuf;
  const RawCount sendcount = call.sent.count;
  const RawCount recvcount = call.received.count;
  const RawCount count = recvcount;
  const RawCount* const sendcounts = call.sent.counts.of_64_bits();
  const RawCount* const recvcounts = call.received.counts.of_64_bits();
  const RawCount* const sdispls = call.sent.displacements.of_64_bits();
  const RawCount* const rdispls = call.received.displacements.of_64_bits();
  const RawDatatype sendtype = call.sent.datatype;
  const RawDatatype recvtype = call.received.datatype;
  const RawDatatype datatype = recvtype;
  const RawOp op = call.op;
  const RawComm comm = call.comm;
  const int root = call.root;
  // Groups have no scan, no MPI_Alltoallw, no MPI_Gatherv and no MPI_Scatterv.
  const RawCount* const displs = rdispls;
  const RawDatatypes sendtypes{};
  const RawDatatypes recvtypes{};
  switch (call.function) {
#define STRETTO_ONWARD(Name, Iname, name, iname, parameters, arguments, record)                      \
  case MpiFunction::name: {                                                                          \
    static const LibraryFunctions<int(STRETTO_LIST parameters, void*)> functions("MPI_" #Iname "_c", \
                                                                                 "MPI_" #Iname);     \
    return Onward(functions, group.size, work)(STRETTO_LIST arguments, request);                     \
  }
    STRETTO_COLLECTIVES(STRETTO_ONWARD, RawCount)
#undef STRETTO_ONWARD
  }
  return mpi.err_unsupported_operation;
}

/// Carries out a call that has no schedule, with host memory in place of device memory that the library does
/// not take. Returns an MPI error code.
int pass_on(const stretto_group& group, stretto_work& work, const ProgramCall& call, void* request) {
  const auto start = [&](const void* input, void* output) {
    return mpi.has_library() ? start_in_library(group, work, call, input, output, request)
                             : finish_at_once(call, input, output);
  };
  const std::optional<int> prepared = prepare_library_call(call, start);
  return prepared ? *prepared : start(nullptr, nullptr);
}

/// Starts a call of the group: by a schedule, or by the library. Returns false, after set_error(), if it
/// fails.
bool add(const stretto_group& group, stretto_work& work, ProgramCall call) {
  ProgramHandle<MPI_Request> request(mpi.request_null);
  call.form = Form::non_blocking;
  call.comm = group.comm;
  call.request = Place<MPI_Request>::of_program(request.address());
  const LiveCall live(call.collective(), call.form);
  std::optional<int> error = session.active ? carry_out(call) : std::nullopt;
  if (!error) error = pass_on(group, work, call, request.address());
  return take(work, request, *error);
}

stretto_work* begin(const stretto_group& group, const ProgramCall& call) {
  return make_work(group, [&](stretto_work& work) { return add(group, work, call); });
}

/// Starts a call of `count` elements of `bytes` each. `call` has the buffers, without counts. A long call is
/// cut into parts of a power of two of elements, so that these stay aligned.
stretto_work* begin_in_parts(const stretto_group& group, ProgramCall call, std::size_t count,
                             std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  return make_work(group, [&](stretto_work& work) {
    for (std::size_t left = count;; left -= most) {
      call.sent.count = call.received.count = static_cast<std::int64_t>(std::min(left, most));
      if (!add(group, work, call)) return false;
      if (left <= most) return true;
      for (BufferArgument* buffer : {&call.sent, &call.received}) {
        if (buffer->address != nullptr && !buffer->in_place())
          buffer->address = static_cast<const std::byte*>(buffer->address) + most * bytes;
      }
    }
  });
}

/// Returns the buffer of adjacent blocks, one for each rank. The work keeps the numbers, since the call reads
/// them until its end.
BufferArgument blocks_at(const void* data, const std::size_t* counts, MPI_Datatype datatype,
                         const stretto_group& group, stretto_work& work) {
  const auto size = static_cast<std::size_t>(group.size);
  std::vector<RawCount>& all = work.numbers.emplace_back(counts, counts + size);
  all.resize(2 * size);
  std::exclusive_scan(counts, counts + size, all.begin() + group.size, RawCount{0});
  return all_blocks(data, all.data(), all.data() + size, datatype);
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

/// Starts a message between two ranks, by start(buffer, MessageCount, MPI_Request*). Host memory takes the
/// place of device memory that the library does not take.
template <typename Start>
stretto_work* begin_message(const stretto_group& group, const LibraryBuffers& buffers, std::size_t bytes,
                            const Start& start) {
  return make_work(group, [&](stretto_work& work) {
    ProgramHandle<MPI_Request> request(mpi.request_null);
    const auto word = Place<MPI_Request>::of_program(request.address());
    const MessageCount message(bytes);
    const auto start_at = [&](const void* input, void* output) {
      void* const buffer = input != nullptr ? const_cast<void*>(input) : output;
      return word.through_word([&](MPI_Request* made) { return start(buffer, message, made); });
    };
    std::optional<int> error;
    if (may_need_staging())
      error = stage_for_library(buffers, Form::non_blocking, word, group.comm, start_at);
    if (!error) {
      const void* const input = buffers.input.buffer;
      void* const output = const_cast<void*>(buffers.output.buffer);
      error = device_stream() == nullptr ? MPI_SUCCESS : await_device_stream(input, output, group.comm);
      if (*error == MPI_SUCCESS) error = start_at(input, output);
    }
    return take(work, request, *error);
  });
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
  return begin_in_parts(*group,
                        {.function = MpiFunction::allreduce,
                         .sent = one_block(in == out ? mpi.in_place : in, 0, by.datatype),
                         .received = one_block(out, 0, by.datatype),
                         .op = by.op},
                        count, by.bytes);
}

STRETTO_VISIBLE stretto_work* stretto_group_reduce(stretto_group* group, const void* in, void* out,
                                                   size_t count, stretto_type type, stretto_op op, int root) {
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  const bool is_root = group->rank == root;
  return begin_in_parts(*group,
                        {.function = MpiFunction::reduce,
                         .sent = one_block(is_root && in == out ? mpi.in_place : in, 0, by.datatype),
                         .received = one_block(is_root ? out : nullptr, 0, by.datatype),
                         .op = by.op,
                         .root = root},
                        count, by.bytes);
}

STRETTO_VISIBLE stretto_work* stretto_group_reduce_scatter(stretto_group* group, const void* in, void* out,
                                                           const size_t* counts, stretto_type type,
                                                           stretto_op op) {
  Reduction by;
  if (!find_reduction(type, op, by)) return nullptr;
  const auto block = static_cast<std::int64_t>(counts[0]);
  if (std::all_of(counts, counts + group->size, [&](std::size_t each) { return each == counts[0]; }))
    return begin(*group, {.function = MpiFunction::reduce_scatter_block,
                          .sent = one_block(in, block, by.datatype),
                          .received = one_block(out, block, by.datatype),
                          .op = by.op});
  return make_work(*group, [&](stretto_work& work) {
    const BufferArgument received = blocks_at(out, counts, by.datatype, *group, work);
    return add(*group, work,
               {.function = MpiFunction::reduce_scatter,
                .sent = all_blocks(in, received.counts, {}, by.datatype),
                .received = received,
                .op = by.op});
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_bcast(stretto_group* group, void* data, size_t bytes, int root) {
  return begin_in_parts(
      *group,
      {.function = MpiFunction::bcast, .sent = no_buffer(), .received = bytes_at(data, 0), .root = root},
      bytes, 1);
}

STRETTO_VISIBLE stretto_work* stretto_group_allgather(stretto_group* group, const void* in, void* out,
                                                      size_t bytes) {
  return begin(
      *group,
      {.function = MpiFunction::allgather, .sent = bytes_at(in, bytes), .received = bytes_at(out, bytes)});
}

STRETTO_VISIBLE stretto_work* stretto_group_allgatherv(stretto_group* group, const void* in, void* out,
                                                       const size_t* bytes) {
  return make_work(*group, [&](stretto_work& work) {
    return add(*group, work,
               {.function = MpiFunction::allgatherv,
                .sent = bytes_at(in, bytes[group->rank]),
                .received = blocks_at(out, bytes, mpi.byte, *group, work)});
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_gather(stretto_group* group, const void* in, void* out,
                                                   size_t bytes, int root) {
  return begin(*group, {.function = MpiFunction::gather,
                        .sent = bytes_at(in, bytes),
                        .received = bytes_at(out, bytes),
                        .root = root});
}

STRETTO_VISIBLE stretto_work* stretto_group_scatter(stretto_group* group, const void* in, void* out,
                                                    size_t bytes, int root) {
  return begin(*group, {.function = MpiFunction::scatter,
                        .sent = bytes_at(in, bytes),
                        .received = bytes_at(out, bytes),
                        .root = root});
}

STRETTO_VISIBLE stretto_work* stretto_group_alltoall(stretto_group* group, const void* in, void* out,
                                                     size_t bytes) {
  return begin(
      *group,
      {.function = MpiFunction::alltoall, .sent = bytes_at(in, bytes), .received = bytes_at(out, bytes)});
}

STRETTO_VISIBLE stretto_work* stretto_group_alltoallv(stretto_group* group, const void* in,
                                                      const size_t* in_bytes, void* out,
                                                      const size_t* out_bytes) {
  return make_work(*group, [&](stretto_work& work) {
    return add(*group, work,
               {.function = MpiFunction::alltoallv,
                .sent = blocks_at(in, in_bytes, mpi.byte, *group, work),
                .received = blocks_at(out, out_bytes, mpi.byte, *group, work)});
  });
}

STRETTO_VISIBLE stretto_work* stretto_group_barrier(stretto_group* group) {
  return begin(*group, {.function = MpiFunction::barrier, .sent = no_buffer(), .received = no_buffer()});
}

STRETTO_VISIBLE stretto_work* stretto_group_send(stretto_group* group, const void* in, size_t bytes, int to,
                                                 int tag) {
  const LibraryBuffers buffers{.input = {.buffer = in, .bytes = bytes, .data = {}}, .output = {}};
  return begin_message(
      *group, buffers, bytes, [&](void* buffer, const MessageCount& message, MPI_Request* word) {
        return mpi.Isend(buffer, message.count(), message.datatype(), to, tag, group->comm, word);
      });
}

STRETTO_VISIBLE stretto_work* stretto_group_recv(stretto_group* group, void* out, size_t bytes, int from,
                                                 int tag) {
  const LibraryBuffers buffers{
      .input = {}, .output = {.buffer = out, .bytes = bytes, .data = {}}, .is_message = true};
  return begin_message(
      *group, buffers, bytes, [&](void* buffer, const MessageCount& message, MPI_Request* word) {
        return mpi.Irecv(buffer, message.count(), message.datatype(),
                         from == STRETTO_ANY_SOURCE ? mpi.any_source : from, tag, group->comm, word);
      });
}
