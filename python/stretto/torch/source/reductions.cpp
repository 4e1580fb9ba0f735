// SPDX-License-Identifier: Apache-2.0
// allreduce, reduce and reduce_scatter. Elements are reduced in the order of a contiguous tensor, so ranks
// may have different strides.
#include <stdexcept>

#include "interface.hpp"
#include "options.hpp"
#include "process_group.hpp"
#include "tensors.hpp"

namespace stretto_torch {

using c10d::OpType;

namespace {

void check_reduce_scatter(const at::Tensor& output, const at::Tensor& input, int ranks) {
  check_tensor(output, "reduce_scatter_tensor");
  check_tensor(input, "reduce_scatter_tensor");
  check_device(output, input, "reduce_scatter_tensor");
  if (input.scalar_type() == output.scalar_type() && input.numel() == output.numel() * ranks) return;
  throw std::runtime_error(
      "stretto: reduce_scatter_tensor needs an input of the output's type, with as many elements for each "
      "rank "
      "of the group as the output");
}

}  // namespace

ProcessGroup::WorkPointer ProcessGroup::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (is_for_other(tensors)) return other().allreduce(tensors, options);
  at::Tensor tensor = only_tensor(tensors, "allreduce");
  const at::Tensor flat = contiguous_input(tensor);
  stretto_work* work =
      stretto.group_allreduce(group(flat), input_data(flat), output_data(flat), count_of(flat),
                              type_of(flat, options.reduceOp), op_of(options.reduceOp));
  auto finish = [flat, tensor, op = options.reduceOp, ranks = getSize()]() mutable {
    copy_back(flat, tensor);
    divide_average(op, tensor, ranks);
  };
  return follow({OpType::ALLREDUCE,
                 "stretto:all_reduce",
                 "allreduce",
                 options.timeout,
                 is_async(options),
                 tensors,
                 {flat},
                 tensors,
                 std::move(finish)},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::allreduce_sparse(Tensors& tensors,
                                                         const c10d::AllreduceOptions& options) {
  if (is_for_other(tensors)) return other().allreduce_sparse(tensors, options);
  only_tensor(tensors, "allreduce");
  throw std::runtime_error("stretto: allreduce of a sparse tensor is not supported; make it dense first");
}

ProcessGroup::WorkPointer ProcessGroup::allreduce_coalesced(Tensors& tensors,
                                                            const c10d::AllreduceCoalescedOptions& options) {
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, "allreduce_coalesced");
    check_device(tensors[0], tensor, "allreduce_coalesced");
    if (tensor.scalar_type() != tensors[0].scalar_type()) {
      throw std::runtime_error(
          "stretto: allreduce_coalesced needs tensors of one type; make one call for each type");
    }
  }
  if (tensors.empty()) throw std::runtime_error("stretto: allreduce_coalesced needs at least one tensor");
  at::Tensor flat = flatten(tensors);
  stretto_work* work =
      stretto.group_allreduce(group(flat), input_data(flat), output_data(flat), count_of(flat),
                              type_of(flat, options.reduceOp), op_of(options.reduceOp));
  auto finish = [flat, into = tensors, op = options.reduceOp, ranks = getSize()]() mutable {
    divide_average(op, flat, ranks);
    unflatten(flat, into);
  };
  return follow({OpType::ALLREDUCE_COALESCED,
                 "stretto:all_reduce",
                 "allreduce_coalesced",
                 options.timeout,
                 is_async(options),
                 tensors,
                 {flat},
                 tensors,
                 std::move(finish)},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  at::Tensor tensor = only_tensor(tensors, "reduce");
  const at::Tensor flat = contiguous_input(tensor);
  stretto_work* work = stretto.group_reduce(group(flat), input_data(flat), output_data(flat), count_of(flat),
                                            type_of(flat, options.reduceOp), op_of(options.reduceOp),
                                            static_cast<int>(options.rootRank));
  std::function<void()> finish;
  if (getRank() == options.rootRank) {
    finish = [flat, tensor, op = options.reduceOp, ranks = getSize()]() mutable {
      copy_back(flat, tensor);
      divide_average(op, tensor, ranks);
    };
  }
  return follow({OpType::REDUCE,
                 "stretto:reduce",
                 "reduce",
                 options.timeout,
                 is_async(options),
                 tensors,
                 {flat},
                 tensors,
                 std::move(finish)},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                       const c10d::ReduceScatterOptions& options) {
  at::Tensor output = only_tensor(outputs, "reduce_scatter");
  if (inputs.size() != 1 || inputs[0].size() != static_cast<size_t>(getSize())) {
    throw std::runtime_error("stretto: reduce_scatter needs a list of one tensor for each rank of the group");
  }
  std::vector<size_t> counts;
  for (const at::Tensor& input : inputs[0]) {
    check_tensor(input, "reduce_scatter");
    check_device(output, input, "reduce_scatter");
    if (input.scalar_type() != output.scalar_type()) check_alike(output, input, "reduce_scatter");
    counts.push_back(count_of(input));
  }
  check_alike(output, inputs[0][static_cast<size_t>(getRank())], "reduce_scatter");
  const at::Tensor flat = flatten(inputs[0]);
  const at::Tensor mine = contiguous_output(output);
  stretto_work* work =
      stretto.group_reduce_scatter(group(flat), input_data(flat), output_data(mine), counts.data(),
                                   type_of(flat, options.reduceOp), op_of(options.reduceOp));
  auto finish = [mine, output, op = options.reduceOp, ranks = getSize()]() mutable {
    copy_back(mine, output);
    divide_average(op, output, ranks);
  };
  return follow({OpType::REDUCE_SCATTER,
                 "stretto:reduce_scatter",
                 "reduce_scatter",
                 options.timeout,
                 is_async(options),
                 inputs[0],
                 {flat, mine},
                 outputs,
                 std::move(finish)},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                             const c10d::ReduceScatterOptions& options) {
  Tensors outputs{output};
  Tensors inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

ProcessGroup::WorkPointer ProcessGroup::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  if (outputs.size() != inputs.size() || inputs.empty()) {
    throw std::runtime_error("stretto: reduce_scatter_tensor needs as many outputs as inputs");
  }
  const auto ranks = static_cast<size_t>(getSize());
  const stretto_op op = op_of(options.reduceOp);
  Tensors buffers;
  std::vector<stretto_type> types;
  std::vector<std::vector<size_t>> counts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_reduce_scatter(outputs[i], inputs[i], getSize());
    check_device(inputs[0], inputs[i], "reduce_scatter_tensor");
    buffers.push_back(contiguous_output(outputs[i]));
    types.push_back(type_of(inputs[i], options.reduceOp));
    counts.emplace_back(ranks, count_of(outputs[i]));
  }
  const size_t calls = inputs.size();
  for (size_t i = 0; i < calls; ++i) buffers.push_back(contiguous_input(inputs[i], buffers[i]));
  std::vector<stretto_work*> works;
  works.reserve(calls);
  const Starting group = this->group(buffers[0]);
  for (size_t i = 0; i < calls; ++i) {
    works.push_back(stretto.group_reduce_scatter(group, input_data(buffers[calls + i]),
                                                 output_data(buffers[i]), counts[i].data(), types[i], op));
  }
  auto finish = [buffers, outputs, op = options.reduceOp, size = getSize()]() mutable {
    for (size_t i = 0; i < outputs.size(); ++i) {
      copy_back(buffers[i], outputs[i]);
      divide_average(op, outputs[i], size);
    }
  };
  return follow({OpType::_REDUCE_SCATTER_BASE, "stretto:reduce_scatter", "reduce_scatter_tensor",
                 options.timeout, is_async(options), inputs, buffers, outputs, std::move(finish)},
                std::move(works));
}

}  // namespace stretto_torch
