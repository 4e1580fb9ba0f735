// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/direct.hpp"

#include <memory>
#include <new>
#include <utility>

#include "engine/device/device_memory.hpp"
#include "engine/messages/idle_polls.hpp"
#include "engine/messages/library_progress.hpp"
#include "interpose/communicators/known_communicators.hpp"
#include "interpose/dispatch/online.hpp"
#include "interpose/observe/live.hpp"
#include "interpose/observe/statistics.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "threads/backoff.hpp"
#include "threads/clock.hpp"
#include "threads/time_slice.hpp"

namespace stretto {
namespace {

/// The polls of this thread since the MPI library had its turn.
constinit thread_local IdlePolls polls_of_thread __attribute__((tls_model("initial-exec")));

/// Waits for messages through shared memory. Meanwhile it advances the outstanding operations, and the
/// program's own messages by MPI.
class DirectWaiting final : public Waiting {
 public:
  DirectWaiting(const Communicator& state, const CallTraits& traits, const Spec& spec)
      : state_(state), traits_(traits), spec_(spec) {}

  /// Looks for some 2 us, in which messages between two cores have long arrived. Does not look if the awaited
  /// rank may need this core.
  [[nodiscard]] int looks() const override { return Backoff::shares_core() ? 0 : 100; }

  bool go_on(const DirectExecution& waits) override {
    if (!polling_) {
      polling_.emplace();
      note_live_waiting();
      mark_communication_thread(true);
    }
    if (polls_of_thread.count() && !look_around(waits)) return false;
    if (make_progress()) {
      backoff_.reset();
    } else {
      backoff_.wait();
    }
    return true;
  }

  void look_at_length(const DirectExecution& execution) const {
    if (const auto& wrong = execution.wrong_length()) {
      // The call has its number already.
      end_for(*wrong, state_, rank_at(wrong->peer), state_.sequence() - 1,
              describe_call(state_, traits_, spec_, state_.sequence() - 1));
    }
  }

  /// The MPI error of a call that gave up.
  [[nodiscard]] int error() const { return error_; }

 private:
  /// Does the work that is due now and then while nothing moves. Returns false if nothing will move any more.
  bool look_around(const DirectExecution& waits) {
    drive_library(channel_pool().comm());
    look_at_length(waits);
    // The call has its number already.
    error_ = state_.why_ended(state_.sequence() - 1, true);
    if (error_ != MPI_SUCCESS) return false;
    if (!polls_of_thread.is_time_for_peers()) return true;
    const int ended = waits.find_ended_peer();
    // It may have written something just before its end.
    const bool is_lost = ended != Neighbours::none && ended == suspect_;
    suspect_ = ended;
    if (!is_lost) return true;
    if (!Communicator::library_tolerates_faults()) {
      // The call has its number already.
      end_job_without(ended, describe_call(state_, traits_, spec_, state_.sequence() - 1));
    }
    error_ = Communicator::error_if_rank_failed;
    return false;
  }

