// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter and MPI_Reduce_scatter_block.
#include <climits>
#include <numeric>
#include <vector>

#include "interpose/carry_out.hpp"
#include "interpose/collectives.hpp"
#include "interpose/handles.hpp"
#include "interpose/next.hpp"

namespace stretto {
namespace {

/// Whether the arguments are an error, or a form that only the library knows. It will say so itself.
bool is_for_library(const void* sendbuf, const void* recvbuf, std::int64_t count, bool predefined_type) {
  if (count < 0) return true;
  if (count == 0) return false;
  if (recvbuf == MPI_IN_PLACE) return true;
  // MPI_BOTTOM with a datatype of absolute addresses is no error.
  if (sendbuf == recvbuf && recvbuf != nullptr) return true;
  return predefined_type && (sendbuf == nullptr || recvbuf == nullptr);
}

bool is_small(Collective collective, std::size_t bytes, const std::optional<Spec>& forced) {
  return !forced && bytes < session.native_floor(collective);
}

CallTraits traits_of(Collective collective, std::size_t elements, const std::optional<Element>& element,
                     std::size_t predefined, int root = 0) {
  return {.collective = collective,
          .bytes = elements * (element ? static_cast<std::size_t>(element->size) : predefined),
          .root = root,
          .commutative = !element || element->commutative,
          .understood = element.has_value()};
}

const void* input_of(const void* sendbuf, void* recvbuf) {
  return sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
}

/// Both forms of reduce-scatter: the borders of the ranks' blocks, and the library's own call.
template <typename Native>
std::optional<int> reduce_blocks(const void* sendbuf, void* recvbuf, const std::vector<std::size_t>& borders,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, Communicator& state,
                                 const std::optional<Spec>& forced, const Native& native) {
  const std::size_t predefined = predefined_size(datatype);
  const std::size_t elements = borders.back();
  if (is_small(Collective::reduce_scatter, elements * predefined, forced) && predefined != 0)
    return std::nullopt;
  const auto own = static_cast<std::size_t>(state.rank());
  const Range mine{borders[own], borders[own + 1] - borders[own]};
  const auto count = static_cast<std::int64_t>(mine.count);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if (recvbuf == MPI_IN_PLACE || (elements > 0 && sendbuf == nullptr && predefined != 0) ||
      (!in_place && is_for_library(sendbuf, recvbuf, count, predefined != 0))) {
    return std::nullopt;
  }
  const std::optional<Element> element = state.native_only() ? std::nullopt : find_element(datatype, op);
  const CallTraits traits = traits_of(Collective::reduce_scatter, elements, element, predefined);
  return carry_out(
      traits, comm, state, forced,
      [&] {
        return ReadyCall{{.input = input_of(sendbuf, recvbuf),
                          .output = recvbuf,
                          .element = element.value(),
                          .count = elements,
                          .input_holds = {0, elements},
                          .output_holds = mine,
                          .in_place = in_place,
                          .borders = borders}};
      },
      native);
}

}  // namespace

std::optional<int> try_allreduce(const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 const std::optional<Spec>& forced) {
  const std::size_t predefined = predefined_size(datatype);
  if (is_for_library(sendbuf, recvbuf, count, predefined != 0)) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (predefined != 0 && is_small(Collective::allreduce, elements * predefined, forced)) return std::nullopt;
  Communicator* state = nullptr;
  // A handle that is no communicator any more: the program's handler has been called.
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr) return std::nullopt;
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  return carry_out(
      traits_of(Collective::allreduce, elements, element, predefined), comm, *state, forced,
      [&] {
        Call call = Call::whole(input_of(sendbuf, recvbuf), recvbuf, elements, element.value());
        call.in_place = sendbuf == MPI_IN_PLACE;
        return ReadyCall{call};
      },
      [&] {
        return count > INT_MAX ? next_with<RawCount>().allreduce(sendbuf, recvbuf, count, to_raw(datatype),
                                                                 to_raw(op), to_raw(comm))
                               : next_with<int>().allreduce(sendbuf, recvbuf, static_cast<int>(count),
                                                            to_raw(datatype), to_raw(op), to_raw(comm));
      });
}

