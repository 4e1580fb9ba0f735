// SPDX-License-Identifier: Apache-2.0
#include "interpose/known_operation.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "engine/immortal.hpp"

namespace stretto {
namespace {

using Half = std::uint16_t;

/// More than any vector holds, and no multiple of one.
constexpr std::size_t probe_count = 299;

struct Probes {
  std::array<Half, probe_count> left{};
  std::array<Half, probe_count> right{};
};

constexpr bool is_finite(Half bits) {
  return (bits & 0x7C00U) != 0x7C00U;
}

/// Signs, subnormals, ties that go up and down, overflow, and finite values of all sizes. No NaN and nothing
/// that makes one: functions differ in which NaN they give, and it means the same.
constexpr Probes make_probes() {
  constexpr std::array<std::array<Half, 2>, 14> telling{{{0x0000, 0x8000},
                                                         {0x8000, 0x8000},
                                                         {0x0001, 0x0001},
                                                         {0x03FF, 0x0001},
                                                         {0x8001, 0x0400},
                                                         {0x3C00, 0x1000},  // 1 + 2^-11, a tie: down
                                                         {0x3C01, 0x1000},  // up
                                                         {0x3C00, 0x1001},  // a bit more than a tie
                                                         {0x7BFF, 0x7BFF},  // overflow
                                                         {0x7BFF, 0x4C00},  // 65504 + 16, a tie: infinity
                                                         {0x7BFF, 0x4BFF},  // a bit less
                                                         {0x7C00, 0xFBFF},  // infinity stays
                                                         {0xFC00, 0x3C00},
                                                         {0x3555, 0xB555}}};  // x - x
  Probes probes;
  std::uint32_t state = 12345;
  const auto next = [&state] {
    Half bits = 0;
    do {
      state = state * 1664525U + 1013904223U;
      bits = static_cast<Half>(state >> 16U);
    } while (!is_finite(bits));
    return bits;
  };
  for (std::size_t i = 0; i < probe_count; ++i) {
    probes.left[i] = i < telling.size() ? telling[i][0] : next();
    probes.right[i] = i < telling.size() ? telling[i][1] : next();
  }
  return probes;
}

constexpr Probes probes = make_probes();

/// MPI_Type_contiguous(2, MPI_BYTE).
bool is_two_bytes(MPI_Datatype datatype) {
  int integers = 0;
  int addresses = 0;
  int datatypes = 0;
  int combiner = 0;
  if (mpi.Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner) != MPI_SUCCESS ||
      combiner != MPI_COMBINER_CONTIGUOUS || integers != 1 || datatypes != 1) {
    return false;
  }
  int count = 0;
  MPI_Aint no_address = 0;
  MPI_Datatype of{};
  if (mpi.Type_get_contents(datatype, 1, 0, 1, &count, &no_address, &of) != MPI_SUCCESS) return false;
  if (of == MPI_BYTE) return count == 2;
  // A derived one comes as a new handle.
  const bool is_known =
      mpi.Type_get_envelope(of, &integers, &addresses, &datatypes, &combiner) == MPI_SUCCESS;
  if (is_known && combiner == MPI_COMBINER_CONTIGUOUS) mpi.Type_free(&of);
  return false;
}

kernels::Function half_sum() {
  return kernels::find(kernels::Type::f16, kernels::Op::sum);
}

bool adds_halves(const Element& element) {
  std::array<Half, probe_count> wanted{};
  half_sum()(wanted.data(), probes.left.data(), probes.right.data(), probe_count);
  std::array<Half, probe_count> found = probes.right;
  const int error = mpi.Reduce_local(probes.left.data(), found.data(), static_cast<int>(probe_count),
                                     element.datatype, element.op);
  return error == MPI_SUCCESS && found == wanted;
}

std::mutex mutex;
std::atomic<bool> any_known{false};

/// A function of the program's may do one thing with one datatype and something else with another.
using Operation = std::pair<MPI_Op, MPI_Datatype>;

/// What was found out; nullptr where only the program can do it.
std::map<Operation, kernels::Function>& known() {
  static auto& all = make_immortal<std::map<Operation, kernels::Function>>();
  return all;
}

template <typename Predicate>
void forget_if(const Predicate& predicate) {
  if (!any_known) return;
  const std::lock_guard lock(mutex);
  std::erase_if(known(), [&](const auto& entry) { return predicate(entry.first); });
}

kernels::Function find_kernel(const Element& element) {
  const Operation operation{element.op, element.datatype};
  {
    const std::lock_guard lock(mutex);
    const auto found = known().find(operation);
    if (found != known().end()) return found->second;
  }
  // The function is the program's: no lock is held while it runs.
  const kernels::Function kernel = adds_halves(element) ? half_sum() : nullptr;
  const std::lock_guard lock(mutex);
  any_known = true;
  return known().emplace(operation, kernel).first->second;
}

}  // namespace

void know_operation(MPI_Op op, MPI_Datatype datatype, kernels::Function kernel) {
  const std::lock_guard lock(mutex);
  any_known = true;
  known()[{op, datatype}] = kernel;
}

Element with_known_kernel(const Element& element) {
  const bool may_be = element.kernel == nullptr && element.size == 2 && element.contiguous() &&
                      is_program_operation(element.op) && is_two_bytes(element.datatype);
  if (!may_be) return element;
  Element faster = element;
  faster.kernel = find_kernel(element);
  return faster;
}

void forget_operation(MPI_Op op) {
  forget_if([op](const Operation& operation) { return operation.first == op; });
}

void forget_datatype(MPI_Datatype datatype) {
  forget_if([datatype](const Operation& operation) { return operation.second == datatype; });
}

}  // namespace stretto
