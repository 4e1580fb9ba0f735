// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "interpose/carry_out.hpp"
#include "interpose/collectives.hpp"
#include "interpose/handles.hpp"
#include "interpose/next.hpp"
#include "interpose/session.hpp"
#include "stretto/stretto.h"

#define STRETTO_VISIBLE __attribute__((visibility("default")))

using namespace stretto;

STRETTO_VISIBLE const char* stretto_version(void) {
  return STRETTO_VERSION;
}

namespace {

/// A collective by a spec in writing.
template <typename Try, typename Native>
int by_spec(Collective collective, const char* text, MPI_Comm comm, const Try& attempt,
            const Native& native) {
  std::optional<Spec> forced;
  if (text != nullptr && std::strcmp(text, "auto") != 0) {
    try {
      forced = parse_spec(collective, text);
    } catch (const SpecError& error) {
      complain_once_on_rank_0(error.what());
      if (session.active) mpi.Comm_call_errhandler(comm, MPI_ERR_ARG);
      return MPI_ERR_ARG;
    }
  }
  if (session.active) {
    if (const std::optional<int> result = attempt(forced)) return *result;
  }
  return native();
}

}  // namespace

STRETTO_VISIBLE int stretto_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                                      MPI_Op op, MPI_Comm comm, const char* spec) {
  return by_spec(
      Collective::allreduce, spec, comm,
      [&](const auto& forced) { return try_allreduce(sendbuf, recvbuf, count, datatype, op, comm, forced); },
      [&] {
        return next_with<int>().allreduce(sendbuf, recvbuf, count, to_raw(datatype), to_raw(op),
                                          to_raw(comm));
      });
}

STRETTO_VISIBLE int stretto_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                                  const char* spec) {
  return by_spec(
      Collective::bcast, spec, comm,
      [&](const auto& forced) { return try_bcast(buffer, count, datatype, root, comm, forced); },
      [&] { return next_with<int>().bcast(buffer, count, to_raw(datatype), root, to_raw(comm)); });
}

STRETTO_VISIBLE int stretto_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                                   MPI_Op op, int root, MPI_Comm comm, const char* spec) {
  return by_spec(
      Collective::reduce, spec, comm,
      [&](const auto& forced) {
        return try_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, forced);
      },
      [&] {
        return next_with<int>().reduce(sendbuf, recvbuf, count, to_raw(datatype), to_raw(op), root,
                                       to_raw(comm));
      });
}

STRETTO_VISIBLE int stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts,
                                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                           const char* spec) {
  return by_spec(
      Collective::reduce_scatter, spec, comm,
      [&](const auto& forced) {
        return try_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, forced);
      },
      [&] {
        return next_with<int>().reduce_scatter(sendbuf, recvbuf, recvcounts, to_raw(datatype), to_raw(op),
                                               to_raw(comm));
      });
}

STRETTO_VISIBLE int stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                                 const char* spec) {
  return by_spec(
      Collective::reduce_scatter, spec, comm,
      [&](const auto& forced) {
        return try_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm, forced);
      },
      [&] {
        return next_with<int>().reduce_scatter_block(sendbuf, recvbuf, recvcount, to_raw(datatype),
                                                     to_raw(op), to_raw(comm));
      });
}

STRETTO_VISIBLE int stretto_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                      const char* spec) {
  return by_spec(
      Collective::allgather, spec, comm,
      [&](const auto& forced) {
        return try_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, forced);
      },
      [&] {
        return next_with<int>().allgather(sendbuf, sendcount, to_raw(sendtype), recvbuf, recvcount,
                                          to_raw(recvtype), to_raw(comm));
      });
}

STRETTO_VISIBLE int stretto_choice(const char* collective, MPI_Comm comm, size_t bytes, char* spec,
                                   int length) {
  const auto known = find_collective(collective == nullptr ? "" : collective);
  if (!known || spec == nullptr || length < 1) return MPI_ERR_ARG;
  Spec chosen;
  Communicator* state = nullptr;
  if (session.active && find_communicator(comm, state) == MPI_SUCCESS && state != nullptr &&
      !state->native_only()) {
    chosen = choose_for(*state, {.collective = *known, .bytes = bytes}, std::nullopt).value_or(Spec{});
  }
  const std::string text = to_string(chosen);
  const std::size_t fitting = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(spec, text.data(), fitting);
  spec[fitting] = '\0';
  return MPI_SUCCESS;
}
