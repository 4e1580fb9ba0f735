// SPDX-License-Identifier: Apache-2.0
#include "interpose/operations/operation.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/device/gpu_awareness.hpp"
#include "interpose/observe/statistics.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "mpi/status.hpp"
#include "threads/clock.hpp"

namespace stretto {

Operation::Operation(std::shared_ptr<Communicator> state, const CallTraits& traits, Spec spec, Form form,
                     CallBuffers& message, std::shared_ptr<const OpenChoice> open)
    : state_(std::move(state)),
      traits_(traits),
      spec_(std::move(spec)),
      form_(form),
      message_(message),
      execution_(state_->lease(traits_, spec_, form == Form::persistent)),
      open_(std::move(open)) {
  sequence_ = traits_.is_own ? state_->sequence() : state_->next_sequence();
  std::size_t tags = execution_->tags(message_.call);
  if (open_) {
    tags = std::max(tags, open_->in_flight());
    static_cast<void>(is_chosen());
  }
  if (tags == 0) return;
  const bool is_persistent = form == Form::persistent;
  // A persistent collective has already reserved its tags. Their number does not depend on the message.
  const std::size_t reserved = is_persistent ? Communicator::pipelining_of(spec_).in_flight() : tags;
  channel_ = is_persistent ? state_->channel_with_fresh(reserved) : state_->channel();
  // A comparison (STRETTO_CHECK) must meet the comparison of a rank that calls in another form.
  has_ticket_ = form != Form::blocking || tags > 1 || traits_.is_own;
  if (has_ticket_) ticket_ = channel_->take(reserved, tags);
}

Operation::~Operation() {
  if (!ended()) unwatch(*this);
  if (form_ == Form::persistent && channel_) channel_->end(ticket_);
  if (execution_ && execution_->leaves_memory()) static_cast<void>(execution_.release());
}

void Operation::start() {
  const std::lock_guard guard(lock_);
  if (race_ || session.observes_all_calls() || session.counts_calls()) began_ = seconds_now();
  control_ = FloatControl::current();
  has_begun_ = false;
  is_copying_back_ = has_complained_ = false;
  staging_.note(message_.call);
  note_start();
  if (!traits_.is_own) {
    trace_ = trace_call(state_, traits_, spec_, form_, sequence_, starts_++);
    if (form_ == Form::blocking) watch(*this);
  }
  if (may_begin()) begin();
  if (race_) start_seconds_ = seconds_now() - began_;
}

void Operation::note_asked() {
  if (race_ && asked_at_.load(std::memory_order_relaxed) == 0) {
    asked_at_.store(seconds_now(), std::memory_order_relaxed);
  }
}

/// Returns whether it is known which spec carries it out, and takes that one.
bool Operation::is_chosen() {
  if (!open_) return true;
  if (!open_->is_known()) return false;
  if (const Spec* other = open_->replacement()) {
    std::unique_ptr<Execution> execution = state_->lease(traits_, *other, false);
    state_->give_back(traits_, spec_, std::exchange(execution_, std::move(execution)));
    spec_ = *other;
    was_replaced_ = true;
  }
  open_ = nullptr;
  return true;
}

/// Returns whether the operation has its tags for itself, and the device has done the work that comes before
/// it. The MPI library's own calls need no tags.
bool Operation::may_begin() {
  // The library completes its own calls when a communicator is revoked.
  if (const int error = channel_ ? state_->why_ended(sequence_, false) : MPI_SUCCESS; error != MPI_SUCCESS) {
    end(error);
    return false;
  }
  if (!is_chosen() || (after_ && !after_->ended())) return false;
  // The library's own calls must be made in the order of calls.
  while (!staging_.may_begin()) {
    if (channel_) return false;
    if (!make_progress()) std::this_thread::yield();
  }
  if (!channel_) return true;
  switch (channel_->progress()) {
    case Channel::State::opening:
      return false;
    case Channel::State::open:
      return form_ == Form::persistent || !has_ticket_ || channel_->may_begin(ticket_);
    case Channel::State::refused:
      break;
  }
  // The ranks could not agree. (If they may have agreed that there is no channel, prepare() has waited.)
  end(channel_->error() != MPI_SUCCESS ? channel_->error() : mpi.err_intern);
  return false;
}

void Operation::begin() {
  has_begun_ = true;
  wants_returned_errors_ = !spec_.is_native() && state_->wants_returned_errors();
  const CallResources resources = !channel_     ? CallResources{}
                                  : has_ticket_ ? channel_->resources(ticket_)
                                                : channel_->blocking_resources();
  int error = MPI_SUCCESS;
  try {
    error = message_.begin();
    if (error == MPI_SUCCESS) {
      Call call = message_.call;
      begin_copies(call);
      execution_->observe(trace_.get());
      execution_->start(call, resources);
    }
  } catch (const std::bad_alloc&) {
    error = mpi.err_no_mem;
  } catch (const std::exception& failure) {
    complain_of(failure.what());
    has_complained_ = true;
    error = mpi.err_other;
  }
  if (error != MPI_SUCCESS) {
    // Other ranks wait for messages of this one.
    try {
      execution_->start_failed(message_.call, resources, error);
    } catch (const std::bad_alloc&) {
      return end(error);
    }
  }
  look_at_length();
  look_at_error();
  if (execution_->ended()) finish();
}

void Operation::begin_copies(Call& call) {
  if (staging_.is_staged() && library_is_gpu_aware() && execution_->leaves_buffers_to_library(call)) {
    if (staging_.has_failed()) throw std::runtime_error(staging_.describe_error());
    staging_.use_program_buffers();
    call.library_reads_device = true;
  }
  staging_.observe(trace_.get());
  const StagedInput input = execution_->staged_input();
  staging_.stage(call, input == StagedInput::by_segments);
  if (!staging_.is_staged()) return;
  while (input == StagedInput::at_start && staging_.arrived() == 0) {
    if (!make_progress()) std::this_thread::yield();
  }
  if (staging_.has_failed()) throw std::runtime_error(staging_.describe_error());
}

/// Gives up if an error ends the job, so that the job ends before other ranks hear of the error, or if it
/// ends the communicator, whose other ranks hear of that.
void Operation::look_at_error() {
  const int error = execution_->error();
  if (error != MPI_SUCCESS && (mpi.is_end(error) || state_->ends_job_on_error())) execution_->give_up();
}

/// Ends the job if a rank has ended too early, unless the MPI library lets programs go on without that rank.
void Operation::look_at_lost_peer() const {
  const int peer = execution_->lost_peer();
  if (peer < 0 || Communicator::library_tolerates_faults()) return;
  const int rank = state_->ranks_in_world()[static_cast<std::size_t>(peer)];
  end_job_without(session.memory_places[static_cast<std::size_t>(rank)],
                  describe_call(*state_, traits_, spec_, sequence_));
}

void Operation::look_at_length() const {
  if (const auto& wrong = execution_->wrong_length()) {
    end_for(*wrong, *state_, state_->ranks_in_world()[static_cast<std::size_t>(wrong->peer)], sequence_,
            describe_call(*state_, traits_, spec_, sequence_));
  }
}

bool Operation::progress() {
  if (ended()) return false;
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || ended()) return false;
  const ScopedFloatControl starter(control_);
  if (is_copying_back_) {
    look_at_copies();
    return ended();
  }
  try {
    if (!has_begun_) {
      if (may_begin()) begin();
      return has_begun_ || ended();
    }
    const ReturnedErrors returned(wants_returned_errors_);
    const bool any = execution_->progress();
    moves_ += any ? 1 : 0;
    // Only this call looks at the copies back before the operation ends.
    if (trace_ && staging_.is_staged()) static_cast<void>(staging_.has_ended());
    look_at_lost_peer();
    look_at_length();
    look_at_error();
    if (execution_->ended()) {
      finish();
    } else if (!any && channel_) {
      end_with(state_->why_ended(sequence_, true));
    }
    return any;
  } catch (const std::bad_alloc&) {
    end(mpi.err_no_mem);
    return true;
  }
}

