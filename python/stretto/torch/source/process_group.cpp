// SPDX-License-Identifier: Apache-2.0
// The group, and the completion of started calls of all kinds.
#include "process_group.hpp"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "completion.hpp"
#include "interface.hpp"
#include "interpreter.hpp"

namespace stretto_torch {
namespace {

/// A message longer than this may be cut into several MPI calls (src/interpose/interface/group_calls.cpp).
constexpr size_t longest_whole = size_t{1} << 30U;

double seconds_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

ProcessGroup::ProcessGroup(const std::vector<int>& ranks, int rank, std::chrono::milliseconds timeout,
                           std::string name, int tag, StorePointer store, Makers makers)
    : ProcessGroup(
          ranks, rank, timeout, std::move(name), std::move(store), std::move(makers),
          stretto.group_make(ranks.data(), static_cast<int>(ranks.size()), tag, seconds_of(timeout))) {}

ProcessGroup::ProcessGroup(std::vector<int> ranks, int rank, std::chrono::milliseconds timeout,
                           std::string name, StorePointer store, Makers makers, stretto_group* group)
    : Base(rank, static_cast<int>(ranks.size())),
      group_(group),
      ranks_(std::move(ranks)),
      timeout_(timeout),
      name_(std::move(name)),
      store_(std::move(store)),
      makers_(std::move(makers)) {
  if (group_ == nullptr) throw_error();
}

ProcessGroup::~ProcessGroup() {
  // With MPI, freeing a communicator is collective.
  if (is_in_store_job()) leave();
}

void ProcessGroup::free() {
  const MayCallMpi may;
  const std::lock_guard<std::mutex> lock(starting_);
  if (may && group_ != nullptr) stretto.group_free(std::exchange(group_, nullptr));
}

void ProcessGroup::shutdown() {
  if (is_in_store_job()) return membership_.hold();
  leave();
}

void ProcessGroup::leave() {
  const WithoutInterpreterLock released;
  free();
  {
    const std::lock_guard<std::mutex> lock(making_other_);
    is_destroyed_ = true;
    other_.reset();
  }
  membership_.leave();
}

void ProcessGroup::abort() {
  if (!is_in_store_job()) return;
  {
    const MayCallMpi may;
    const std::lock_guard<std::mutex> lock(starting_);
    const std::string reason =
        "process group " + name_ + " was aborted by its rank " + std::to_string(getRank());
    if (may && group_ != nullptr) stretto.group_fail(group_, reason.c_str());
  }
  leave();
}

void ProcessGroup::setTimeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  const std::lock_guard<std::mutex> lock(making_other_);
  if (other_) other_->setTimeout(timeout);
}

Base& ProcessGroup::other() {
  const std::lock_guard<std::mutex> lock(making_other_);
  if (!other_) {
    if (is_destroyed_) throw std::runtime_error("stretto: the process group " + name_ + " was destroyed");
    other_ =
        makers_.other(c10::make_intrusive<c10d::PrefixStore>("gloo", store_), getRank(), getSize(), timeout_);
  }
  return *other_;
}

#if TORCH_VERSION_MAJOR >= 2
ProcessGroup::Other ProcessGroup::split(const StorePointer& store, const std::vector<int>& ranks,
                                        const c10::intrusive_ptr<Base::Options>& options) {
  if (std::find(ranks.begin(), ranks.end(), getRank()) == ranks.end()) return nullptr;
  return makers_.part(store, ranks, options->timeout, name_ + ":split");
}

ProcessGroup::Left ProcessGroup::shrink_to_those_left(std::chrono::milliseconds timeout,
                                                      const std::vector<int>& without) {
  std::vector<int> left(ranks_.size());
  int count = 0;
  stretto_group* made = nullptr;
  {
    const Starting starting = group({});
    made = stretto.group_shrink(starting, without.data(), static_cast<int>(without.size()),
                                seconds_of(timeout), left.data(), &count);
  }
  if (made == nullptr) throw_error();
  left.resize(static_cast<size_t>(count));
  std::vector<int> ranks;
  for (const int one : left) ranks.push_back(ranks_[static_cast<size_t>(one)]);
  Makers makers = makers_;
  makers.part = [make = makers_.part, left](StorePointer store, std::vector<int> members,
                                            std::chrono::milliseconds time, std::string name) {
    for (int& member : members) member = left[static_cast<size_t>(member)];
    return make(std::move(store), std::move(members), time, std::move(name));
  };
  const int number = ++*shrunk_;
  const auto own = std::find(left.begin(), left.end(), getRank()) - left.begin();
  auto shrunk = c10::make_intrusive<ProcessGroup>(
      std::move(ranks), static_cast<int>(own), timeout_, name_ + ":shrunk",
      c10::make_intrusive<c10d::PrefixStore>("shrunk/" + std::to_string(number), first_store_), makers, made);
  shrunk->first_store_ = first_store_;
  shrunk->shrunk_ = shrunk_;
  return {std::move(shrunk), std::move(left)};
}

ProcessGroup::Other ProcessGroup::shrink(const std::vector<int64_t>& without, int /*flags*/,
                                         const c10::intrusive_ptr<Base::Options>& options) {
  const auto timeout = options ? options->timeout : timeout_;
  Left left = shrink_to_those_left(timeout, {without.begin(), without.end()});
  if (left.ranks.size() + without.size() == ranks_.size()) return left.group;
  std::ostringstream lost;
  for (int rank = 0; rank < getSize(); ++rank) {
    const bool goes_on = std::binary_search(left.ranks.begin(), left.ranks.end(), rank);
    if (!goes_on) lost << (lost.tellp() > 0 ? ", " : "") << rank;
  }
  throw std::runtime_error("stretto: other ranks have ended, too, so shrink the group without ranks " +
                           lost.str());
}

ProcessGroup::Other ProcessGroup::merge(const StorePointer& store,
                                        const c10::intrusive_ptr<Base::Options>& options, const int& rank,
                                        const int& size) {
  if (!makers_.other) throw std::runtime_error("stretto: groups of different jobs cannot be merged");
  return makers_.other(store, rank, size, options->timeout);
}
#endif

std::chrono::milliseconds ProcessGroup::timeout_of(std::chrono::milliseconds of_call) const {
  return of_call == c10d::kUnsetTimeout || of_call == kNoTimeout ? timeout_ : of_call;
}

ProcessGroup::Starting::Starting(ProcessGroup& of, const at::Tensor& tensor)
    : placed_(of), lock_(of.starting_), group_(of.group_), after_(tensor) {
  if (!may_) throw std::runtime_error("stretto: the process is ending, so it can call no collective");
  if (group_ == nullptr)
    throw std::runtime_error("stretto: the process group " + of.name_ + " was destroyed");
}

ProcessGroup::Starting ProcessGroup::group(const at::Tensor& tensor) {
  return Starting(*this, tensor);
}

std::string ProcessGroup::describe(const char* name, const Tensors& buffers) const {
  std::ostringstream text;
  text << name;
  size_t bytes = 0;
  for (const at::Tensor& buffer : buffers) bytes = std::max(bytes, static_cast<size_t>(buffer.nbytes()));
  if (!buffers.empty()) text << " of " << bytes << " bytes";
  text << " on rank " << ranks_[static_cast<size_t>(getRank())] << " (call " << sequence_
       << " of process group " << name_ << ", " << ranks_.size() << " ranks)";
  return text.str();
}

std::optional<std::uint64_t> ProcessGroup::record(const Call& call) {
  if (c10d::isP2POp(call.type) || !recorder_.is_on()) return std::nullopt;
  // PyTorch names the group after it was made.
  if (!recorded_) recorded_ = FlightRecorder::make_group(getGroupUid(), getGroupDesc(), ranks_);
  return recorder_.note(recorded_, {call.title, call.inputs, call.outputs, timeout_of(call.timeout)});
}

ProcessGroup::WorkPointer ProcessGroup::follow(Call call, std::vector<stretto_work*> works) {
  const auto failed = std::find(works.begin(), works.end(), nullptr);
  if (failed != works.end()) {
    const std::string error = stretto.error();
    // The other works continue and need their buffers. So do the parts of a call that was cut into parts.
    works.erase(std::remove(works.begin(), works.end(), nullptr), works.end());
    const bool may_have_parts = std::any_of(
        call.buffers.begin(), call.buffers.end(),
        [](const at::Tensor& buffer) { return static_cast<size_t>(buffer.nbytes()) > longest_whole; });
    if (!works.empty() || may_have_parts) give_up(works, std::move(call.buffers));
    throw std::runtime_error(std::string("stretto: ") + call.name + ": " + error);
  }
  ++sequence_;
  const auto recorded = record(call);
  auto work = c10::make_intrusive<Work>(
      getRank(),
      Work::Task{call.type, call.title, describe(call.name, call.buffers), timeout_of(call.timeout),
                 std::move(call.inputs), std::move(call.buffers), std::move(call.outputs),
                 std::move(call.finish), recorded},
      std::move(works));
  complete_later(work, call.is_async);
  return work;
}

}  // namespace stretto_torch
