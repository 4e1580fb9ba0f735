// SPDX-License-Identifier: Apache-2.0
#include "interpose/allreduce.hpp"

#include <chrono>
#include <exception>

#include "interpose/communicator.hpp"
#include "interpose/device.hpp"
#include "interpose/handles.hpp"
#include "interpose/session.hpp"
#include "interpose/statistics.hpp"
#include "select/rule.hpp"

namespace stretto {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int report(MPI_Comm comm, int error) {
  mpi.Comm_call_errhandler(comm, error);
  return error;
}

/// Whether the arguments are an error, or a form that only the library knows. It will say so itself.
bool is_for_library(const void* sendbuf, const void* recvbuf, std::int64_t count, bool predefined_type) {
  if (count < 0) return true;
  if (count == 0) return false;
  if (sendbuf == recvbuf || recvbuf == MPI_IN_PLACE) return true;
  // MPI_BOTTOM with a datatype of absolute addresses is no error.
  return predefined_type && (sendbuf == nullptr || recvbuf == nullptr);
}

bool fits(const Spec& spec, bool commutative, const Topology& topology) {
  return commutative || spec.is_native() || spec.algorithm->keeps_order(topology);
}

int run(Communicator& state, const Spec& spec, Call call, MPI_Comm comm) {
  try {
    DeviceStaging staging(call);
    const int error = state.run(spec, call);
    if (error != MPI_SUCCESS) return spec.is_native() ? error : report(comm, error);
    staging.copy_result_back();
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return report(comm, MPI_ERR_NO_MEM);
  } catch (const std::exception& error) {
    complain(error.what());
    return report(comm, MPI_ERR_OTHER);
  }
}

/// The spec for a call on this communicator. A forced one that does not fit gives way to the library's own,
/// on all ranks alike; in strict mode nothing is returned.
std::optional<Spec> choose(const Communicator& state, std::size_t bytes, bool commutative,
                           const std::optional<Spec>& forced) {
  const std::optional<Spec>& wanted = forced ? forced : session.settings.allreduce;
  const Topology& topology = state.topology();
  if (!wanted) {
    return choose_allreduce({.bytes = bytes,
                             .ranks = topology.ranks(),
                             .nodes = topology.nodes,
                             .max_ppn = topology.max_ppn,
                             .commutative = commutative});
  }
  if (fits(*wanted, commutative, topology)) return wanted;
  complain_once_on_rank_0(
      "spec \"" + to_string(*wanted) + "\" does not keep rank order on " + std::to_string(topology.ranks()) +
      " ranks, which an operation that does not commute needs; " +
      (session.settings.strict ? "the call fails (STRETTO_STRICT)" : "the MPI library's own is used"));
  if (session.settings.strict) return std::nullopt;
  return Spec{};
}

}  // namespace

Spec choose_spec(std::size_t bytes, MPI_Comm comm) {
  Communicator* state = nullptr;
  if (!session.active || find_communicator(comm, state) != MPI_SUCCESS || state == nullptr) return Spec{};
  if (state->native_only()) return Spec{};
  return choose(*state, bytes, true, std::nullopt).value_or(Spec{});
}

std::optional<int> try_allreduce(const void* sendbuf, void* recvbuf, std::int64_t count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 const std::optional<Spec>& forced) {
  const std::size_t predefined = predefined_size(datatype);
  if (is_for_library(sendbuf, recvbuf, count, predefined != 0)) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  if (!forced && predefined != 0 && elements * predefined < session.allreduce_native_floor)
    return std::nullopt;

  Communicator* state = nullptr;
  // A handle that is no communicator any more: the program's handler has been called.
  if (const int error = find_communicator(comm, state); error != MPI_SUCCESS) return error;
  if (state == nullptr) return std::nullopt;
  const std::optional<Element> element = state->native_only() ? std::nullopt : find_element(datatype, op);
  const bool measured = !session.settings.statistics_file.empty();
  if (!element && !measured) return std::nullopt;

  const double began = measured ? seconds_now() : 0;
  const std::size_t bytes = elements * (element ? static_cast<std::size_t>(element->size) : predefined);
  Spec spec;
  // An empty message is the library's to check; it may be one of no elements on some ranks, and of empty ones
  // on others.
  if (element && bytes > 0) {
    const std::optional<Spec> choice = choose(*state, bytes, element->commutative, forced);
    if (!choice) return report(comm, MPI_ERR_OTHER);
    spec = *choice;
  }
  if (!spec.is_native() && !state->prepare_private_communicator()) spec = {};
  if (spec.is_pass_through() && !measured) return std::nullopt;

  int result = MPI_SUCCESS;
  if (spec.is_pass_through()) {
    result = count > INT32_MAX
                 ? next().allreduce_c(sendbuf, recvbuf, count, to_raw(datatype), to_raw(op), to_raw(comm))
                 : next().allreduce(sendbuf, recvbuf, static_cast<int>(count), to_raw(datatype), to_raw(op),
                                    to_raw(comm));
  } else {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Call call{
        .input = in_place ? recvbuf : sendbuf, .output = recvbuf, .count = elements, .element = *element};
    result = run(*state, spec, call, comm);
  }
  if (measured) record_call(Collective::allreduce, bytes, spec, seconds_now() - began);
  return result;
}

}  // namespace stretto
