// SPDX-License-Identifier: Apache-2.0
// Calls that only move data: broadcast, allgather, gather, scatter, all-to-all, and messages between two
// ranks. They support elements of any type.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "interface.hpp"
#include "options.hpp"
#include "process_group.hpp"
#include "tensors.hpp"

namespace stretto_torch {

using c10d::OpType;

namespace {

size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.nbytes());
}

/// Throws unless there is a tensor for each rank of the group, each of the type and on the device of `own`.
void check_types(const std::vector<at::Tensor>& tensors, const at::Tensor& own, int ranks,
                 const char* operation) {
  if (tensors.size() != static_cast<size_t>(ranks)) {
    throw std::runtime_error(std::string("stretto: ") + operation +
                             " needs a list of one tensor for each of the " + std::to_string(ranks) +
                             " ranks of the group, and got " + std::to_string(tensors.size()));
  }
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, operation);
    check_device(own, tensor, operation);
    if (tensor.scalar_type() != own.scalar_type()) check_alike(own, tensor, operation);
  }
}

/// Does the same, and also throws unless each tensor has as many elements as `own`.
void check_list(const std::vector<at::Tensor>& tensors, const at::Tensor& own, int ranks,
                const char* operation) {
  check_types(tensors, own, ranks, operation);
  for (const at::Tensor& tensor : tensors) check_alike(own, tensor, operation);
}

void check_root(bool is_given, const char* operation) {
  if (!is_given) {
    throw std::runtime_error(std::string("stretto: ") + operation +
                             " needs a list on its root, and on no other rank");
  }
}

void check_tag(int tag) {
  if (tag < 0)
    throw std::runtime_error("stretto: the tag is " + std::to_string(tag) + "; it must be 0 or more");
}

void check_message(const char* what, int peer, int tag, int ranks) {
  if (peer < 0 || peer >= ranks) {
    throw std::runtime_error(std::string("stretto: ") + what + " rank " + std::to_string(peer) +
                             " of a group of " + std::to_string(ranks) + " ranks");
  }
  check_tag(tag);
}

/// Returns the number of bytes of each rank's part. Parts are equal if the list of sizes is empty.
std::vector<size_t> bytes_of_parts(const at::Tensor& tensor, const std::vector<int64_t>& sizes, int ranks) {
  const auto count = static_cast<size_t>(ranks);
  const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const bool fits = sizes.empty() ? rows % ranks == 0
                                  : sizes.size() == count &&
                                        std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == rows;
  if (!fits) {
    throw std::runtime_error(
        "stretto: all_to_all_single needs split sizes for each rank of the group that make up " +
        std::to_string(rows) +
        " rows, or no split sizes and a number of rows that is divisible by the ranks");
  }
  const size_t row = rows == 0 ? 0 : bytes_of(tensor) / static_cast<size_t>(rows);
  std::vector<size_t> bytes(count, row * static_cast<size_t>(rows / ranks));
  for (size_t i = 0; i < sizes.size(); ++i) bytes[i] = row * static_cast<size_t>(sizes[i]);
  return bytes;
}

std::vector<size_t> bytes_of_each(const std::vector<at::Tensor>& tensors) {
  std::vector<size_t> bytes;
  bytes.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) bytes.push_back(bytes_of(tensor));
  return bytes;
}

bool are_equal(const std::vector<size_t>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [&](size_t one) { return one == bytes[0]; });
}

}  // namespace

ProcessGroup::WorkPointer ProcessGroup::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  if (is_for_other(tensors)) return other().broadcast(tensors, options);
  at::Tensor tensor = only_tensor(tensors, "broadcast");
  const at::Tensor flat = contiguous_input(tensor);
  const bool is_root = getRank() == options.rootRank;
  stretto_work* work =
      stretto.group_bcast(group(flat), output_data(flat), bytes_of(flat), static_cast<int>(options.rootRank));
  return follow({OpType::BROADCAST,
                 "stretto:broadcast",
                 "broadcast",
                 options.timeout,
                 is_async(options),
                 tensors,
                 {flat},
                 tensors,
                 [flat, tensor, is_root]() mutable {
                   if (!is_root) copy_back(flat, tensor);
                 }},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                  const c10d::AllgatherOptions& options) {
  if (is_for_other(inputs)) return other().allgather(outputs, inputs, options);
  const at::Tensor input = contiguous_input(only_tensor(inputs, "allgather"));
  if (outputs.size() != 1) throw std::runtime_error("stretto: allgather takes one list of outputs");
  check_types(outputs[0], input, getSize(), "allgather");
  check_alike(outputs[0][static_cast<size_t>(getRank())], input, "allgather");
  const at::Tensor all = empty_for(outputs[0]);
  // All ranks have lists of the same lengths.
  const std::vector<size_t> bytes = bytes_of_each(outputs[0]);
  stretto_work* work =
      are_equal(bytes)
          ? stretto.group_allgather(group(all), input_data(input), output_data(all), bytes_of(input))
          : stretto.group_allgatherv(group(all), input_data(input), output_data(all), bytes.data());
  return follow({OpType::ALLGATHER,
                 "stretto:all_gather",
                 "allgather",
                 options.timeout,
                 is_async(options),
                 inputs,
                 {all, input},
                 outputs[0],
                 [all, into = outputs[0]]() mutable { unflatten(all, into); }},
                {work});
}

