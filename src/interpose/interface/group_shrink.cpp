// SPDX-License-Identifier: Apache-2.0
// Lets a group of a job without MPI go on with the members that are left.
#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/messages/channel.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/interface/group.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "sockets/endpoint.hpp"
#include "text/hash.hpp"
#include "threads/clock.hpp"

namespace stretto {
namespace {

std::shared_ptr<Communicator> state_of(const stretto_group& group) {
  std::shared_ptr<Communicator> state;
  find_communicator(group.comm, state);
  return state;
}

/// The members of a group, by their ranks in the job.
std::vector<int> members_of(const stretto_group& group) {
  if (group.size == 1) return {session.world_rank};
  return state_of(group)->ranks_in_world();
}

/// Lanes of shared memory in which calls have failed. They serve again when all members have renewed them.
class LostLanes {
 public:
  /// Ends this rank's part in a group, in which it has no call any more, and renews the lanes of the group.
  void take(const std::shared_ptr<Communicator>& of) {
    if (of == nullptr) return;
    of->end_from(0, "the group has shrunk");
    if (of->neighbours() == nullptr || of->opened_channel() == nullptr) return;
    const ChannelPool::LaneSet its = of->opened_channel()->take_lanes();
    std::vector<int> places = of->neighbours()->place_of;
    std::erase(places, Neighbours::none);
    session.memory.renew(its, places);
    renewed_ |= its;
  }
  /// To be called when all members have renewed them.
  void release() { channel_pool().release_lanes(std::exchange(renewed_, 0)); }

 private:
  ChannelPool::LaneSet renewed_ = 0;
};

/// Shrinks one group. All ranks by their numbers in the job.
class Shrinking {
 public:
  Shrinking(stretto_group& group, std::vector<int> members, std::set<int> without, double seconds)
      : group_(group), members_(std::move(members)), without_(std::move(without)), seconds_(seconds) {}

  /// The members agree on who is left, and make a group of these. Then they agree on whether all have
  /// succeeded and all are still there, or do it again. So no member gets the group unless all do.
  stretto_group* run() {
    LostLanes lanes;
    std::shared_ptr<Communicator> last = end_calls();
    std::unique_ptr<stretto_group> made;
    bool is_well = last == nullptr || !last->opened_channel()->is_spoilt();
    for (bool has_tried = false;; has_tried = true) {
      const std::optional<CensusValue> found = count(is_well);
      if (!found) return nullptr;
      // All have ended their calls in the last group, and renewed the lanes of the one before.
      lanes.release();
      std::vector<int> left;
      for (int rank = 0; rank < group_.size; ++rank) {
        if (!found->without.contains(in_job(rank))) left.push_back(rank);
      }
      const bool is_as_before = has_tried && left == left_;
      if (is_as_before && found->is_well) return made.release();
      if (made) last = state_of(*made);
      // The group itself stays in use if nobody has ended, and no call has failed.
      if (has_tried || !found->is_well || left.size() + without_.size() < members_.size()) lanes.take(last);
      if (is_as_before) {
        if (is_well) set_error("another rank could not make the group; its own error says why");
        return nullptr;
      }
      left_ = std::move(left);
      made.reset();
      if (std::ranges::find(left_, group_.rank) == left_.end()) {
        set_error("the other ranks have gone on without this one");
        return nullptr;
      }
      made.reset(
          make_group(group_.comm, left_.data(), static_cast<int>(left_.size()), tag(), seconds_, &last));
      is_well = made != nullptr;
    }
  }
  /// By their ranks in the group.
  [[nodiscard]] const std::vector<int>& left() const { return left_; }

 private:
  [[nodiscard]] int in_job(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  /// Ends this rank's collectives of the group that are under way. Returns its state.
  [[nodiscard]] std::shared_ptr<Communicator> end_calls() const {
    constexpr double longest = 5;  // s
    std::shared_ptr<Communicator> state = state_of(group_);
    Channel* const channel = state == nullptr ? nullptr : state->opened_channel();
    if (channel == nullptr) return nullptr;
    if (!channel->is_idle()) state->end_from(0, "the group shrinks");
    const double until = seconds_now() + longest;
    wait_until([&] { return channel->is_idle() || seconds_now() > until; });
    return channel->is_idle() ? state : nullptr;
  }

  /// A tag that no other group of the same ranks has.
  [[nodiscard]] int tag() const {
    Hash hash;
    hash.add(mpi.context_of(group_.comm));
    hash.add(group_.censuses);
    return static_cast<int>(hash.sum() % INT_MAX);
  }

  /// A census. Returns nothing, after set_error(), if this rank may not go on.
  std::optional<CensusValue> count(bool is_well) {
    Endpoint& endpoint = mpi.endpoint();
    const std::uint64_t context = mpi.context_of(group_.comm);
    const CensusId id{.group = group_of(context), .number = group_.censuses++};
    std::set<int> members(members_.begin(), members_.end());
    for (const int rank : without_) members.erase(rank);
    endpoint.begin_census(id, members, {.without = without_, .is_well = is_well});
    Endpoint::CensusState state;
    double until = 0;
    const auto has_ended = [&] {
      const Census::Awaited before = state.awaited;
      state = endpoint.census_state(id);
      if (state.result || state.is_excluded || endpoint.failure() != nullptr) return true;
      // A coordinator that has answered waits for others, but may have begun to do so only then.
      if (state.awaited != before) until = seconds_now() + (state.awaited.has_answered ? 2 : 1) * seconds_;
      if (seconds_now() > until) {
        endpoint.give_up_waiting(id);
        until = seconds_now() + seconds_;
      }
      return false;
    };
    wait_until(has_ended, [&] {
      const bool any = endpoint.progress();
      return make_progress() || any;
    });
    if (!state.result) {
      const char* const reason = endpoint.failure();
      set_error(reason != nullptr ? reason : "the other ranks have gone on without this one");
      return std::nullopt;
    }
    for (const int rank : state.result->without) {
      if (!without_.contains(rank))
        endpoint.exclude(context, rank, "the other ranks have gone on without rank " + std::to_string(rank));
    }
    return state.result;
  }

  stretto_group& group_;
  std::vector<int> members_;
  std::set<int> without_;
  double seconds_;
  std::vector<int> left_;
};

}  // namespace
}  // namespace stretto

using namespace stretto;

STRETTO_VISIBLE stretto_group* stretto_group_shrink(stretto_group* group, const int* without, int count,
                                                    double seconds, int* left, int* left_count) {
  return without_exceptions(static_cast<stretto_group*>(nullptr), [&]() -> stretto_group* {
    free_left_communicators();
    if (mpi.has_library()) {
      set_error("a group cannot shrink in a job with MPI, where a lost rank ends the job");
      return nullptr;
    }
    std::vector<int> members = members_of(*group);
    std::set<int> in_job;
    for (const int rank : std::span(without, static_cast<std::size_t>(count))) {
      if (rank < 0 || rank >= group->size || rank == group->rank) {
        set_error("rank " + std::to_string(rank) +
                  (rank == group->rank ? " cannot leave itself out" : " is not in the group"));
        return nullptr;
      }
      in_job.insert(members[static_cast<std::size_t>(rank)]);
    }
    Shrinking shrinking(*group, std::move(members), std::move(in_job), seconds);
    stretto_group* const made = shrinking.run();
    if (made == nullptr) return nullptr;
    std::ranges::copy(shrinking.left(), left);
    *left_count = static_cast<int>(shrinking.left().size());
    return made;
  });
}
