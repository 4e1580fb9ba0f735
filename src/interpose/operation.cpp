// SPDX-License-Identifier: Apache-2.0
#include "interpose/operation.hpp"

#include <exception>
#include <new>
#include <utility>

#include "interpose/clock.hpp"
#include "interpose/session.hpp"
#include "interpose/statistics.hpp"

namespace stretto {

Operation::Operation(std::shared_ptr<Communicator> state, const CallTraits& traits, Spec spec, Face face,
                     Message& message)
    : state_(std::move(state)),
      traits_(traits),
      spec_(std::move(spec)),
      face_(face),
      message_(message),
      sequence_(state_->next_sequence()),
      execution_(state_->lease(traits_, spec_, face == Face::persistent)) {
  const std::size_t tags = execution_->tags(message_.call);
  if (tags == 0) return;
  channel_ = face == Face::persistent ? state_->channel_with_fresh(tags) : state_->channel();
  ticket_ = channel_->take(tags);
}

Operation::~Operation() {
  if (face_ == Face::persistent && channel_) channel_->end(ticket_);
  // What failed may still have messages under way.
  if (error_ != MPI_SUCCESS) static_cast<void>(execution_.release());
}

void Operation::start() {
  const std::lock_guard lock(mutex_);
  began_ = seconds_now();
  has_begun_ = false;
  ended_.store(false, std::memory_order_relaxed);
  if (may_begin()) begin();
}

/// Whether its tags are its own. The library's own calls need none, and must be made in the order of calls.
bool Operation::may_begin() {
  if (!channel_) return true;
  switch (channel_->progress()) {
    case Channel::State::opening: return false;
    case Channel::State::open: return face_ == Face::persistent || channel_->may_begin(ticket_);
    case Channel::State::refused: break;
  }
  complain_once_on_rank_0(
      "the MPI library has no tag left for the collectives of another communicator; a call that was under way "
      "fails, others are the library's own");
  end(MPI_ERR_INTERN);
  return false;
}

void Operation::begin() {
  has_begun_ = true;
  try {
    if (const int error = message_.begin(); error != MPI_SUCCESS) return end(error);
    Call call = message_.call;
    staging_.stage(call);
    execution_->start(call, channel_ ? channel_->tag(ticket_) : 0);
  } catch (const std::bad_alloc&) {
    return end(MPI_ERR_NO_MEM);
  } catch (const std::exception& error) {
    complain(error.what());
    return end(MPI_ERR_OTHER);
  }
  if (execution_->ended()) finish();
}

bool Operation::progress() {
  if (ended()) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || ended()) return false;
  if (!has_begun_) {
    if (may_begin()) begin();
    return has_begun_ || ended();
  }
  const bool any = execution_->progress();
  if (execution_->ended()) finish();
  return any;
}

void Operation::finish() {
  int error = execution_->error();
  try {
    if (error == MPI_SUCCESS) {
      staging_.copy_result_back();
      error = message_.finish();
    }
  } catch (const std::exception& failure) {
    complain(failure.what());
    error = MPI_ERR_OTHER;
  }
  end(error);
}

void Operation::end(int error) {
  error_ = error;
  if (face_ != Face::persistent) {
    if (error == MPI_SUCCESS) state_->give_back(traits_, spec_, std::move(execution_));
    if (channel_) channel_->end(ticket_);
  }
  if (!session.settings.statistics_file.empty()) {
    record_call(traits_.collective, traits_.bytes, spec_, seconds_now() - began_);
  }
  ended_.store(true, std::memory_order_release);
}

int Operation::report_error() const {
  if (error_ != MPI_SUCCESS && !spec_.is_native()) state_->call_error_handler(error_);
  return error_;
}

bool Operation::try_standings(std::vector<Standing>& standings) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  standings = has_begun_ && !ended() ? execution_->standings() : std::vector<Standing>{};
  return true;
}

}  // namespace stretto
