// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "interpose/allreduce.hpp"
#include "interpose/handles.hpp"
#include "interpose/next.hpp"
#include "interpose/session.hpp"
#include "stretto/stretto.h"

#define STRETTO_VISIBLE __attribute__((visibility("default")))

using namespace stretto;

STRETTO_VISIBLE const char* stretto_version(void) {
  return STRETTO_VERSION;
}

STRETTO_VISIBLE int stretto_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                                      MPI_Op op, MPI_Comm comm, const char* spec) {
  std::optional<Spec> forced;
  if (spec != nullptr && std::strcmp(spec, "auto") != 0) {
    try {
      forced = parse_spec(Collective::allreduce, spec);
    } catch (const SpecError& error) {
      complain_once_on_rank_0(error.what());
      if (session.active) mpi.Comm_call_errhandler(comm, MPI_ERR_ARG);
      return MPI_ERR_ARG;
    }
  }
  if (session.active) {
    if (const auto result = try_allreduce(sendbuf, recvbuf, count, datatype, op, comm, forced))
      return *result;
  }
  return next().allreduce(sendbuf, recvbuf, count, to_raw(datatype), to_raw(op), to_raw(comm));
}

STRETTO_VISIBLE int stretto_choice(const char* collective, MPI_Comm comm, size_t bytes, char* spec,
                                   int length) {
  if (collective == nullptr || name_of(Collective::allreduce) != collective || spec == nullptr ||
      length < 1) {
    return MPI_ERR_ARG;
  }
  const std::string text = to_string(choose_spec(bytes, comm));
  const std::size_t fitting = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(spec, text.data(), fitting);
  spec[fitting] = '\0';
  return MPI_SUCCESS;
}
