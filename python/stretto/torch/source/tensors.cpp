// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

#include "interface.hpp"

namespace stretto_torch {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream line;
  line << "stretto: ";
  (line << ... << parts);
  throw std::runtime_error(line.str());
}

/// Returns the type of the real and the imaginary part of a complex number.
at::ScalarType part_of(at::ScalarType type) {
  return type == at::kComplexDouble ? at::kDouble : type == at::kComplexHalf ? at::kHalf : at::kFloat;
}

}  // namespace

void check_tensor(const at::Tensor& tensor, const char* operation) {
  if (tensor.layout() != at::kStrided) {
    refuse(operation, " of a sparse tensor is not supported; make it dense first");
  }
  if (tensor.device().is_cpu()) return;
  const bool is_there = tensor.nbytes() == 0 || stretto.knows_device_memory(tensor.data_ptr()) != 0;
  if (tensor.device().is_meta() || !is_there) {
    refuse(operation, " of a tensor on ", tensor.device(),
           " is not supported; this backend is for the cpu and CUDA devices: move it there, or name another "
           "backend for its device, as in init_process_group(\"cpu:stretto,xpu:xccl\")");
  }
}

void check_device(const at::Tensor& one, const at::Tensor& other, const char* operation) {
  if (one.device() == other.device()) return;
  refuse(operation, " of tensors on ", one.device(), " and ", other.device(),
         " is not supported; move them to one device");
}

at::Tensor& only_tensor(std::vector<at::Tensor>& tensors, const char* operation) {
  if (tensors.size() != 1)
    refuse(operation, " of ", tensors.size(), " tensors is not supported; it takes one at a time");
  check_tensor(tensors[0], operation);
  return tensors[0];
}

void check_alike(const at::Tensor& one, const at::Tensor& other, const char* operation) {
  if (one.scalar_type() == other.scalar_type() && one.numel() == other.numel()) return;
  refuse(operation, " needs tensors of one type and size, not ", one.scalar_type(), one.sizes(), " and ",
         other.scalar_type(), other.sizes());
}

stretto_type type_of(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  // All ranks refuse it, although only the root of a reduce would divide.
  if (tensor.scalar_type() == at::kBool && op == c10d::ReduceOp::AVG)
    refuse("there is no average of bool tensors; convert them to another type");
  const bool is_two = tensor.is_complex() && op_of(op) == STRETTO_SUM;
  switch (is_two ? part_of(tensor.scalar_type()) : tensor.scalar_type()) {
    case at::kChar:
      return STRETTO_INT8;
    case at::kByte:
      return STRETTO_UINT8;
    case at::kShort:
      return STRETTO_INT16;
    case at::kInt:
      return STRETTO_INT32;
    case at::kLong:
      return STRETTO_INT64;
    case at::kHalf:
      return STRETTO_FLOAT16;
    case at::kBFloat16:
      return STRETTO_BFLOAT16;
    case at::kFloat:
      return STRETTO_FLOAT32;
    case at::kDouble:
      return STRETTO_FLOAT64;
    case at::kBool:
      return STRETTO_BOOL;
    default:
      refuse("there is no reduction of ", tensor.scalar_type(), " tensors; convert them to another type");
  }
}

size_t count_of(const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * (tensor.is_complex() ? 2 : 1);
}

stretto_op op_of(const c10d::ReduceOp& op) {
  switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::AVG:
      return STRETTO_SUM;
    case c10d::ReduceOp::PRODUCT:
      return STRETTO_PRODUCT;
    case c10d::ReduceOp::MIN:
      return STRETTO_MIN;
    case c10d::ReduceOp::MAX:
      return STRETTO_MAX;
    case c10d::ReduceOp::BAND:
      return STRETTO_BAND;
    case c10d::ReduceOp::BOR:
      return STRETTO_BOR;
    case c10d::ReduceOp::BXOR:
      return STRETTO_BXOR;
    default:
      refuse("there is no ReduceOp.PREMUL_SUM; multiply first, and use ReduceOp.SUM");
  }
}

void divide_average(const c10d::ReduceOp& op, at::Tensor& tensor, int ranks) {
  if (static_cast<c10d::ReduceOp::RedOpType>(op) != c10d::ReduceOp::AVG) return;
  if (tensor.is_floating_point() || tensor.is_complex()) {
    tensor.div_(ranks);
  } else {
    tensor.div_(ranks, "trunc");
  }
}

const void* input_data(const at::Tensor& tensor) {
  static const char nothing = 0;
  const void* data = tensor.data_ptr();
  return data == nullptr ? &nothing : data;
}

void* output_data(const at::Tensor& tensor) {
  static char nothing = 0;
  void* data = tensor.data_ptr();
  return data == nullptr ? &nothing : data;
}

at::Tensor contiguous_input(const at::Tensor& from) {
  return from.resolve_conj().resolve_neg().contiguous();
}

at::Tensor contiguous_input(const at::Tensor& from, const at::Tensor& output) {
  const at::Tensor flat = contiguous_input(from);
  const auto begin = [](const at::Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data_ptr());
  };
  const bool overlaps = flat.nbytes() > 0 && output.nbytes() > 0 &&
                        begin(flat) < begin(output) + output.nbytes() &&
                        begin(output) < begin(flat) + flat.nbytes();
  return overlaps ? flat.clone() : flat;
}

at::Tensor contiguous_output(const at::Tensor& into) {
  return into.is_contiguous() && !into.is_conj() && !into.is_neg()
             ? into
             : at::empty(into.sizes(), into.options().memory_format(at::MemoryFormat::Contiguous));
}

void copy_back(const at::Tensor& from, at::Tensor& into) {
  if (!from.is_same(into)) into.copy_(from.view(into.sizes()));
}

at::Tensor flatten(const std::vector<at::Tensor>& tensors) {
  at::Tensor flat = empty_for(tensors);
  int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    begin += tensor.numel();
  }
  return flat;
}

at::Tensor empty_for(const std::vector<at::Tensor>& tensors) {
  int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return at::empty({elements}, tensors.at(0).options().memory_format(at::MemoryFormat::Contiguous));
}

void unflatten(const at::Tensor& flat, std::vector<at::Tensor>& into) {
  int64_t begin = 0;
  for (at::Tensor& tensor : into) {
    tensor.copy_(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
}

}  // namespace stretto_torch
