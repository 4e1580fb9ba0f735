// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan.
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/device_memory.hpp"
#include "engine/execution/native_execution.hpp"
#include "interpose/collectives/aliasing.hpp"
#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/moved_blocks.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/handles/known_operation.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// Whether the buffers are an error that the MPI library reports, or a form that only the library knows.
bool is_for_library(const void* sendbuf, const void* recvbuf, std::int64_t count, bool predefined_type) {
  if (count <= 0) return count < 0;
  if (recvbuf == mpi.in_place) return true;
  return predefined_type && (sendbuf == nullptr || recvbuf == nullptr);
}

CallTraits traits_of(Collective collective, std::size_t elements, const std::optional<Element>& element,
                     std::size_t predefined, bool in_place, int root = 0) {
  return {.collective = collective,
          .bytes = elements * (element ? static_cast<std::size_t>(element->size) : predefined),
          .root = root,
          .commutative = !element || element->commutative,
          .in_place = InPlaceEverywhere::of(collective, in_place),
          .understood = element.has_value(),
          .element_bytes = element ? static_cast<std::size_t>(element->size) : predefined,
          .operation = session.settings.check && element ? number_of_operation(element->op) : 0,
          .calls_program = element && element->kernel == nullptr && is_program_operation(element->op) &&
                           !is_short_operation(element->op),
          .blocks_in_segments = element && NativeExecution::may_block(collective, *element)};
}

ProgramHandles handles_of(const std::optional<Element>& element) {
  if (!element) return {};
  return {.datatype = element->datatype,
          .other_datatype = mpi.datatype_null,
          .op = element->kernel != nullptr ? mpi.op_null : element->op};
}

const void* input_of(const void* sendbuf, const void* recvbuf) {
  return sendbuf == mpi.in_place ? recvbuf : sendbuf;
}

/// Returns the key of an allreduce that may be repeated as it is. `predefined` is the bytes of an element of
/// a predefined type, or 0.
std::optional<CallKey> key_of(Form form, bool is_forced, const void* sendbuf, const void* recvbuf,
                              std::int64_t count, std::size_t predefined, MPI_Datatype datatype, MPI_Op op) {
  if (!may_repeat(form, is_forced) || predefined == 0 ||
      !lie_apart(sendbuf, recvbuf, static_cast<std::size_t>(count) * predefined)) {
    return std::nullopt;
  }
  return CallKey{.collective = Collective::allreduce,
                 .in_place = sendbuf == mpi.in_place,
                 .count = count,
                 .datatype = datatype,
                 .op = op};
}

/// The program's buffers, or a copy of the input if they share memory.
class Reduction final : public CallBuffers {
 public:
  Reduction(Collective collective, const Call& of, std::vector<std::size_t> borders = {})
      : CallBuffers(of, std::move(borders)) {
    if (call.in_place) return;
    const std::size_t count = call.input_holds.count;
    MPI_Datatype datatype = call.element.datatype;
    const Aliasing aliasing =
        aliasing_of_reduction(collective, {const_cast<void*>(call.input), count, datatype},
                              {call.output, call.output_holds.count, datatype});
    refuse_if_reported(*this, collective, aliasing);
    if (aliasing != Aliasing::borne) return;
    copy_ = PooledBuffer(call.element.span(count));
    users_ = std::exchange(call.input, call.element.place(copy_.data(), count));
  }

  void abandon() override { copy_.abandon(); }

 private:
  int bring_input() override {
    if (users_ == nullptr) return MPI_SUCCESS;
    const std::size_t count = call.input_holds.count;
    if (!call.element.contiguous()) return call.element.copy(const_cast<void*>(call.input), users_, count);
    copy_anywhere(copy_.data(), users_, call.element.span(count));
    return MPI_SUCCESS;
  }

  const void* users_ = nullptr;  // nullptr: there is no copy
  PooledBuffer copy_;
};

/// The blocks of a reduce-scatter.
struct Blocks {
  std::size_t elements = 0;
  Range mine;
  bool is_unequal = false;
};

/// Returns nothing if a count is negative.
std::optional<Blocks> blocks_of(const ProgramCall& program_call, const Communicator& state) {
  const BufferArgument& received = program_call.received;
  Blocks blocks;
  for (int rank = 0; rank < state.ranks(); ++rank) {
    const std::int64_t count = received.counts.exist() ? received.counts[rank] : received.count;
    if (count < 0) return std::nullopt;
    if (rank == state.rank()) blocks.mine = {blocks.elements, static_cast<std::size_t>(count)};
    blocks.elements += static_cast<std::size_t>(count);
    blocks.is_unequal = blocks.is_unequal || (received.counts.exist() && count != received.counts[0]);
  }
  return blocks;
}

std::vector<std::size_t> borders_of(const BufferArgument& received, int ranks) {
  std::vector<std::size_t> borders{0};
  borders.reserve(static_cast<std::size_t>(ranks) + 1);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = received.counts.exist() ? received.counts[rank] : received.count;
    borders.push_back(borders.back() + static_cast<std::size_t>(count));
  }
  return borders;
}

}  // namespace