/// Ends it before its messages have ended, if there is an error.
void Operation::end_with(int error) {
  if (error == MPI_SUCCESS) return;
  if (has_begun_) execution_->give_up();
  end(error);
}

void Operation::fail(const std::string& reason) {
  const std::lock_guard guard(lock_);
  if (ended() || is_copying_back_) return;
  state_->end_from(sequence_, reason);
  end_with(state_->why_ended(sequence_, has_begun_));
}

std::uint64_t Operation::steps() {
  const std::lock_guard guard(lock_);
  return moves_ + (has_begun_ && !ended() ? execution_->steps() : 0);
}

void Operation::finish() {
  if (!staging_.is_staged() || execution_->gave_up()) return complete();
  if (execution_->error() == MPI_SUCCESS) staging_.finish();
  is_copying_back_ = true;
  look_at_copies();
}

/// Completes the operation once the copies have ended. Until then the host buffers are needed, even after an
/// error.
void Operation::look_at_copies() {
  if (staging_.has_ended()) complete();
}

void Operation::complain_of(const std::string& what) const {
  complain(this_rank() + ": " + what + ", in " + describe_call(*state_, traits_, spec_, sequence_));
}

void Operation::complete() {
  int error = execution_->lost_peer() < 0 ? execution_->error() : Communicator::error_if_rank_failed;
  // What is known of the whole communicator says more than what ended this call.
  const int known = mpi.is_end(error) ? state_->why_ended(sequence_, false) : MPI_SUCCESS;
  if (known != MPI_SUCCESS) error = known;
  if (has_begun_ && staging_.is_staged() && staging_.has_failed() && !has_complained_) {
    complain_of(staging_.describe_error());
    error = mpi.err_other;
  }
  try {
    if (error == MPI_SUCCESS) error = message_.finish();
  } catch (const std::exception& failure) {
    complain_of(failure.what());
    error = mpi.err_other;
  }
  end(error);
}

