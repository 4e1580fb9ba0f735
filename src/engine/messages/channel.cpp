// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/channel.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "engine/data/self_message.hpp"
#include "mpi/status.hpp"
#include "threads/backoff.hpp"

namespace stretto {

constinit Immortal<ChannelPool> channel_pool;

int ChannelPool::find_most_tag() {
  int most_tag = 32767;
  int* attribute = nullptr;
  int found = 0;
  if (mpi.Comm_get_attr(mpi.comm_world, mpi.tag_ub, static_cast<void*>(&attribute), &found) == MPI_SUCCESS &&
      found != 0) {
    most_tag = *attribute;
  }
  if (const char* most = std::getenv("_STRETTO_MOST_TAG")) most_tag = std::min(most_tag, std::atoi(most));
  return most_tag;
}

std::string ChannelPool::open(int most_tag) {
  mpi.Comm_rank(mpi.comm_world, &rank_);
  mpi.Comm_size(mpi.comm_world, &ranks_);
  MPI_Group group{};
  mpi.Comm_group(mpi.comm_world, &group);
  comm_ = mpi.comm_null;
  const int error = mpi.Comm_create(mpi.comm_world, group, &comm_);
  mpi.Group_free(&group);
  if (error != MPI_SUCCESS || comm_ == mpi.comm_null) {
    return "the MPI library could not make a communicator for Stretto";
  }
  mpi.Comm_set_errhandler(comm_, mpi.errors_return);
  tags_ = tags_for(most_tag, ranks_);
  // Rank r owns the channels 1 + r, 1 + r + ranks, …
  next_ = 1 + rank_;
  end_ = static_cast<int>((static_cast<std::int64_t>(most_tag) + 1) / tags_);
  sent_to_.assign(static_cast<std::size_t>(ranks_), 0);
  mpi.Comm_group(mpi.comm_self, &group);
  self_messages.comm = mpi.comm_null;
  mpi.Comm_create(mpi.comm_self, group, &self_messages.comm);
  mpi.Group_free(&group);
  mpi.Comm_set_errhandler(self_messages.comm, mpi.errors_return);
  is_open_ = true;
  return {};
}

void ChannelPool::close() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  if (mpi.has_library()) take_in_last_releases();
  remove_sent();
  mpi.Comm_free(&comm_);
  mpi.Comm_free(&self_messages.comm);
  returned_.clear();
  in_use_.clear();
  taken_in_ = 0;
}

void ChannelPool::take_in_last_releases() {
  // This does not block: a library that spins while it waits takes long if ranks outnumber cores.
  int expected = 0;
  const std::vector<int> one_each(sent_to_.size(), 1);
  MPI_Request request = mpi.request_null;
  int error =
      mpi.Ireduce_scatter(sent_to_.data(), &expected, one_each.data(), mpi.int_, mpi.sum, comm_, &request);
  int known = 0;
  Backoff backoff;
  // Releases are probed first, because MPICH 5.0.2 over UCX matches no receive from any source.
  while (known == 0 || taken_in_ < expected || !sent_.empty()) {
    if (error == MPI_SUCCESS && known == 0) error = mpi.Test(&request, &known, mpi.status_ignore);
    if (error != MPI_SUCCESS) return;  // the library has lost a rank, so nothing more comes
    take_in_releases();
    remove_sent();
    backoff.wait();
  }
  // MPICH 4.0.2 over UCX and TCP sometimes does not return from MPI_Finalize, most often if that follows a
  // reduction at once: in 46 of 1000 jobs of two ranks. After a barrier it was 4 of 450, and without Stretto
  // 1 of 150.
  int have_all_come = 0;
  error = mpi.Ibarrier(comm_, &request);
  while (error == MPI_SUCCESS && have_all_come == 0) {
    error = mpi.Test(&request, &have_all_come, mpi.status_ignore);
    backoff.wait();
  }
}

int ChannelPool::tags_for(int most_tag, int ranks) {
  constexpr int most = 256;
  constexpr int least = 16;
  constexpr std::int64_t enough = std::int64_t{1} << 17;  // Open MPI has half as many communicators
  constexpr std::int64_t enough_for_a_rank = 64;
  const std::int64_t wanted = std::max(enough, enough_for_a_rank * ranks);
  int tags = most;
  while (tags > least && (static_cast<std::int64_t>(most_tag) + 1) / tags < wanted) tags /= 2;
  return tags;
}

ChannelPool::Offer ChannelPool::offer() {
  const std::lock_guard lock(mutex_);
  take_in_releases();
  const int fresh = next_ < end_ ? (end_ - next_ + ranks_ - 1) / ranks_ : 0;
  Offer offer{.left = fresh + static_cast<int>(returned_.size())};
  if (!returned_.empty()) {
    offer.channel = returned_.back();
    returned_.pop_back();
  } else if (fresh > 0) {
    offer.channel = next_;
    next_ += ranks_;
  }
  // Offers half of the free lanes: another communicator may be agreeing at the same time.
  for (int wanted = (std::popcount(free_lanes_) + 1) / 2; wanted > 0; --wanted) {
    const LaneSet lowest = free_lanes_ & (~free_lanes_ + 1);
    offer.lanes |= lowest;
    free_lanes_ ^= lowest;
  }
  return offer;
}