FirstLook look_at_allreduce(const FormArguments& form_arguments, const void* sendbuf, void* recvbuf,
                            std::int64_t count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (predefined == 0 || is_for_library(sendbuf, recvbuf, count, true)) return {};
  if (const auto key = key_of(form_arguments.form, form_arguments.forced != nullptr, sendbuf, recvbuf, count,
                              predefined, datatype, op)) {
    Repetition again = try_repeat(*key, input_of(sendbuf, recvbuf), recvbuf, comm);
    if (again.is_known)
      return {.is_left = !again.result, .result = again.result, .learning = std::move(again.learning)};
  }
  return look_at_elements(form_arguments, Collective::allreduce, sendbuf, recvbuf,
                          static_cast<std::size_t>(count) * predefined, comm);
}

FirstLook look_at_reduce(const FormArguments& form_arguments, const void* sendbuf, void* recvbuf,
                         std::int64_t count, MPI_Datatype datatype, MPI_Op /*op*/, int /*root*/,
                         MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (predefined == 0 || count < 0) return {};
  return look_at_elements(form_arguments, Collective::reduce, sendbuf, recvbuf,
                          static_cast<std::size_t>(count) * predefined, comm);
}

std::optional<int> reduce_elements(ProgramCall& program_call) {
  const void* const sendbuf = program_call.sent.address;
  void* const recvbuf = program_call.received.memory();
  const std::int64_t count = program_call.received.count;
  const MPI_Datatype datatype = program_call.received.datatype;
  const Collective collective = program_call.collective();
  const std::size_t predefined = predefined_size(datatype);
  if (count < 0) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (predefined != 0 && is_small(program_call, elements * predefined)) return std::nullopt;
  std::shared_ptr<Communicator> state;
  // After an error, the handle is no longer a communicator, and the program's handler has been called.
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr) return std::nullopt;
  const bool has_root = program_call.function == MpiFunction::reduce;
  if (has_root && (program_call.root < 0 || program_call.root >= state->ranks())) return std::nullopt;
  const bool writes = held_blocks(collective, state->rank(), program_call.root).output != Held::none;
  // The receive buffer is significant only on ranks that write something.
  if (writes
          ? is_for_library(sendbuf, recvbuf, count, predefined != 0)
          : count > 0 && ((has_root && program_call.in_place()) || (sendbuf == nullptr && predefined != 0))) {
    return std::nullopt;
  }
  if (program_call.function == MpiFunction::allreduce)
    program_call.key = key_of(program_call.form, program_call.forced.has_value(), sendbuf, recvbuf, count,
                              predefined, datatype, program_call.op);
  const std::optional<Element> element =
      state->native_only() ? std::nullopt : find_element(datatype, program_call.op);
  const CallTraits traits =
      traits_of(collective, elements, element, predefined, program_call.in_place(), program_call.root);
  return dispatch(program_call, traits, handles_of(element), state, [&] {
    Call call = Call::whole(input_of(sendbuf, recvbuf), !has_root || writes ? recvbuf : nullptr, elements,
                            with_known_kernel(element.value()));
    call.in_place = program_call.in_place() && (!has_root || writes);
    if (!writes) call.output_holds = {};
    call.root = program_call.root;
    return Reduction(collective, call);
  });
}

std::optional<int> reduce_blocks(ProgramCall& program_call) {
  const void* const sendbuf = program_call.sent.address;
  void* const recvbuf = program_call.received.memory();
  const MPI_Datatype datatype = program_call.received.datatype;
  const std::size_t predefined = predefined_size(datatype);
  const bool has_counts = program_call.function == MpiFunction::reduce_scatter;
  if (has_counts ? !program_call.received.counts.exist() : program_call.received.count < 0)
    return std::nullopt;
  // No communicator that Stretto handles has more ranks than MPI_COMM_WORLD.
  const auto at_most = static_cast<std::size_t>(program_call.received.count * session.topology.ranks());
  if (!has_counts && predefined != 0 && is_small(program_call, at_most * predefined)) return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(program_call.comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->ranks() == 0) return std::nullopt;
  const std::optional<Blocks> blocks = blocks_of(program_call, *state);
  if (!blocks) return std::nullopt;
  const std::size_t elements = blocks->elements;
  if (predefined != 0 && is_small(program_call, elements * predefined)) return std::nullopt;
  const bool in_place = program_call.in_place();
  if (recvbuf == mpi.in_place || (elements > 0 && sendbuf == nullptr && predefined != 0) ||
      (!in_place &&
       is_for_library(sendbuf, recvbuf, static_cast<std::int64_t>(blocks->mine.count), predefined != 0))) {
    return std::nullopt;
  }
  const std::optional<Element> element =
      state->native_only() ? std::nullopt : find_element(datatype, program_call.op);
  CallTraits traits = traits_of(Collective::reduce_scatter, elements, element, predefined, in_place);
  traits.has_dominant_node =
      blocks->is_unequal && has_dominant_node(state->topology(), program_call.received.counts);
  return dispatch(program_call, traits, handles_of(element), state, [&] {
    return Reduction(Collective::reduce_scatter,
                     {.input = input_of(sendbuf, recvbuf),
                      .output = recvbuf,
                      .element = with_known_kernel(element.value()),
                      .count = elements,
                      .input_holds = {0, elements},
                      .output_holds = blocks->mine,
                      .in_place = in_place},
                     borders_of(program_call.received, state->ranks()));
  });
}

}  // namespace stretto
