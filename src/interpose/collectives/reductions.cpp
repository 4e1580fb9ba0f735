// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan.
#include <memory>
#include <utility>
#include <vector>

#include "engine/device_memory.hpp"
#include "engine/native_execution.hpp"
#include "interpose/collectives/aliasing.hpp"
#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/moved_blocks.hpp"
#include "interpose/dispatch/dispatch.hpp"
#include "interpose/handles/known_operation.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// Whether the arguments are an error, which the library reports, or a form that only the library knows.
bool is_for_library(const void* sendbuf, const void* recvbuf, std::int64_t count, bool predefined_type) {
  if (count < 0) return true;
  if (count == 0) return false;
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

const void* input_of(const void* sendbuf, void* recvbuf) {
  return sendbuf == mpi.in_place ? recvbuf : sendbuf;
}

/// The program's buffers, or a copy of the input if they share memory.
class Reduction final : public Message {
 public:
  Reduction(Collective collective, const Call& of, std::vector<std::size_t> borders = {})
      : Message(of, std::move(borders)) {
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

  const void* users_ = nullptr;  // if there is a copy
  PooledBuffer copy_;
};

/// For both forms of reduce-scatter. `mine` is this rank's block of all elements. make_borders() returns
/// where each block begins; it is not called if the library carries the call out. has_dominant_node() is not
/// called for small calls.
template <typename HasDominantNode, typename MakeBorders>
std::optional<int> reduce_blocks(Form& form, const void* sendbuf, void* recvbuf, std::size_t elements,
                                 const Range& mine, const HasDominantNode& has_dominant_node,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 const std::shared_ptr<Communicator>& state,
                                 const MakeBorders& make_borders) {
  const std::size_t predefined = predefined_size(datatype);
  if (predefined != 0 && is_small(form, Collective::reduce_scatter, elements * predefined, comm))
    return std::nullopt;
  const auto count = static_cast<std::int64_t>(mine.count);
  const bool in_place = sendbuf == mpi.in_place;
  if (recvbuf == mpi.in_place || (elements > 0 && sendbuf == nullptr && predefined != 0) ||
      (!in_place && is_for_library(sendbuf, recvbuf, count, predefined != 0))) {
    return std::nullopt;
  }
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  CallTraits traits = traits_of(Collective::reduce_scatter, elements, element, predefined, in_place);
  traits.has_dominant_node = has_dominant_node();
  return dispatch(form, traits, handles_of(element), comm, state, [&] {
    return Reduction(Collective::reduce_scatter,
                     {.input = input_of(sendbuf, recvbuf),
                      .output = recvbuf,
                      .element = with_known_kernel(element.value()),
                      .count = elements,
                      .input_holds = {0, elements},
                      .output_holds = mine,
                      .in_place = in_place},
                     make_borders());
  });
}

std::optional<int> reduce_prefix(Form& form, Collective collective, const void* sendbuf, void* recvbuf,
                                 std::int64_t count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (count < 0) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (predefined != 0 && is_small(form, collective, elements * predefined, comm)) return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr) return std::nullopt;
  // The receive buffer of rank 0 of an exscan has no meaning.
  const bool has_output = collective == Collective::scan || state->rank() != 0;
  if (has_output ? is_for_library(sendbuf, recvbuf, count, predefined != 0)
                 : count > 0 && sendbuf == nullptr && predefined != 0) {
    return std::nullopt;
  }
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  return dispatch(form, traits_of(collective, elements, element, predefined, sendbuf == mpi.in_place),
                  handles_of(element), comm, state, [&] {
                    Call call = Call::whole(input_of(sendbuf, recvbuf), recvbuf, elements,
                                            with_known_kernel(element.value()));
                    call.in_place = sendbuf == mpi.in_place;
                    if (!has_output) call.output_holds = {};
                    return Reduction(collective, call);
                  });
}

}  // namespace

std::optional<int> try_allreduce(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (is_for_library(sendbuf, recvbuf, count, predefined != 0)) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (may_repeat(form, predefined) && lie_apart(sendbuf, recvbuf, elements * predefined)) {
    const bool in_place = sendbuf == mpi.in_place;
    form.key = {.collective = Collective::allreduce,
                .in_place = in_place,
                .count = count,
                .datatype = datatype,
                .op = op};
    const Repetition again = try_repeat(form, *form.key, input_of(sendbuf, recvbuf), recvbuf, comm);
    if (again.is_known) return again.result;
  }
  if (predefined != 0 && is_small(form, Collective::allreduce, elements * predefined, comm))
    return std::nullopt;
  std::shared_ptr<Communicator> state;
  // The handle is no longer a communicator, and the program's handler has been called.
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr) return std::nullopt;
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  return dispatch(
      form, traits_of(Collective::allreduce, elements, element, predefined, sendbuf == mpi.in_place),
      handles_of(element), comm, state, [&] {
        Call call =
            Call::whole(input_of(sendbuf, recvbuf), recvbuf, elements, with_known_kernel(element.value()));
        call.in_place = sendbuf == mpi.in_place;
        return Reduction(Collective::allreduce, call);
      });
}

