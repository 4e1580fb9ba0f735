// SPDX-License-Identifier: Apache-2.0
// Tensors as messages: checks, and contiguous copies of tensors that are not contiguous.
#pragma once

#include <ATen/ATen.h>
#include <stretto/group.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <functional>
#include <vector>

namespace stretto_torch {

/// Throws unless it is a dense tensor in host memory, or in memory of a device whose driver Stretto supports.
void check_tensor(const at::Tensor& tensor, const char* operation);
/// Throws unless they are on the same device.
void check_device(const at::Tensor& one, const at::Tensor& other, const char* operation);

/// Returns the only tensor of a list. torch's interface has lists for several devices of a process.
at::Tensor& only_tensor(std::vector<at::Tensor>& tensors, const char* operation);

/// Throws unless they have the same type and number of elements.
void check_alike(const at::Tensor& one, const at::Tensor& other, const char* operation);

/// Returns the type of the numbers that are reduced. Throws if there is none. A complex number is summed as
/// two numbers.
stretto_type type_of(const at::Tensor& tensor, const c10d::ReduceOp& op);
/// Returns how many such numbers a tensor has.
size_t count_of(const at::Tensor& tensor);
stretto_op op_of(const c10d::ReduceOp& op);

/// Divides the sums by the number of ranks if `op` is an average, and does nothing for other operations.
void divide_average(const c10d::ReduceOp& op, at::Tensor& tensor, int ranks);

/// Return an address that is never null, and that differs between sending and receiving. MPI libraries check
/// this even if there is nothing to send.
const void* input_data(const at::Tensor& tensor);
void* output_data(const at::Tensor& tensor);

/// Return a contiguous tensor to send from; a copy if `from` overlaps the receive buffer. (The overlap cannot
/// become MPI_IN_PLACE, which all ranks would have to pass.)
at::Tensor contiguous_input(const at::Tensor& from);
at::Tensor contiguous_input(const at::Tensor& from, const at::Tensor& output);

/// Returns a contiguous tensor to receive into, which is `into` itself if that is contiguous. copy_back()
/// copies the result to `into`.
at::Tensor contiguous_output(const at::Tensor& into);
void copy_back(const at::Tensor& from, at::Tensor& into);

/// Packs the elements of tensors of one type into one tensor, and unpacks them.
at::Tensor flatten(const std::vector<at::Tensor>& tensors);
at::Tensor empty_for(const std::vector<at::Tensor>& tensors);
void unflatten(const at::Tensor& flat, std::vector<at::Tensor>& into);

}  // namespace stretto_torch