void ChannelPool::settle(const Offer& offered, const Offer& agreed, int ranks) {
  const std::lock_guard lock(mutex_);
  free_lanes_ |= offered.lanes & ~agreed.lanes;
  if (offered.channel == none) return;
  if (offered.channel == agreed.channel) {
    in_use_[agreed.channel].ranks = ranks;
  } else {
    returned_.push_back(offered.channel);
  }
}

void ChannelPool::set_lanes(int lanes) {
  const std::lock_guard lock(mutex_);
  lanes_ = std::min(lanes, most_lanes);
  free_lanes_ = lanes_ == most_lanes ? ~LaneSet{0} : (LaneSet{1} << lanes_) - 1;
}

void ChannelPool::release_lanes(LaneSet lanes) {
  const std::lock_guard lock(mutex_);
  free_lanes_ |= lanes;
}

void ChannelPool::release(int channel) {
  const std::lock_guard lock(mutex_);
  // Without MPI there are millions of channels, and a message to a rank that this one does not talk to costs
  // more than one of them.
  if (!is_open_ || !mpi.has_library()) return;
  const int owner = (channel - 1) % ranks_;
  if (owner == rank_) {
    count_release(channel);
    return;
  }
  remove_sent();
  Sent& sent = sent_.emplace_back(Sent{channel, mpi.request_null});
  mpi.Isend(&sent.channel, 1, mpi.int_, owner, release_tag, comm_, &sent.request);
  ++sent_to_[static_cast<std::size_t>(owner)];
}

void ChannelPool::remove_sent() {
  sent_.remove_if([](Sent& sent) {
    int done = 0;
    mpi.Test(&sent.request, &done, mpi.status_ignore);
    return done != 0;
  });
}

void ChannelPool::take_in_releases() {
  if (!mpi.has_library()) return;
  for (;;) {
    int arrived = 0;
    OwnStatus status;
    mpi.Iprobe(mpi.any_source, release_tag, comm_, &arrived, status);
    if (arrived == 0) return;
    int channel = none;
    mpi.Recv(&channel, 1, mpi.int_, source_of(status), release_tag, comm_, mpi.status_ignore);
    ++taken_in_;
    count_release(channel);
  }
}

void ChannelPool::count_release(int channel) {
  // Another rank may release the channel before this one knows of the agreement.
  InUse& use = in_use_[channel];
  if (++use.released != use.ranks) return;
  in_use_.erase(channel);
  returned_.push_back(channel);
}

namespace {

/// Returns an offer of a channel as a number that is greater if its rank has more left.
std::int64_t as_number(const ChannelPool::Offer& offer) {
  return offer.channel == ChannelPool::none ? -1 : (std::int64_t{offer.left} << 32) | offer.channel;
}

}  // namespace

Channel::Channel(MPI_Comm users, int ranks, Use use)
    : ranks_(ranks), use_(use), offered_(channel_pool().offer()) {
  own_.push_back(as_number(offered_));
  for (int lane = 0; lane < channel_pool().lanes(); ++lane) {
    own_.push_back((offered_.lanes >> lane & 1) != 0 ? 0 : 1);
  }
  greatest_.resize(own_.size());
  error_ = mpi.Iallreduce(own_.data(), greatest_.data(), static_cast<int>(own_.size()), mpi.int64_t, mpi.max,
                          users, &request_);
  if (error_ == MPI_SUCCESS) return;
  channel_pool().settle(std::exchange(offered_, {}), {}, ranks_);
  state_ = State::refused;
}

Channel::~Channel() {
  if (state_ != State::open || is_spoilt_) return;
  channel_pool().release_lanes(lanes());
  channel_pool().release(channel_);
}

ChannelPool::LaneSet Channel::lanes() const {
  ChannelPool::LaneSet lanes = 0;
  for (const std::int8_t lane : lanes_) lanes |= ChannelPool::LaneSet{1} << lane;
  if (blocking_lane_ != CallResources::none) lanes |= ChannelPool::LaneSet{1} << blocking_lane_;
  return lanes;
}

bool Channel::is_idle() {
  const std::lock_guard guard(lock_);
  return taken_.empty();
}

ChannelPool::LaneSet Channel::take_lanes() {
  progress();
  const std::lock_guard guard(lock_);
  if (state_ == State::opening || std::exchange(has_given_lanes_, true)) return 0;
  spoil();
  return error_ == MPI_SUCCESS ? lanes() : offered_.lanes;
}