void Operation::end(int error) {
  error_ = error;
  if (mpi.is_end(error)) state_->end_from(sequence_, text_of_error(error));
  if (execution_->gave_up() || mpi.is_end(error)) {
    if (channel_) channel_->spoil();
    if (channel_ && mpi.is_end(error)) give_up_lanes();
    if (execution_->leaves_memory()) {
      message_.abandon();
      staging_.abandon();
    }
  }
  if (form_ != Form::persistent) staging_.release();
  execution_->observe(nullptr);
  staging_.observe(nullptr);
  if (race_ && !was_replaced_) {
    const double now = seconds_now();
    const double asked_at = asked_at_.load(std::memory_order_relaxed);
    const double started = start_seconds_ > 0 ? start_seconds_ : now - began_;
    race_->count(slot_, started + (asked_at > 0 ? now - asked_at : 0));
  }
  if (form_ != Form::persistent) {
    if (!execution_->gave_up()) state_->give_back(traits_, spec_, std::move(execution_));
    if (channel_ && has_ticket_) channel_->end(ticket_);
  }
  if (!traits_.is_own) {
    if (session.counts(traits_)) {
      record_call(traits_.collective, traits_.bytes, spec_, seconds_now() - began_);
    }
    trace_.reset();
    unwatch(*this);
  }
  note_end();
}

/// Ends the waits of other ranks of the node for this one in this call.
void Operation::give_up_lanes() {
  if (state_->neighbours() == nullptr || channel_->progress() != Channel::State::open) return;
  const CallResources resources = has_ticket_ ? channel_->resources(ticket_) : channel_->blocking_resources();
  for (const std::int8_t lane : resources.lanes) {
    if (lane != CallResources::none) session.memory.give_up(lane);
  }
}

int Operation::report_error() const {
  if (error_ == MPI_SUCCESS) return error_;
  if (message_.is_refused() && message_.told() != mpi.comm_null) {
    mpi.Comm_call_errhandler(message_.told(), error_);
  } else if (message_.is_refused() || !spec_.is_native()) {
    state_->call_error_handler(error_);
  }
  return error_;
}

bool Operation::try_describe(std::string& text) {
  std::string state;
  if (!try_describe_state(state)) return false;
  text = describe_call(*state_, traits_, spec_, sequence_) + " has not ended: " + state;
  return true;
}

bool Operation::try_describe_state(std::string& text) {
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || ended()) return false;
  if (!has_begun_) {
    text =
        channel_ ? "other ranks have not called it, or have not ended an earlier call" : "it has not begun";
    return true;
  }
  const std::vector<SegmentState> states = execution_->segment_states();
  const bool copies = staging_.is_staged() && execution_->staged_input() != StagedInput::at_start;
  text = !states.empty() ? "" : copies ? "it waits for the CUDA driver's copies" : "it is in the MPI library";
  for (const SegmentState& state : states) {
    text += (&state == states.data() ? "" : "; ") + std::string("segment ") + std::to_string(state.segment) +
            " is in round " + std::to_string(state.round) + " and";
    if (!state.receives_from.empty()) text += " waits for rank " + in_world(state.receives_from);
    if (!state.receives_from.empty() && !state.sends_to.empty()) text += ", and";
    if (!state.sends_to.empty()) text += " sends to rank " + in_world(state.sends_to);
  }
  return true;
}

bool AwaitedCall::try_describe(std::string& text) {
  std::string state;
  if (comparison_ == nullptr) {
    state = "other ranks have not called it";
  } else if (comparison_->try_describe_state(state)) {
    state = "in its comparison (STRETTO_CHECK), " + state;
  } else {
    return false;
  }
  text = describe_call(state_, traits_, spec_, state_.sequence()) + " has not ended: " + state;
  return true;
}

std::string Operation::in_world(const std::vector<int>& ranks) const {
  std::string text;
  for (const int rank : ranks) {
    text +=
        (text.empty() ? "" : ", ") + std::to_string(state_->ranks_in_world()[static_cast<std::size_t>(rank)]);
  }
  return text;
}

int rank_at(int place) {
  return static_cast<int>(std::ranges::find(session.memory_places, place) - session.memory_places.begin());
}

void end_job_without(int place, const std::string& call) {
  const std::string reason = "rank " + std::to_string(rank_at(place)) + " (process " +
                             std::to_string(session.memory.process(place).pid()) +
                             " of this node) has ended, and " + call + " waits for it";
  complain(this_rank() + ": " + reason + "; the job ends");
  end_job(true);
}

void end_for(const WrongLength& wrong, const Communicator& state, int rank, std::uint64_t number,
             const std::string& call) {
  if (mpi.has_library()) return;
  state.end_from(number, "ranks call with different lengths: in " + call + ", " + this_rank() + " " +
                             wrong.text() + " from rank " + std::to_string(rank) +
                             " (STRETTO_CHECK=1 compares all calls)");
}

std::string describe_call(const Communicator& state, const CallTraits& traits, const Spec& spec,
                          std::uint64_t sequence) {
  return std::string(name_of(traits.collective)) + " (call number " + std::to_string(sequence) +
         " of a communicator of " + std::to_string(state.topology().ranks()) + " ranks, " +
         std::to_string(traits.bytes) + " bytes, by " + to_string(spec) + ")";
}

}  // namespace stretto
