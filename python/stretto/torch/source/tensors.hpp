// SPDX-License-Identifier: Apache-2.0
// Tensors as messages: checks, and contiguous copies of other tensors.
#pragma once

#include <ATen/ATen.h>
#include <stretto/group.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <functional>
#include <vector>

namespace stretto_torch {

/// Throws unless it is a dense tensor in host memory, or in that of a device whose driver Stretto knows.
void check_tensor(const at::Tensor& tensor, const char* operation);
/// Throws unless they are on the same device.
void check_device(const at::Tensor& one, const at::Tensor& other, const char* operation);

/// The only tensor of a list. torch's interface has lists for several devices of a process.
at::Tensor& only_tensor(std::vector<at::Tensor>& tensors, const char* operation);

/// Throws unless they have the same type and number of elements.
void check_alike(const at::Tensor& one, const at::Tensor& other, const char* operation);

/// The type of the numbers that are reduced. Throws if there is none. Complex numbers are summed as two.
stretto_type type_of(const at::Tensor& tensor, const c10d::ReduceOp& op);
/// The number of these numbers.
size_t count_of(const at::Tensor& tensor);
stretto_op op_of(const c10d::ReduceOp& op);

/// Does what follows a reduction by `op` over that number of ranks: the division of an average, or nothing.
void divide_average(const c10d::ReduceOp& op, at::Tensor& tensor, int ranks);

/// An address that is never null, and differs between sending and receiving: MPI libraries check this even if
/// there is nothing to send.
const void* input_data(const at::Tensor& tensor);
void* output_data(const at::Tensor& tensor);

/// A contiguous tensor to send from; a copy if it overlaps the receive buffer. (That is not MPI_IN_PLACE,
/// which all ranks would have to pass.)
at::Tensor contiguous_input(const at::Tensor& from);
at::Tensor contiguous_input(const at::Tensor& from, const at::Tensor& output);

/// A contiguous tensor to receive into: `into` itself if it is contiguous. copy_back() copies the result to
/// `into`.
at::Tensor contiguous_output(const at::Tensor& into);
void copy_back(const at::Tensor& from, at::Tensor& into);

/// Packs the elements of tensors of one type into one tensor, and unpacks them.
at::Tensor flatten(const std::vector<at::Tensor>& tensors);
at::Tensor empty_for(const std::vector<at::Tensor>& tensors);
void unflatten(const at::Tensor& flat, std::vector<at::Tensor>& into);

}  // namespace stretto_torch
