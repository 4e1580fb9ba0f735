// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/messages/channel.hpp"
#include "engine/staging/device_staging.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/communicators/returned_errors.hpp"
#include "interpose/observe/trace.hpp"
#include "interpose/observe/watchdog.hpp"
#include "interpose/operations/call_buffers.hpp"
#include "interpose/operations/requested_call.hpp"
#include "interpose/session/call_traits.hpp"
#include "learn/races/background_race.hpp"
#include "threads/float_control.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// A choice of a spec that other ranks may know before this one.
class OpenChoice {
 public:
  virtual ~OpenChoice() = default;
  /// Whether this rank knows it. In any thread.
  [[nodiscard]] virtual bool is_known() const = 0;
  /// Once it is known: the spec by which the call is carried out, or nullptr if it is the one with which the
  /// call was made.
  [[nodiscard]] virtual const Spec* replacement() const = 0;
  /// The most segments that the replacement has in flight. All ranks get the same number.
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
};

/// One collective call of the program on its way through the engine. Every thread that waits in MPI makes
/// progress with every operation. No thread waits for another thread's turn.
class Operation final : public RequestedCall, public Watched {
 public:
  /// `message` must outlive it. To be constructed in the order of calls, which is the same on all
  /// ranks. A persistent operation reserves its tags and memory here. With `open`, it begins once the choice
  /// is known.
  Operation(std::shared_ptr<Communicator> state, const CallTraits& traits, Spec spec, Form form,
            CallBuffers& message, std::shared_ptr<const OpenChoice> open = nullptr);
  ~Operation() override;

  /// Delays its start until `other` has ended.
  void begin_after(std::shared_ptr<Operation> other) { after_ = std::move(other); }

  /// Measures the time that the operation costs the program: its start, and the time from the first test or
  /// wait to the end.
  void measure_for(std::shared_ptr<BackgroundRace> race, const BackgroundRace::Slot& slot) {
    race_ = std::move(race);
    slot_ = slot;
  }
  void note_asked() override;

  /// To be called in the order of calls; for persistent operations, in any order. Does not wait.
  void start() override;
  [[nodiscard]] std::optional<Collective> collective() const override { return traits_.collective; }

  bool progress() override;
  [[nodiscard]] std::size_t bytes() const override { return traits_.bytes; }

  /// Returns an MPI error code, once it has ended.
  [[nodiscard]] int error() const { return error_; }
  int report_error() const override;

  void fail(const std::string& reason) override;
  [[nodiscard]] std::uint64_t steps() override;

  Watched* watched() override { return traits_.is_own ? nullptr : this; }
  bool try_describe(std::string& text) override;
  [[nodiscard]] const Communicator& communicator() const override { return *state_; }
  [[nodiscard]] std::uint64_t number() const override { return sequence_; }
  [[nodiscard]] std::uint64_t starts() const override { return starts_.load(std::memory_order_relaxed); }
  bool try_describe_state(std::string& text) override;

 private:
  bool is_chosen();
  bool may_begin();
  void begin();
  void look_at_error();
  void look_at_lost_peer() const;
  void look_at_length() const;
  void finish();
  void end_with(int error);
  void begin_copies(Call& call);
  void look_at_copies();
  void complete();
  void complain_of(const std::string& what) const;
  void end(int error);
  void give_up_lanes();
  [[nodiscard]] std::string in_world(const std::vector<int>& ranks) const;

  std::shared_ptr<Communicator> state_;
  CallTraits traits_;
  Spec spec_;
  Form form_;
  CallBuffers& message_;
  std::uint64_t sequence_ = 0;
  std::atomic<std::uint64_t> starts_{0};
  double began_ = 0;

  SpinLock lock_;  // of all members below; only threads that start it, fail it, or ask for steps wait for it
  std::shared_ptr<Channel> channel_;
  Channel::Ticket ticket_;
  bool has_ticket_ = false;
  std::unique_ptr<Execution> execution_;
  std::shared_ptr<const OpenChoice> open_;
  std::shared_ptr<Operation> after_;
  std::unique_ptr<TracedCall> trace_;
  std::shared_ptr<BackgroundRace> race_;
  BackgroundRace::Slot slot_ = {};
  double start_seconds_ = 0;
  std::atomic<double> asked_at_{0};  // 0: not yet
  DeviceStaging staging_;
  FloatControl control_;  // of the thread that started it
  bool has_begun_ = false;
  bool was_replaced_ = false;     // its spec
  bool is_copying_back_ = false;  // its execution has ended
  bool has_complained_ = false;
  bool wants_returned_errors_ = false;
  std::uint64_t moves_ = 0;  // times that progress() moved something
  int error_ = MPI_SUCCESS;
};

/// While it lives, a blocking call waits for other ranks before it can begin. The watchdog reports that.
class AwaitedCall final : public Watched {
 public:
  /// `comparison` is the operation for which the call waits, if known.
  AwaitedCall(const Communicator& state, const CallTraits& traits, const Spec& spec,
              Operation* comparison = nullptr)
      : state_(state), traits_(traits), spec_(spec), comparison_(comparison) {
    watch(*this);
  }
  ~AwaitedCall() override { unwatch(*this); }
  bool try_describe(std::string& text) override;
  [[nodiscard]] const Communicator& communicator() const override { return state_; }
  [[nodiscard]] std::uint64_t number() const override { return state_.sequence(); }

 private:
  const Communicator& state_;
  const CallTraits& traits_;
  const Spec& spec_;
  Operation* comparison_;
};

/// Returns the rank of MPI_COMM_WORLD that has its memory at this place of the node's memory.
int rank_at(int place);

/// Ends the job, because a call waits for a rank of this node that has ended. `place` is the place of that
/// rank's memory. A job without MPI fails, and the function returns.
void end_job_without(int place, const std::string& call);

/// Without MPI: ends this rank's part from call number `number` on, because a message is not as long as this
/// rank expects. (With MPI, the call ends with an error.) `rank` is the rank of the job that sent the
/// message.
void end_for(const WrongLength& wrong, const Communicator& state, int rank, std::uint64_t number,
             const std::string& call);

/// Returns a description of a call for messages to users.
std::string describe_call(const Communicator& state, const CallTraits& traits, const Spec& spec,
                          std::uint64_t sequence);

}  // namespace stretto
