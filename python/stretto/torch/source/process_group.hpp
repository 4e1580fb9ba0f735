// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <stretto/group.h>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ending.hpp"
#include "flight_recorder.hpp"
#include "job.hpp"
#include "streams.hpp"
#include "work.hpp"

namespace stretto_torch {

#if TORCH_VERSION_MAJOR >= 2
using Base = c10d::Backend;
#else
using Base = c10d::ProcessGroup;
#endif

/// A process group of torch.distributed whose calls Stretto carries out. The virtual functions depend on the
/// version of torch, so none is marked `override`.
class ProcessGroup final : public Base {
 public:
  using Tensors = std::vector<at::Tensor>;
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  using Other = c10::intrusive_ptr<Base>;
  using StorePointer = c10::intrusive_ptr<c10d::Store>;

  /// How further groups are made. Collective over their ranks.
  struct Makers {
    /// Makes a group of some of the group's ranks, by their numbers in it.
    std::function<Other(StorePointer, std::vector<int>, std::chrono::milliseconds, std::string)> part;
    /// Makes a group of another backend by a rank and the number of ranks, for calls that Stretto does not
    /// support. If it is empty, these calls are errors.
    std::function<Other(StorePointer, int, int, std::chrono::milliseconds)> other;
  };

  /// Collective over `ranks`, the ranks of the job in the order of the group. `tag`: differs from that of any
  /// group that another thread makes at the same time. `store`: has only keys of this group.
  ProcessGroup(const std::vector<int>& ranks, int rank, std::chrono::milliseconds timeout, std::string name,
               int tag, StorePointer store, Makers makers);
  /// A group that Stretto has made. Takes it over.
  ProcessGroup(std::vector<int> ranks, int rank, std::chrono::milliseconds timeout, std::string name,
               StorePointer store, Makers makers, stretto_group* group);
  ~ProcessGroup() override;

  const std::string getBackendName() const { return "stretto"; }
  /// Without MPI, the group goes on for those who hold it (Membership::hold()).
  void shutdown();
  /// Without MPI, makes all calls of the group that are under way fail, and those on other ranks that need
  /// this one.
  void abort();
  void setTimeout(std::chrono::milliseconds timeout);
  void setSequenceNumberForGroup() {}
  uint64_t getSequenceNumberForGroup() { return sequence_; }
  bool supportsSplitting() const { return true; }

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options);
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options);
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options);
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options);
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options);
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions& options);
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options);
  WorkPointer allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options);
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options);
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options);
  WorkPointer scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options);
  WorkPointer reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                             const c10d::ReduceScatterOptions& options);
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options);
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options);
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                            std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options);
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options);
  WorkPointer send(Tensors& tensors, int to, int tag);
  WorkPointer recv(Tensors& tensors, int from, int tag);
  WorkPointer recvAnysource(Tensors& tensors, int tag);
  WorkPointer barrier(const c10d::BarrierOptions& options);
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks);

#if TORCH_VERSION_MAJOR >= 2
  c10::intrusive_ptr<Base::Options> getBackendOptions() {
    return c10::make_intrusive<Base::Options>("stretto", timeout_);
  }
  /// Returns a group of these ranks of this group, or nullptr if this rank is not among them.
  Other split(const StorePointer& store, const std::vector<int>& ranks,
              const c10::intrusive_ptr<Base::Options>& options);
  bool supportsShrinking() const {
    return is_in_store_job();
  }
  /// Returns a group without these ranks of this group. Collective over the others, which agree on it. Throws
  /// on all of them if another one has ended, too.
  Other shrink(const std::vector<int64_t>& without, int flags,
               const c10::intrusive_ptr<Base::Options>& options);
  struct Left {
    Other group;
    std::vector<int> ranks;  // in this group
  };
  /// Returns a group of those who have not ended and come within `timeout`. Collective over them. `without`:
  /// who is left out in any case.
  Left shrink_to_those_left(std::chrono::milliseconds timeout, const std::vector<int>& without = {});
  /// Returns a group of ranks that may be in different jobs, which only the other backend supports.
  Other merge(const StorePointer& store, const c10::intrusive_ptr<Base::Options>& options, const int& rank,
              const int& size);
#endif

  /// Frees Stretto's group. Calls in flight continue.
  void free();

 private:
  void leave();
  struct Call {
    c10d::OpType type;
    const char* title;  // for torch's profiler
    const char* name;
    std::chrono::milliseconds timeout;
    bool is_async = true;
    Tensors inputs;  // also for the profiler
    Tensors buffers;
    Tensors outputs;
    std::function<void()> finish;
  };

  /// A scope in which a call starts: it lasts to the end of the expression. Only one call starts at a time,
  /// since callbacks of a work may start calls in another thread.
  class Starting {
   public:
    Starting(ProcessGroup& of, const at::Tensor& tensor);
    operator stretto_group*() const { return group_; }  // NOLINT(google-explicit-constructor)

   private:
    struct Placed {
      explicit Placed(ProcessGroup& of) { of.recorder_.note_place(); }
    };
    Placed placed_;  // before there are locks
    MayCallMpi may_;
    std::unique_lock<std::mutex> lock_;
    stretto_group* group_;
    AfterCurrentStream after_;
  };

  /// Returns the scope for a call's start. `tensor`: a buffer of the call; undefined if the call has none.
  /// Throws if the group was destroyed.
  Starting group(const at::Tensor& tensor);
  /// Returns a work for started calls, `works`. If one of them is null, throws the reason.
  WorkPointer follow(Call call, std::vector<stretto_work*> works);
  /// Starts an allgather for each pair of output and input. `buffers`: all outputs, and then as many inputs.
  /// Nothing is allocated between two starts: a failure there would free the buffers of calls in flight.
  std::vector<stretto_work*> start_allgathers(const Tensors& buffers);
  /// `results`: what the work's future holds.
  WorkPointer gather_into(Tensors outputs, Tensors inputs, const c10d::AllgatherOptions& options,
                          Tensors results);
  WorkPointer receive(Tensors& tensors, int from, int tag, c10d::OpType type);
  [[nodiscard]] std::string describe(const char* name, const Tensors& buffers) const;
  /// Notes a collective for PyTorch's Flight Recorder. Returns its number there, unless it is off.
  std::optional<std::uint64_t> record(const Call& call);
  /// Whether a group of another backend carries out a call, since Stretto does not support it.
  [[nodiscard]] bool is_for_other(const Tensors& tensors) const {
    return makers_.other && (tensors.size() != 1 || tensors[0].layout() != at::kStrided);
  }
  /// Returns the group of the other backend. All ranks make the same calls, so the first call that needs the
  /// group can make it.
  Base& other();
  [[nodiscard]] std::chrono::milliseconds timeout_of(std::chrono::milliseconds of_call) const;

  Membership membership_{*this};
  std::mutex starting_;
  stretto_group* group_;
  std::vector<int> ranks_;
  std::chrono::milliseconds timeout_;
  std::string name_;
  std::atomic<uint64_t> sequence_{0};
  FlightRecorder& recorder_ = flight_recorder();
  std::shared_ptr<FlightRecorder::Group> recorded_;
  StorePointer store_;
  /// Of this group and those to which it shrinks: the store of the first one, and how many have followed.
  StorePointer first_store_ = store_;
  std::shared_ptr<std::atomic<int>> shrunk_ = std::make_shared<std::atomic<int>>(0);
  uint64_t monitored_barriers_ = 0;
  const Makers makers_;
  std::mutex making_other_;
  bool is_destroyed_ = false;
  Other other_;
};

}  // namespace stretto_torch
