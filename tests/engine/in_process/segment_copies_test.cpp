// SPDX-License-Identifier: Apache-2.0
// A segment is sent as soon as it is fetched, and is put back while others are still to be fetched. With a
// message of one segment, rounds take the place of segments. Copies are simulated, so the test does not
// depend on time. All ranks do this, in one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/data/segment_copies.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "float_element.hpp"
#include "in_process.hpp"

namespace stretto::test {
namespace {

/// Simulated copies. Fetches end when the test lets them, and only then are their bytes in host memory.
class PlayedCopies final : public SegmentCopies {
 public:
  PlayedCopies(const std::vector<float>& users, std::vector<float>& host) : users_(users), host_(host) {}

  [[nodiscard]] bool goes_by_segments() const override { return true; }
  void fetch(const CopiedPart& /*part*/, std::span<const Range> elements) override {
    fetches_.emplace_back(elements.begin(), elements.end());
  }
  std::size_t arrived() override { return fails_ ? fetches_.size() : arrived_; }
  void put_back(const CopiedPart& /*part*/, std::span<const Range> elements) override {
    for (const Range& range : elements) put_back_ += range.count;
  }
  [[nodiscard]] bool has_failed() const override { return fails_; }

  void let_one_arrive() {
    for (const Range& range : fetches_[arrived_])
      std::copy_n(users_.data() + range.first, range.count, host_.data() + range.first);
    ++arrived_;
  }
  void fail() { fails_ = true; }
  [[nodiscard]] std::size_t fetches() const { return fetches_.size(); }
  [[nodiscard]] std::size_t on_the_way() const { return fetches_.size() - arrived_; }
  [[nodiscard]] std::size_t elements_put_back() const { return put_back_; }

 private:
  const std::vector<float>& users_;
  std::vector<float>& host_;
  std::vector<std::vector<Range>> fetches_;
  std::size_t arrived_ = 0;
  std::size_t put_back_ = 0;
  bool fails_ = false;
};

constexpr std::size_t copied_count = 1 << 20;  // some parts of a segment are copied by themselves

/// One rank of a ring, and the copies of its call.
struct CopyingRank {
  CopyingRank(std::unique_ptr<Transport> transport, int ranks, int rank, const Pipelining& pipelining)
      : execution(std::move(transport), nullptr,
                  build(usual_recipe(*find_algorithm(Collective::allreduce, "ring")), Topology::flat(ranks),
                        0, rank),
                  pipelining) {}

  void start() {
    Call call = Call::whole(input.data(), output.data(), copied_count, float_sums());
    call.staging = &copies;
    execution.start(call, {});
  }
  void progress() {
    if (!execution.ended()) execution.progress();
  }

  const std::vector<float> users = std::vector<float>(copied_count, 1);
  std::vector<float> input = std::vector<float>(copied_count, -1);
  std::vector<float> output = std::vector<float>(copied_count, -1);
  PlayedCopies copies{users, input};
  ScheduleExecution execution;
};

using CopyingRanks = std::vector<std::unique_ptr<CopyingRank>>;

void advance_until(CopyingRanks& all, const std::function<bool()>& done) {
  for (int look = 0; look < 1'000'000; ++look) {
    if (done()) return;
    for (const auto& one : all) one->progress();
  }
  FAIL() << "the call does not go on";
}

void carry_out(int ranks, const Pipelining& pipelining, bool fails, unsigned seed) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(pipelining.segments) + " segments, seed " +
               std::to_string(seed));
  InProcessNetwork network(seed);
  CopyingRanks all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<CopyingRank>(network.transport_of(rank), ranks, rank, pipelining));
    all.back()->start();
    EXPECT_FALSE(all.back()->execution.ended());
    EXPECT_EQ(all.back()->copies.elements_put_back(), 0U);
    // A ring of two ranks reads all in its first round.
    EXPECT_GT(all.back()->copies.fetches(), ranks == 2 && pipelining.segments == 0 ? 0U : 1U);
  }
  if (pipelining.segments > 1) {
    // The first segment is sent and put back while no other segment has been fetched.
    for (std::size_t rank = fails ? 1 : 0; rank < all.size(); ++rank) all[rank]->copies.let_one_arrive();
  }
  if (fails) {
    all[0]->copies.fail();
  } else if (pipelining.segments > 1) {
    advance_until(all, [&] {
      return std::ranges::all_of(all, [](const auto& one) { return one->copies.elements_put_back() > 0; });
    });
    for (const auto& one : all) {
      EXPECT_GT(one->copies.on_the_way(), 0U);
      EXPECT_LT(one->copies.elements_put_back(), copied_count);
    }
  }
  advance_until(all, [&] {
    for (const auto& one : all) {
      if (!one->execution.ended() && one->copies.on_the_way() > 0) one->copies.let_one_arrive();
    }
    return std::ranges::all_of(all, [](const auto& one) { return one->execution.ended(); });
  });
  for (const auto& one : all) {
    EXPECT_EQ(one->execution.error() != MPI_SUCCESS, fails);
    if (fails) continue;
    EXPECT_EQ(one->copies.elements_put_back(), copied_count);
    EXPECT_TRUE(
        std::ranges::all_of(one->output, [&](float sum) { return sum == static_cast<float>(ranks); }));
  }
}

class SegmentCopiesTest : public testing::TestWithParam<int> {};

TEST_P(SegmentCopiesTest, FollowEachSegment) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    carry_out(GetParam(), {.segments = 8, .window = 2}, false, seed);
    carry_out(GetParam(), {}, false, seed);
  }
}

TEST_P(SegmentCopiesTest, EndTheCallOnAllRanksIfTheyFailOnOne) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    carry_out(GetParam(), {.segments = 8, .window = 2}, true, seed);
    carry_out(GetParam(), {}, true, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SegmentCopiesTest, testing::Values(2, 3, 4));

}  // namespace
}  // namespace stretto::test
