// SPDX-License-Identifier: Apache-2.0
// Tensors as messages: what can be one, and contiguous copies of what is none.
#pragma once

#include <ATen/ATen.h>
#include <stretto/group.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <functional>
#include <vector>

namespace stretto_torch {

/// Throws unless it is a dense tensor in the memory of this process.
void check_tensor(const at::Tensor& tensor, const char* operation);

/// The one tensor of a list; torch's interface has lists of them for several devices of a process.
at::Tensor& only_tensor(std::vector<at::Tensor>& tensors, const char* operation);

/// Throws unless they are alike in type and number of elements.
void check_alike(const at::Tensor& one, const at::Tensor& other, const char* operation);

/// Throws where there is no such element.
stretto_type type_of(const at::Tensor& tensor);
stretto_op op_of(const c10d::ReduceOp& op);

/// What follows a reduction by `op` on so many ranks: the division of an average, or nothing.
void divide_average(const c10d::ReduceOp& op, at::Tensor& tensor, int ranks);

/// Never null, and another one for what is sent than for what is received: MPI libraries look at that also
/// where there is nothing to be sent.
const void* input_data(const at::Tensor& tensor);
void* output_data(const at::Tensor& tensor);

/// The elements one after the other, as they are to be sent; a copy if they lie where something is received.
/// (A rank's own part of the output is no MPI_IN_PLACE, which all ranks would have to say.)
at::Tensor contiguous_input(const at::Tensor& from);
at::Tensor contiguous_input(const at::Tensor& from, const at::Tensor& output);

/// The same elements one after the other; `into` itself if they lie so. What arrives there is brought to
/// `into` by copy_back().
at::Tensor contiguous_output(const at::Tensor& into);
void copy_back(const at::Tensor& from, at::Tensor& into);

/// All elements of some tensors of one type, one after the other; and the way back.
at::Tensor flatten(const std::vector<at::Tensor>& tensors);
at::Tensor empty_for(const std::vector<at::Tensor>& tensors);
void unflatten(const at::Tensor& flat, std::vector<at::Tensor>& into);

}  // namespace stretto_torch