std::vector<stretto_work*> ProcessGroup::start_allgathers(const Tensors& buffers) {
  const size_t calls = buffers.size() / 2;
  std::vector<stretto_work*> works;
  works.reserve(calls);
  const Starting group = this->group(buffers.empty() ? at::Tensor() : buffers[0]);
  for (size_t i = 0; i < calls; ++i) {
    const at::Tensor& input = buffers[calls + i];
    works.push_back(
        stretto.group_allgather(group, input_data(input), output_data(buffers[i]), bytes_of(input)));
  }
  return works;
}

ProcessGroup::WorkPointer ProcessGroup::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                        const c10d::AllgatherOptions& options) {
  // As with gloo, the result is a tensor for each rank.
  const bool has_rows = output.dim() > 0 && output.size(0) % getSize() == 0;
  return gather_into({output}, {input}, options, has_rows ? output.chunk(getSize()) : Tensors{output});
}

ProcessGroup::WorkPointer ProcessGroup::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  return gather_into(outputs, inputs, options, outputs);
}

ProcessGroup::WorkPointer ProcessGroup::gather_into(Tensors outputs, Tensors inputs,
                                                    const c10d::AllgatherOptions& options, Tensors results) {
  if (outputs.size() != inputs.size() || inputs.empty()) {
    throw std::runtime_error("stretto: all_gather_into_tensor needs as many outputs as inputs");
  }
  Tensors buffers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(inputs[i], "all_gather_into_tensor");
    check_tensor(outputs[i], "all_gather_into_tensor");
    check_device(outputs[i], inputs[i], "all_gather_into_tensor");
    check_device(inputs[0], inputs[i], "all_gather_into_tensor");
    if (outputs[i].scalar_type() != inputs[i].scalar_type() ||
        outputs[i].numel() != inputs[i].numel() * getSize()) {
      throw std::runtime_error(
          "stretto: all_gather_into_tensor needs an output of the input's type, with as many "
          "elements for each rank of the group as the input");
    }
    buffers.push_back(contiguous_output(outputs[i]));
  }
  for (size_t i = 0; i < inputs.size(); ++i) buffers.push_back(contiguous_input(inputs[i], buffers[i]));
  std::vector<stretto_work*> works = start_allgathers(buffers);
  auto finish = [buffers, outputs]() mutable {
    for (size_t i = 0; i < outputs.size(); ++i) copy_back(buffers[i], outputs[i]);
  };
  return follow({OpType::_ALLGATHER_BASE, "stretto:_all_gather_base", "all_gather_into_tensor",
                 options.timeout, is_async(options), inputs, buffers, std::move(results), std::move(finish)},
                std::move(works));
}

ProcessGroup::WorkPointer ProcessGroup::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                            const c10d::AllgatherOptions& options) {
  // The outputs have a list for each rank, with a tensor for each input.
  Tensors alls;
  std::vector<Tensors> lists;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(inputs[i], "allgather_coalesced");
    check_device(inputs[0], inputs[i], "allgather_coalesced");
    Tensors list;
    for (const Tensors& of_rank : outputs) list.push_back(of_rank.at(i));
    check_list(list, inputs[i], getSize(), "allgather_coalesced");
    alls.push_back(empty_for(list));
    lists.push_back(std::move(list));
  }
  Tensors buffers = alls;
  for (const at::Tensor& input : inputs) buffers.push_back(contiguous_input(input));
  std::vector<stretto_work*> works = start_allgathers(buffers);
  auto finish = [alls, lists]() mutable {
    for (size_t i = 0; i < alls.size(); ++i) unflatten(alls[i], lists[i]);
  };
  return follow({OpType::ALLGATHER_COALESCED, "stretto:all_gather", "allgather_coalesced", options.timeout,
                 is_async(options), inputs, std::move(buffers), outputs.empty() ? Tensors{} : outputs[0],
                 std::move(finish)},
                std::move(works));
}