  const Communicator& state_;
  const CallTraits& traits_;
  const Spec& spec_;
  std::optional<PollingScope> polling_;
  Backoff backoff_{Backoff::shares_core() ? 0 : Backoff::usual_looks};
  int suspect_ = Neighbours::none;
  int error_ = MPI_SUCCESS;
};

/// Carries a call out. `race` is nullptr if the call is too short to go past the caches.
int run(Communicator& state, const CallTraits& traits, const Spec& spec, DirectExecution& execution,
        StreamingRace* race, const void* input, void* output) {
  using Copying = StreamingRace::Copying;
  const Copying way = race == nullptr ? Copying::cached : race->next();
  const double began = race == nullptr ? 0 : seconds_now();
  DirectWaiting waiting(state, traits, spec);
  const DirectExecution::Streams streams{.into_store = way != Copying::cached,
                                         .into_output = way == Copying::everywhere};
  const int error = execution.run(input, output, streams, waiting);
  if (race != nullptr) {
    race->count(seconds_now() - began);
    MemoryTransfer::streams_in_background.store(race->winner() != Copying::cached, std::memory_order_relaxed);
  }
  if (error != MPI_SUCCESS) waiting.look_at_length(execution);
  if (polls_of_thread.count_call(traits.bytes)) drive_library(channel_pool().comm());
  if (error != DirectExecution::gave_up) return error;
  state.spoil_channel();
  return waiting.error();
}

}  // namespace

bool may_be_direct(const Communicator& state) {
  return state.neighbours() != nullptr && !session.observes_all_calls();
}

std::optional<int> try_direct(Communicator& state, const CallTraits& traits, const Spec& spec,
                              CallBuffers& message, const std::optional<CallKey>& key) {
  Call& call = message.call;
  if (spec.is_native() || !DirectExecution::serves(call.element)) return {};
  // A call with a key is not packed. A call without one may pack from device memory, wherever its buffers
  // here are.
  if (may_have_device_memory() && (!key || concerns_device(call.input, call.output))) return {};
  // A program's operation may need MPI, and its errors have rules of their own.
  if (is_reduction(traits.collective) && call.element.kernel == nullptr) return {};
  // Several segments in flight need several lanes.
  const bool stays_whole = spec.recipe.algorithm->stays_whole();
  const Pipelining pipelining = stays_whole ? Pipelining{} : Communicator::pipelining_of(spec);
  const std::size_t segments = pipelining.count(call.count, static_cast<std::size_t>(call.element.size));
  if (segments > 1 && (pipelining.in_flight() > 1 || !call.borders.empty())) return {};
  const double began = session.counts(traits) ? seconds_now() : 0;
  DirectExecution* execution = nullptr;
  StreamingRace* race = nullptr;
  try {
    execution = state.direct(traits, spec);
    if (execution == nullptr) return {};
    const int lane = state.channel()->blocking_resources().lane(0);
    if (traits.bytes >= least_streamed_bytes) race = &state.streaming_race(traits.collective, traits.bytes);
    RepeatedCall* repeated = key ? state.repeated_calls().find(*key) : nullptr;
    if (repeated != nullptr && repeated->execution == nullptr) {
      auto again = std::make_unique<DirectExecution>(execution->schedule(), *state.neighbours());
      again->set(call, segments, lane);
      repeated->execution = std::move(again);
      repeated->streaming = race;
    }
    execution->set(call, segments, lane);
  } catch (const std::bad_alloc&) {
    return {};  // an operation reports its failure to the other ranks
  }
  if (message.begin() != MPI_SUCCESS) return {};
  state.next_sequence();
  int error = run(state, traits, spec, *execution, race, call.input, call.output);
  if (error == MPI_SUCCESS) error = message.finish();
  if (session.counts(traits)) record_call(traits.collective, traits.bytes, spec, seconds_now() - began);
  if (error != MPI_SUCCESS) state.call_error_handler(error);
  return error;
}

Repetition try_repeat(const CallKey& key, const void* input, void* output, MPI_Comm comm) {
  const KnownCommunicator* known = find_known(comm);
  RepeatedCall* call = known == nullptr ? nullptr : known->state->repeated_calls().find(key);
  const bool is_decided = call != nullptr && session.due_races.load(std::memory_order_relaxed) == 0 &&
                          session.program_forced(key.collective) == nullptr && !known->state->native_only();
  if (!is_decided) return {};
  Race* race = call->race;
  if (race != nullptr && race->wants_agreement()) return {};
  const bool races = race != nullptr && race->quiet() == 0;
  const bool is_native = race != nullptr && race->next() == Race::Side::defender;
  if (!is_native && (call->execution == nullptr || concerns_device(input, output))) return {};
  if (race != nullptr && !races) race->pass();
  if (is_native) {
    note_live_bytes(call->traits.bytes);
    Repetition again{.is_known = true};
    if (races) {
      again.learning = std::make_shared<LearningCall>(known->state->shared_from_this(),
                                                      [race](double seconds) { race->count(seconds); });
    }
    return again;
  }
  // The times of some calls stand for all, because reading the clock takes a large part of a call's time.
  constexpr std::uint32_t calls_between = 16;
  const bool counts = session.counts(call->traits);
  const bool is_timed = races || (counts && ++call->untimed % calls_between == 0);
  const double began = is_timed ? seconds_now() : 0;
  note_live_bytes(call->traits.bytes);
  known->state->next_sequence();
  const int error =
      run(*known->state, call->traits, call->spec, *call->execution, call->streaming, input, output);
  const double seconds = is_timed ? seconds_now() - began : 0;
  if (races) race->count(seconds);
  if (counts) call->counter->add(call->traits.bytes, races ? seconds : calls_between * seconds);
  if (error != MPI_SUCCESS) known->state->call_error_handler(error);
  return {.is_known = true, .result = error};
}

}  // namespace stretto