std::optional<int> try_reduce(const void* sendbuf, void* recvbuf, std::int64_t count, MPI_Datatype datatype,
                              MPI_Op op, int root, MPI_Comm comm, const std::optional<Spec>& forced) {
  const std::size_t predefined = predefined_size(datatype);
  if (count < 0) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (predefined != 0 && is_small(Collective::reduce, elements * predefined, forced)) return std::nullopt;
  Communicator* state = nullptr;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || root < 0 || root >= state->topology().ranks()) return std::nullopt;
  const bool is_root = state->rank() == root;
  // Only the root's receive buffer means anything.
  if (is_root ? is_for_library(sendbuf, recvbuf, count, predefined != 0)
              : count > 0 && (sendbuf == MPI_IN_PLACE || (sendbuf == nullptr && predefined != 0))) {
    return std::nullopt;
  }
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  return carry_out(
      traits_of(Collective::reduce, elements, element, predefined, root), comm, *state, forced,
      [&] {
        Call call =
            Call::whole(input_of(sendbuf, recvbuf), is_root ? recvbuf : nullptr, elements, element.value());
        call.in_place = is_root && sendbuf == MPI_IN_PLACE;
        if (!is_root) call.output_holds = {};
        call.root = root;
        return ReadyCall{call};
      },
      [&] {
        return count > INT_MAX ? next_with<RawCount>().reduce(sendbuf, recvbuf, count, to_raw(datatype),
                                                              to_raw(op), root, to_raw(comm))
                               : next_with<int>().reduce(sendbuf, recvbuf, static_cast<int>(count),
                                                         to_raw(datatype), to_raw(op), root, to_raw(comm));
      });
}

template <typename Count>
std::optional<int> try_reduce_scatter(const void* sendbuf, void* recvbuf, const Count* recvcounts,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                      const std::optional<Spec>& forced) {
  Communicator* state = nullptr;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || recvcounts == nullptr || state->topology().ranks() == 0) return std::nullopt;
  std::vector<std::size_t> borders{0};
  for (int rank = 0; rank < state->topology().ranks(); ++rank) {
    if (recvcounts[rank] < 0) return std::nullopt;
    borders.push_back(borders.back() + static_cast<std::size_t>(recvcounts[rank]));
  }
  return reduce_blocks(sendbuf, recvbuf, borders, datatype, op, comm, *state, forced, [&] {
    if constexpr (sizeof(Count) > sizeof(int)) {
      return next_with<RawCount>().reduce_scatter(sendbuf, recvbuf, recvcounts, to_raw(datatype), to_raw(op),
                                                  to_raw(comm));
    } else {
      return next_with<int>().reduce_scatter(sendbuf, recvbuf, recvcounts, to_raw(datatype), to_raw(op),
                                             to_raw(comm));
    }
  });
}

template std::optional<int> try_reduce_scatter(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm,
                                               const std::optional<Spec>&);
template std::optional<int> try_reduce_scatter(const void*, void*, const RawCount*, MPI_Datatype, MPI_Op,
                                               MPI_Comm, const std::optional<Spec>&);

std::optional<int> try_reduce_scatter_block(const void* sendbuf, void* recvbuf, std::int64_t recvcount,
                                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                            const std::optional<Spec>& forced) {
  Communicator* state = nullptr;
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr || recvcount < 0 || state->topology().ranks() == 0) return std::nullopt;
  std::vector<std::size_t> borders(static_cast<std::size_t>(state->topology().ranks()) + 1);
  for (std::size_t rank = 0; rank < borders.size(); ++rank) {
    borders[rank] = rank * static_cast<std::size_t>(recvcount);
  }
  return reduce_blocks(sendbuf, recvbuf, borders, datatype, op, comm, *state, forced, [&] {
    return recvcount > INT_MAX
               ? next_with<RawCount>().reduce_scatter_block(sendbuf, recvbuf, recvcount, to_raw(datatype),
                                                            to_raw(op), to_raw(comm))
               : next_with<int>().reduce_scatter_block(sendbuf, recvbuf, static_cast<int>(recvcount),
                                                       to_raw(datatype), to_raw(op), to_raw(comm));
  });
}

}  // namespace stretto