std::optional<int> try_reduce(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                              MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  const std::size_t predefined = predefined_size(datatype);
  if (count < 0) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (predefined != 0 && is_small(form, Collective::reduce, elements * predefined, comm)) return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || root < 0 || root >= state->ranks()) return std::nullopt;
  const bool is_root = state->rank() == root;
  // Only the root's receive buffer is significant.
  if (is_root ? is_for_library(sendbuf, recvbuf, count, predefined != 0)
              : count > 0 && (sendbuf == mpi.in_place || (sendbuf == nullptr && predefined != 0))) {
    return std::nullopt;
  }
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  return dispatch(form, traits_of(Collective::reduce, elements, element, predefined, false, root),
                  handles_of(element), comm, state, [&] {
                    Call call = Call::whole(input_of(sendbuf, recvbuf), is_root ? recvbuf : nullptr, elements,
                                            with_known_kernel(element.value()));
                    call.in_place = is_root && sendbuf == mpi.in_place;
                    if (!is_root) call.output_holds = {};
                    call.root = root;
                    return Reduction(Collective::reduce, call);
                  });
}

template <typename Count>
std::optional<int> try_reduce_scatter(Form& form, const void* sendbuf, void* recvbuf, const Count* recvcounts,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || recvcounts == nullptr || state->ranks() == 0) return std::nullopt;
  const int ranks = state->ranks();
  std::size_t elements = 0;
  Range mine;
  bool is_unequal = false;
  for (int rank = 0; rank < ranks; ++rank) {
    if (recvcounts[rank] < 0) return std::nullopt;
    const auto count = static_cast<std::size_t>(recvcounts[rank]);
    if (rank == state->rank()) mine = {elements, count};
    elements += count;
    is_unequal = is_unequal || recvcounts[rank] != recvcounts[0];
  }
  const auto has_dominant = [&] { return is_unequal && has_dominant_node(state->topology(), recvcounts); };
  return reduce_blocks(form, sendbuf, recvbuf, elements, mine, has_dominant, datatype, op, comm, state, [&] {
    std::vector<std::size_t> borders{0};
    borders.reserve(static_cast<std::size_t>(ranks) + 1);
    for (int rank = 0; rank < ranks; ++rank)
      borders.push_back(borders.back() + static_cast<std::size_t>(recvcounts[rank]));
    return borders;
  });
}

template std::optional<int> try_reduce_scatter(Form&, const void*, void*, const int*, MPI_Datatype, MPI_Op,
                                               MPI_Comm);
template std::optional<int> try_reduce_scatter(Form&, const void*, void*, const std::int64_t*, MPI_Datatype,
                                               MPI_Op, MPI_Comm);

std::optional<int> try_reduce_scatter_block(Form& form, const void* sendbuf, void* recvbuf,
                                            std::int64_t recvcount, MPI_Datatype datatype, MPI_Op op,
                                            MPI_Comm comm) {
  if (recvcount < 0) return std::nullopt;
  const auto block = static_cast<std::size_t>(recvcount);
  // No communicator that Stretto handles has more ranks than MPI_COMM_WORLD.
  const std::size_t at_most = block * static_cast<std::size_t>(session.topology.ranks());
  const std::size_t predefined = predefined_size(datatype);
  if (predefined != 0 && is_small(form, Collective::reduce_scatter, at_most * predefined, comm))
    return std::nullopt;
  std::shared_ptr<Communicator> state;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || state->ranks() == 0) return std::nullopt;
  const auto ranks = static_cast<std::size_t>(state->ranks());
  const Range mine{block * static_cast<std::size_t>(state->rank()), block};
  return reduce_blocks(
      form, sendbuf, recvbuf, block * ranks, mine, [] { return false; }, datatype, op, comm, state,
      [&] {
        std::vector<std::size_t> borders(ranks + 1);
        for (std::size_t rank = 0; rank < borders.size(); ++rank) borders[rank] = rank * block;
        return borders;
      });
}

std::optional<int> try_scan(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return reduce_prefix(form, Collective::scan, sendbuf, recvbuf, count, datatype, op, comm);
}

std::optional<int> try_exscan(Form& form, const void* sendbuf, void* recvbuf, std::int64_t count,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return reduce_prefix(form, Collective::exscan, sendbuf, recvbuf, count, datatype, op, comm);
}

}  // namespace stretto