Channel::State Channel::progress() {
  if (const State now = state_.load(std::memory_order_acquire); now != State::opening) return now;
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || state_ != State::opening) return state_;
  int done = 0;
  const int error = mpi.Test(&request_, &done, mpi.status_ignore);
  if (error == MPI_SUCCESS && done == 0) return state_;
  error_ = error;
  ChannelPool::Offer agreed;
  if (error == MPI_SUCCESS && greatest_.front() >= 0) {
    agreed.channel = channel_ = static_cast<int>(greatest_.front() & INT32_MAX);
    const auto free = static_cast<std::size_t>(std::count(greatest_.begin() + 1, greatest_.end(), 0));
    const std::size_t for_blocking = use_ == Use::in_order ? 1 : 0;
    const std::size_t most = std::min((free + 1) / 2, CallResources::most_lanes + for_blocking);
    for (std::size_t i = 1; i < greatest_.size() && lanes_.size() < most; ++i) {
      if (greatest_[i] != 0) continue;
      lanes_.push_back(static_cast<std::int8_t>(i - 1));
      agreed.lanes |= ChannelPool::LaneSet{1} << (i - 1);
    }
    if (use_ == Use::in_order && !lanes_.empty()) {
      blocking_lane_ = lanes_.back();
      lanes_.pop_back();
    }
  }
  // If the agreement has failed here, other ranks may have agreed, and use what this rank has offered: their
  // messages would match receives of its next use.
  if (error == MPI_SUCCESS) channel_pool().settle(offered_, agreed, ranks_);
  return state_ = channel_ == ChannelPool::none ? State::refused : State::open;
}

/// Returns the first tag of a call with `width` tags, which are consecutive.
std::uint64_t Channel::first_for(std::size_t width) const {
  const auto tags = static_cast<std::uint64_t>(channel_pool().tags_of_tickets());
  const std::uint64_t in_round = next_ % tags;
  return in_round + width <= tags ? next_ : next_ - in_round + tags;
}

Channel::Ticket Channel::take(std::size_t width, std::size_t in_flight) {
  const std::lock_guard guard(lock_);
  const std::uint64_t first = first_for(width);
  next_ = first + width;
  Ticket ticket{.first = first,
                .width = width,
                .first_lane = next_lane_,
                .lanes = std::min(in_flight, CallResources::most_lanes),
                .connections_from = connections_from()};
  next_lane_ += ticket.lanes;
  taken_.push_back({first, ticket.first_lane, false});
  return ticket;
}

bool Channel::is_free(const Ticket& ticket) const {
  const Taken& oldest = taken_.front();
  const auto tags = static_cast<std::uint64_t>(channel_pool().tags_of_tickets());
  return ticket.first + ticket.width <= oldest.first + tags &&
         (lanes_.empty() || ticket.first_lane + lanes_of(ticket) <= oldest.first_lane + lanes_.size());
}

bool Channel::may_begin(Ticket& ticket) {
  if (ticket.may_begin) return true;
  const std::lock_guard guard(lock_);
  return ticket.may_begin = is_free(ticket);
}

std::size_t Channel::lanes_of(const Ticket& ticket) const {
  if (use_ == Use::in_order) return std::min(ticket.lanes, lanes_.size());
  return ticket.first_lane + ticket.lanes <= lanes_.size() ? ticket.lanes : 0;
}

CallResources Channel::blocking_resources() const {
  CallResources resources{.first_tag = channel_ * channel_pool().tags() + channel_pool().tags_of_tickets()};
  resources.lanes.front() = blocking_lane_;
  resources.connections_from = connections_from();
  return resources;
}

CallResources Channel::resources(const Ticket& ticket) const {
  const auto tags = static_cast<std::uint64_t>(channel_pool().tags_of_tickets());
  CallResources resources{.first_tag =
                              channel_ * channel_pool().tags() + static_cast<int>(ticket.first % tags)};
  resources.connections_from = ticket.connections_from;
  for (std::size_t i = 0; i < lanes_of(ticket); ++i) {
    resources.lanes.at(i) = lanes_[(ticket.first_lane + i) % lanes_.size()];
  }
  return resources;
}

void Channel::end(const Ticket& ticket) {
  const std::lock_guard guard(lock_);
  const auto found = std::find_if(taken_.begin(), taken_.end(),
                                  [&](const Taken& taken) { return taken.first == ticket.first; });
  if (found != taken_.end()) found->ended = true;
  while (!taken_.empty() && taken_.front().ended) taken_.pop_front();
}

namespace {

std::mutex letting_open;
constinit Immortal<std::vector<std::shared_ptr<Channel>>> opening_channels;

/// Returns whether any is left.
bool look_at_opening_channels() {
  std::erase_if(opening_channels(),
                [](const auto& channel) { return channel->progress() != Channel::State::opening; });
  return !opening_channels().empty();
}

}  // namespace

void keep_until_open(std::shared_ptr<Channel> channel) {
  if (!channel || channel->progress() != Channel::State::opening) return;
  const std::lock_guard lock(letting_open);
  look_at_opening_channels();
  opening_channels().push_back(std::move(channel));
}

void wait_for_opening_channels() {
  const std::lock_guard lock(letting_open);
  while (look_at_opening_channels()) std::this_thread::yield();
}

bool Channel::has_fresh(std::size_t width) {
  const std::lock_guard guard(lock_);
  return first_for(width) + width <= static_cast<std::uint64_t>(channel_pool().tags_of_tickets());
}

}  // namespace stretto