ProcessGroup::WorkPointer ProcessGroup::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                               const c10d::GatherOptions& options) {
  const at::Tensor input = contiguous_input(only_tensor(inputs, "gather"));
  const bool is_root = getRank() == options.rootRank;
  check_root(outputs.size() == (is_root ? 1 : 0), "gather");
  at::Tensor all;
  Tensors into;
  Tensors buffers{input};
  if (is_root) {
    into = outputs[0];
    check_list(into, input, getSize(), "gather");
    all = empty_for(into);
    buffers.push_back(all);
  }
  stretto_work* work =
      stretto.group_gather(group(input), input_data(input), is_root ? output_data(all) : nullptr,
                           bytes_of(input), static_cast<int>(options.rootRank));
  std::function<void()> finish;
  if (is_root) finish = [all, into]() mutable { unflatten(all, into); };
  return follow({OpType::GATHER, "stretto:gather", "gather", options.timeout, is_async(options), inputs,
                 std::move(buffers), into, std::move(finish)},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                const c10d::ScatterOptions& options) {
  at::Tensor output = only_tensor(outputs, "scatter");
  const at::Tensor mine = contiguous_output(output);
  const bool is_root = getRank() == options.rootRank;
  check_root(inputs.size() == (is_root ? 1 : 0), "scatter");
  at::Tensor all;
  Tensors buffers{mine};
  if (is_root) {
    check_list(inputs[0], output, getSize(), "scatter");
    all = flatten(inputs[0]);
    buffers.push_back(all);
  }
  stretto_work* work =
      stretto.group_scatter(group(mine), is_root ? input_data(all) : nullptr, output_data(mine),
                            bytes_of(mine), static_cast<int>(options.rootRank));
  return follow({OpType::SCATTER, "stretto:scatter", "scatter", options.timeout, is_async(options),
                 is_root ? inputs[0] : Tensors{}, std::move(buffers), outputs,
                 [mine, output]() mutable { copy_back(mine, output); }},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                      std::vector<int64_t>& output_sizes,
                                                      std::vector<int64_t>& input_sizes,
                                                      const c10d::AllToAllOptions& options) {
  check_tensor(output, "all_to_all_single");
  check_tensor(input, "all_to_all_single");
  check_device(output, input, "all_to_all_single");
  if (output.scalar_type() != input.scalar_type()) check_alike(output, input, "all_to_all_single");
  const at::Tensor into = contiguous_output(output);
  const at::Tensor from = contiguous_input(input, into);
  const auto in_bytes = bytes_of_parts(from, input_sizes, getSize());
  const auto out_bytes = bytes_of_parts(into, output_sizes, getSize());
  if (input_sizes.empty() && output_sizes.empty())
    check_alike(output, input, "all_to_all_single without split sizes");
  // Also for equal parts, since other ranks may have other sizes, and all must make the same call.
  stretto_work* work = stretto.group_alltoallv(group(into), input_data(from), in_bytes.data(),
                                               output_data(into), out_bytes.data());
  return follow({OpType::ALLTOALL_BASE,
                 "stretto:all_to_all",
                 "all_to_all_single",
                 options.timeout,
                 is_async(options),
                 {input},
                 {from, into},
                 {output},
                 [into, output]() mutable { copy_back(into, output); }},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::alltoall(Tensors& outputs, Tensors& inputs,
                                                 const c10d::AllToAllOptions& options) {
  if (inputs.empty()) throw std::runtime_error("stretto: all_to_all needs at least one tensor");
  check_types(inputs, inputs[0], getSize(), "all_to_all");
  check_types(outputs, inputs[0], getSize(), "all_to_all");
  const auto in_bytes = bytes_of_each(inputs);
  const auto out_bytes = bytes_of_each(outputs);
  const at::Tensor from = flatten(inputs);
  const at::Tensor into = empty_for(outputs);
  stretto_work* work = stretto.group_alltoallv(group(into), input_data(from), in_bytes.data(),
                                               output_data(into), out_bytes.data());
  return follow({OpType::ALLTOALL,
                 "stretto:all_to_all",
                 "all_to_all",
                 options.timeout,
                 is_async(options),
                 inputs,
                 {from, into},
                 outputs,
                 [into, outputs]() mutable { unflatten(into, outputs); }},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::send(Tensors& tensors, int to, int tag) {
  check_message("send to", to, tag, getSize());
  const at::Tensor flat = contiguous_input(only_tensor(tensors, "send"));
  stretto_work* work = stretto.group_send(group(flat), input_data(flat), bytes_of(flat), to, tag);
  return follow({OpType::SEND, "stretto:send", "send", timeout_, true, tensors, {flat}, tensors, {}}, {work});
}

ProcessGroup::WorkPointer ProcessGroup::receive(Tensors& tensors, int from, int tag, OpType type) {
  at::Tensor tensor = only_tensor(tensors, "recv");
  const at::Tensor flat = contiguous_output(tensor);
  stretto_work* work = stretto.group_recv(group(flat), output_data(flat), bytes_of(flat), from, tag);
  return follow({type,
                 type == OpType::RECV ? "stretto:recv" : "stretto:recvAnySource",
                 "recv",
                 timeout_,
                 true,
                 tensors,
                 {flat},
                 tensors,
                 [flat, tensor]() mutable { copy_back(flat, tensor); }},
                {work});
}

ProcessGroup::WorkPointer ProcessGroup::recv(Tensors& tensors, int from, int tag) {
  check_message("recv from", from, tag, getSize());
  return receive(tensors, from, tag, OpType::RECV);
}

ProcessGroup::WorkPointer ProcessGroup::recvAnysource(Tensors& tensors, int tag) {
  check_tag(tag);
  return receive(tensors, STRETTO_ANY_SOURCE, tag, OpType::RECVANYSOURCE);
}

ProcessGroup::WorkPointer ProcessGroup::barrier(const c10d::BarrierOptions& options) {
  return follow(
      {OpType::BARRIER, "stretto:barrier", "barrier", options.timeout, is_async(options), {}, {}, {}, {}},
      {stretto.group_barrier(group({}))});
}

}  // namespace stretto_torch
