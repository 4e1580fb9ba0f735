// SPDX-License-Identifier: Apache-2.0
#include "interpose/handles/known_operation.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "threads/immortal.hpp"

namespace stretto {
namespace {

using kernels::Op;
using kernels::Type;

template <typename Value>
using Named = std::pair<std::string_view, Value>;
constexpr std::array<Named<Type>, 2> types{{{"float16", Type::f16}, {"bfloat16", Type::bf16}}};
constexpr std::array<Named<Op>, 4> ops{
    {{"sum", Op::sum}, {"product", Op::prod}, {"min", Op::min}, {"max", Op::max}}};

/// A function that is known by its name and module. It takes elements of two bytes, whatever the
/// datatype.
struct KnownFunction {
  std::string_view symbol;
  std::string_view module;  // prefix of the file name
  Type type;
  Op op;
};
// Horovod's sum (horovod/common/half.cc) as built for each framework: mpi_lib.*.so for TensorFlow and
// MXNet, mpi_lib_v2.*.so for PyTorch. horovod::common::float16_sum(void*, void*, int*, MPI_Datatype*)
constexpr std::array<KnownFunction, 3> functions{{
    {"_ZN7horovod6common11float16_sumEPvS1_PiPP15ompi_datatype_t", "mpi_lib", Type::f16, Op::sum},
    {"_ZN7horovod6common11float16_sumEPvS1_PiS2_", "mpi_lib", Type::f16, Op::sum},
    {"_ZN7horovod6common11float16_sumEPvS1_PiPP16MPI_ABI_Datatype", "mpi_lib", Type::f16, Op::sum},
}};

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Returns the kernel that does the same as a function; nullptr if none is known.
kernels::Function find_kernel(const void* function) {
  Dl_info info{};
  // The nearest symbol before an address may be that of another function.
  if (dladdr(function, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != function) return nullptr;
  const std::string_view symbol = info.dli_sname;
  const std::string_view module = base_name(info.dli_fname);
  const auto* known = std::find_if(functions.begin(), functions.end(), [&](const KnownFunction& one) {
    return symbol == one.symbol && module.starts_with(one.module);
  });
  return known == functions.end() ? nullptr : kernels::find(known->type, known->op);
}

/// Returns the number of libraries that the process has unloaded. If it changes, another function may have
/// taken the address of one.
unsigned long long count_unloaded() {
  unsigned long long unloaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_subs;
        return 1;
      },
      &unloaded);
  return unloaded;
}

std::mutex mutex;
std::atomic<bool> any_known{false};

/// The results of find_kernel() for each function. They are kept because the linker searches all symbols for
/// an address, one by one, and ScaLAPACK makes an operation for each of its calls.
struct Found {
  unsigned long long unloaded = 0;
  std::map<const void*, kernels::Function> kernels;
};
constinit Immortal<Found> found_before;

/// Returns the result of find_kernel(); fast for a function that was seen before.
kernels::Function find_kernel_again(const void* function) {
  const unsigned long long unloaded = count_unloaded();
  const std::lock_guard lock(mutex);
  Found& found = found_before();
  if (found.unloaded != unloaded) found = {.unloaded = unloaded, .kernels = {}};
  const auto [entry, is_new] = found.kernels.try_emplace(function, nullptr);
  if (is_new) entry->second = find_kernel(function);
  return entry->second;
}

/// A function of the program may do different things with different datatypes.
using Operation = std::pair<MPI_Op, MPI_Datatype>;

constinit Immortal<std::map<Operation, kernels::Function>> registered_kernels;

constinit Immortal<std::map<MPI_Op, kernels::Function>> known_by_function;

/// Returns the kernel of the element's operation; nullptr if none is known.
kernels::Function find_kernel(const Element& element) {
  const std::lock_guard lock(mutex);
  const auto registered = registered_kernels().find({element.op, element.datatype});
  if (registered != registered_kernels().end()) return registered->second;
  const auto by_function = known_by_function().find(element.op);
  return by_function == known_by_function().end() ? nullptr : by_function->second;
}

}  // namespace

kernels::Function find_short_kernel(std::string_view type, std::string_view operation) {
  const auto* const its_type = std::ranges::find(types, type, &Named<Type>::first);
  const auto* const its_op = std::ranges::find(ops, operation, &Named<Op>::first);
  if (its_type == types.end() || its_op == ops.end()) return nullptr;
  return kernels::find(its_type->second, its_op->second);
}

void know_operation(MPI_Op op, MPI_Datatype datatype, kernels::Function kernel) {
  const std::lock_guard lock(mutex);
  registered_kernels()[{op, datatype}] = kernel;
  any_known = true;
}

void note_operation(MPI_Op op, const void* function) {
  const kernels::Function kernel = find_kernel_again(function);
  if (kernel == nullptr) return;
  const std::lock_guard lock(mutex);
  known_by_function()[op] = kernel;
  any_known = true;
}

Element with_known_kernel(const Element& element) {
  const bool may_be = any_known && element.kernel == nullptr && element.size == 2 && element.contiguous() &&
                      is_program_operation(element.op);
  if (!may_be) return element;
  Element faster = element;
  faster.kernel = find_kernel(element);
  return faster;
}

void forget_operation(MPI_Op op) {
  if (!any_known) return;
  const std::lock_guard lock(mutex);
  known_by_function().erase(op);
  std::erase_if(registered_kernels(), [op](const auto& entry) { return entry.first.first == op; });
}

void forget_datatype(MPI_Datatype datatype) {
  if (!any_known) return;
  const std::lock_guard lock(mutex);
  std::erase_if(registered_kernels(),
                [datatype](const auto& entry) { return entry.first.second == datatype; });
}

}  // namespace stretto
