// SPDX-License-Identifier: Apache-2.0
// Views such as x.conj().imag are tensors with a mark, which says that their negative or conjugate is still
// to be taken. An operator without a kernel for marked tensors gets copies that are not marked. PyTorch would
// write the result of a collective to these copies, and drop it. So the collectives have such a kernel: a
// group of this backend gets the tensors as they are (tensors.hpp), and all other groups get copies.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/version.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "process_group.hpp"

namespace stretto_torch {
namespace {

/// Returns a tensor among the arguments of a collective; nullptr if there is none.
const at::Tensor* find_tensor(c10::ArrayRef<c10::IValue> arguments, at::Tensor& found) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      found = argument.toTensor();
    } else if (argument.isTensorList() && !argument.toTensorList().empty()) {
      found = argument.toTensorList().get(0);
    } else {
      continue;
    }
    return &found;
  }
  return nullptr;
}

bool is_of_this_backend(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
  const auto place = schema.argumentIndexWithName("process_group");
  at::Tensor found;
  if (!place || find_tensor(arguments, found) == nullptr) return false;
  const auto group = arguments[static_cast<size_t>(*place)].toCustomClass<c10d::ProcessGroup>();
#if TORCH_VERSION_MAJOR >= 2
  const auto backend = group->getBackend(found.device().type());
#else
  const auto& backend = group;
#endif
  return dynamic_cast<const ProcessGroup*>(backend.get()) != nullptr;
}

template <c10::DispatchKey key>
at::Tensor without_mark(const at::Tensor& tensor) {
  return key == c10::DispatchKey::Negative ? tensor.resolve_neg() : tensor.resolve_conj();
}

/// The kernel of all collectives.
template <c10::DispatchKey key>
void pass_views(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack->size() - count;
  if (!is_of_this_backend(op.schema(), c10::ArrayRef<c10::IValue>(*stack).slice(first))) {
    for (size_t i = first; i < stack->size(); ++i) {
      c10::IValue& argument = (*stack)[i];
      if (argument.isTensor()) {
        argument = without_mark<key>(argument.toTensor());
      } else if (argument.isTensorList()) {
        c10::List<at::Tensor> copies;
        for (const at::Tensor& tensor : argument.toTensorVector())
          copies.push_back(without_mark<key>(tensor));
        argument = std::move(copies);
      }
    }
  }
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key), stack);
}

template <c10::DispatchKey key>
void register_views(torch::Library& library) {
  for (const char* name :
       {"broadcast_", "allreduce_", "allreduce_coalesced_", "allgather_", "_allgather_base_",
        "allgather_coalesced_", "allgather_into_tensor_coalesced_", "reduce_", "reduce_scatter_",
        "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "gather_", "scatter_", "alltoall_",
        "alltoall_base_", "send", "recv_", "recv_any_source_"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&pass_views<key>>());
  }
}

}  // namespace

TORCH_LIBRARY_IMPL(c10d, Negative, library) {
  register_views<c10::DispatchKey::Negative>(library);
}
TORCH_LIBRARY_IMPL(c10d, Conjugate, library) {
  register_views<c10::DispatchKey::Conjugate>(library);
}

}  // namespace stretto_torch
