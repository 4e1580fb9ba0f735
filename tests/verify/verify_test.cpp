// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace stretto {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(STRETTO_COVERAGE)
constexpr bool is_slow_build = true;  // ten times as slow, and searches for other faults than wrong schedules
#else
constexpr bool is_slow_build = false;
#endif

std::vector<int> rank_counts() {
  std::vector<int> counts(is_slow_build ? 9 : 64);
  std::iota(counts.begin(), counts.end(), 1);
  if (is_slow_build) {
    counts.push_back(16);
  } else {
    counts.insert(counts.end(), {127, 128, 129, 300});
  }
  return counts;
}

std::vector<Recipe> every_recipe() {
  std::vector<Recipe> all;
  for (const Collective collective : collectives) {
    const auto some = sample_recipes(collective);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<int> roots_of(const Recipe& recipe, int ranks) {
  if (!has_root(recipe.algorithm->collective)) return {0};
  std::vector<int> roots(static_cast<std::size_t>(ranks));
  std::iota(roots.begin(), roots.end(), 0);
  if (ranks > 17) roots = {0, 1, ranks / 2, ranks - 1};
  return roots;
}

class EveryRecipe : public testing::TestWithParam<Recipe> {};

TEST_P(EveryRecipe, IsProvenForAnyNumberOfRanks) {
  for (const int ranks : rank_counts()) {
    // With a late rank, the work grows with the cube of the ranks: 20 s for 300.
    if (GetParam().algorithm->takes_late && ranks > 129) continue;
    const Topology topology = Topology::flat(ranks);
    for (const int root : roots_of(GetParam(), ranks))
      EXPECT_EQ(verify(GetParam(), topology, root).error, "");
  }
}

TEST_P(EveryRecipe, IsProvenHoweverRanksAreMapped) {
  std::mt19937 random(1);
  for (int i = 0; i < (is_slow_build ? 40 : 200); ++i) {
    std::vector<int> labels(1 + random() % 24);
    std::vector<int> sockets(labels.size());
    const auto nodes = 1 + random() % labels.size();
    for (int& label : labels) label = static_cast<int>(random() % nodes);
    for (int& label : sockets) label = static_cast<int>(random() % 2);
    if (random() % 2 == 0) std::sort(labels.begin(), labels.end());
    const Topology topology = Topology::from_labels(labels, sockets);
    const int root = static_cast<int>(random() % labels.size());
    EXPECT_EQ(verify(GetParam(), topology, has_root(GetParam().algorithm->collective) ? root : 0).error, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryRecipe, testing::ValuesIn(every_recipe()), [](const auto& recipe) {
  std::string name = std::string(name_of(recipe.param.algorithm->collective)) + "_" + to_string(recipe.param);
  for (char& symbol : name) {
    if (std::isalnum(static_cast<unsigned char>(symbol)) == 0) symbol = '_';
  }
  return name;
});

Recipe usual(std::string_view allreduce) {
  return usual_recipe(*find_algorithm(Collective::allreduce, allreduce));
}

/// Two ranks that swap their whole message and reduce: correct, and small enough to break in every way.
std::vector<Schedule> swap_and_reduce() {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    Schedule schedule(2, rank, 1);
    const Slice theirs = scratch(schedule.add_scratch(0));
    schedule.send(input(0), 1 - rank).recv(theirs, 1 - rank).end_round();
    schedule.reduce(output(0), rank == 0 ? input(0) : theirs, rank == 0 ? theirs : input(0)).end_round();
    schedules.push_back(schedule);
  }
  return schedules;
}

std::string error_of(const std::vector<Schedule>& schedules, Placement placement = Placement::out_of_place) {
  return verify({.placement = placement}, schedules, Topology::flat(static_cast<int>(schedules.size())))
      .error;
}

void expect_contains(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << "found instead: \"" << text << '"';
}

TEST(Verify, AcceptsARightSchedule) {
  EXPECT_EQ(error_of(swap_and_reduce()), "");
  EXPECT_EQ(error_of(swap_and_reduce(), Placement::in_place), "");
}

TEST(Verify, CatchesASendWithoutAReceive) {
  auto schedules = swap_and_reduce();
  schedules[0].send(output(0), 1).end_round();
  expect_contains(
      error_of(schedules),
      "rank 0, round 2: rank 1 does not expect send b0→1: it receives 1 message from rank 0, not 2");
}

TEST(Verify, CatchesAReceiveWithoutASend) {
  auto schedules = swap_and_reduce();
  schedules[0].recv(output(0), 1).end_round();
  expect_contains(error_of(schedules),
                  "rank 0, round 2: nothing arrives for recv b0←1: rank 1 sends 1 message to rank 0, not 2");
}

TEST(Verify, CatchesAMessageToTheWrongRank) {
  std::vector<Schedule> schedules{Schedule(3, 0, 1), Schedule(3, 1, 1), Schedule(3, 2, 1)};
  schedules[0].send(input(0), 2).end_round();
  schedules[1].recv_reduce(output(0), input(0), 0, Side::left).end_round();
  EXPECT_EQ(
      error_of(schedules),
      "rank 0, round 0: rank 2 does not expect send in0→2: it receives 0 messages from rank 0, not 1; "
      "rank 1, round 0: nothing arrives for recv_reduce b0=recv+in0←0: rank 0 sends 0 messages to rank 1, "
      "not 1");
}

TEST(Verify, CatchesADeadlockThatOnlyBufferingHides) {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    Schedule schedule(2, rank, 1);
    const Slice theirs = scratch(schedule.add_scratch(0));
    schedule.send(input(0), 1 - rank).end_round();  // both wait for a receive that comes after the send
    schedule.recv(theirs, 1 - rank).end_round();
    schedule.reduce(output(0), rank == 0 ? input(0) : theirs, rank == 0 ? theirs : input(0)).end_round();
    schedules.push_back(schedule);
  }
  expect_contains(error_of(schedules),
                  "deadlock: rank 0, round 0: send in0→1 waits; rank 1, round 0: send in0→0 waits");
}

TEST(Verify, CatchesMessagesOfDifferentLength) {
  std::vector<Schedule> schedules{Schedule(2, 0, 2), Schedule(2, 1, 2)};
  schedules[0].send(input(0, 2), 1).end_round();
  schedules[1].recv_reduce(output(0), input(0), 0, Side::left).end_round();
  expect_contains(error_of(schedules),
                  "rank 1, round 0: recv_reduce b0=recv+in0←0 takes 1 block, but send in0-1→1 of rank 0 in "
                  "round 0 has 2");
}

TEST(Verify, CatchesMessagesOfDifferentBlocks) {
  std::vector<Schedule> schedules{Schedule(2, 0, 2), Schedule(2, 1, 2)};
  schedules[0].send(input(1), 1).end_round();
  schedules[1].recv_reduce(output(0), input(0), 0, Side::left).end_round();
  expect_contains(
      error_of(schedules),
      "recv_reduce b0=recv+in0←0 expects block 0, but send in1→1 of rank 0 in round 0 has block 1");
}

TEST(Verify, CatchesTwoWritersInARound) {
  auto schedules = swap_and_reduce();
  schedules[1].copy(output(0), input(0)).copy(output(0), scratch(0)).end_round();
  expect_contains(error_of(schedules), "rank 1, round 2: copy b0=in0 and copy b0=s0 both write b0");
}

TEST(Verify, CatchesAReaderBesideAWriter) {
  auto schedules = swap_and_reduce();
  schedules[0].copy(scratch(0), output(0)).copy(output(0), input(0)).end_round();
  expect_contains(error_of(schedules), "rank 0, round 2: copy s0=b0 reads b0, which copy b0=in0 writes");
}

TEST(Verify, CatchesAConflictThatOnlyInPlaceHas) {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    Schedule schedule(2, rank, 1);
    const Side arriving = rank == 0 ? Side::right : Side::left;
    schedule.send(input(0), 1 - rank).recv_reduce(output(0), input(0), 1 - rank, arriving).end_round();
    schedules.push_back(schedule);
  }
  EXPECT_EQ(error_of(schedules), "");
  expect_contains(error_of(schedules, Placement::in_place),
                  "rank 0, round 0: send in0→1 reads in0, which recv_reduce b0=in0+recv←1 writes");
}

TEST(Verify, CatchesAWriteToTheInput) {
  auto schedules = swap_and_reduce();
  schedules[0].copy(input(0), output(0)).end_round();
  expect_contains(error_of(schedules), "rank 0, round 2: copy in0=b0: it writes to the input");
  expect_contains(error_of(schedules, Placement::in_place),
                  "rank 0, round 2: copy in0=b0: it writes to the input");
}

TEST(Verify, CatchesAPartialOverlap) {
  Schedule schedule(1, 0, 3);
  schedule.copy(output(0, 3), input(0, 3)).end_round();
  schedule.copy(output(0, 2), output(1, 2)).end_round();
  expect_contains(error_of({schedule}), "copy b0-1=b1-2: its operands are different blocks");
  Schedule shifted(1, 0, 1);
  shifted.add_scratch(0, 1);
  shifted.add_scratch(0, 1);
  shifted.add_scratch(0, 1);
  shifted.copy(scratch(0, 2), scratch(1, 2)).end_round();
  expect_contains(error_of({shifted}), "copy s0-1=s1-2: its operand s1-2 overlaps the result in part");
}

TEST(Verify, CatchesBlocksAndPeersThatDoNotExist) {
  auto schedules = swap_and_reduce();
  schedules[0].copy(output(1), input(0)).end_round();
  expect_contains(error_of(schedules), "copy b1=in0: it writes b1, which this rank does not have");
  schedules = swap_and_reduce();
  schedules[0].copy(output(0), scratch(1)).end_round();
  expect_contains(error_of(schedules), "copy b0=s1: it reads s1, which this rank does not have");
  schedules = swap_and_reduce();
  schedules[1].send(output(0), 2).end_round();
  expect_contains(error_of(schedules), "rank 1, round 2: send b0→2: there is no rank 2");
  schedules = swap_and_reduce();
  schedules[1].send(output(0), 1).end_round();
  expect_contains(error_of(schedules), "rank 1, round 2: send b0→1: a rank has no messages for itself");
}

TEST(Verify, CatchesOperandsOfDifferentBlocks) {
  Schedule schedule(1, 0, 2);
  schedule.copy(output(0), input(1)).end_round();
  expect_contains(error_of({schedule}), "copy b0=in1: its operands are different blocks");
}

TEST(Verify, CatchesAReadBeforeAnyWrite) {
  auto schedules = swap_and_reduce();
  Schedule early(2, 0, 1);
  const Slice theirs = scratch(early.add_scratch(0));
  early.reduce(output(0), input(0), theirs).end_round();
  early.send(input(0), 1).recv(theirs, 1).end_round();
  schedules[0] = early;
  expect_contains(error_of(schedules), "rank 0, round 0: reduce b0=in0+s0 reads s0, which was never written");
}

TEST(Verify, CatchesAnOutputThatIsNeverWritten) {
  std::vector<Schedule> schedules{Schedule(2, 0, 1), Schedule(2, 1, 1)};
  schedules[0].recv_reduce(output(0), input(0), 1, Side::right).end_round();
  schedules[1].send(input(0), 0).end_round();
  expect_contains(error_of(schedules), "rank 1: block 0 of the output is never written");
}

TEST(Verify, CatchesAMissingContribution) {
  std::vector<Schedule> schedules{Schedule(2, 0, 1), Schedule(2, 1, 1)};
  for (auto& schedule : schedules) schedule.copy(output(0), input(0)).end_round();
  expect_contains(error_of(schedules), "rank 0: block 0 lacks the contribution of rank 1");
}

TEST(Verify, CatchesAContributionTakenTwice) {
  auto schedules = swap_and_reduce();
  for (auto& schedule : schedules) schedule.reduce(output(0), output(0), output(0)).end_round();
  expect_contains(error_of(schedules), "reduce b0=b0+b0 takes the contribution of rank 0 twice");
}

TEST(Verify, CatchesOneTakenTwiceInPlaceOfAnother) {
  // Rank 2 of three is left out; rank 1 counts twice, with rank 0 in front each time.
  std::vector<Schedule> schedules{Schedule(3, 0, 1), Schedule(3, 1, 1), Schedule(3, 2, 1)};
  schedules[1].send(input(0), 0).end_round().recv(output(0), 0).end_round();
  schedules[2].recv(output(0), 0).end_round();
  schedules[0].recv_reduce(output(0), input(0), 1, Side::right).end_round();
  const Slice again = scratch(schedules[0].add_scratch(0));
  schedules[1].send(input(0), 0).end_round();
  schedules[0].send(output(0), 1).send(output(0), 2).end_round();
  schedules[0].recv(again, 1).end_round();
  schedules[0].reduce(output(0), output(0), again).end_round();
  expect_contains(error_of(schedules), "block 0 lacks the contribution of rank 2");
}

TEST(Verify, CatchesDifferentExpressionsOnTwoRanks) {
  // (x0 + x1) + x2 on ranks 0 and 1, x0 + (x1 + x2) on rank 2: equal sums, but not equal bits.
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1, 2}) {
    Schedule schedule(3, rank, 1);
    const Slice a = scratch(schedule.add_scratch(0));
    const Slice b = scratch(schedule.add_scratch(0));
    const int low = rank == 0 ? 1 : 0;
    const int high = rank == 2 ? 1 : 2;
    schedule.send(input(0), low).send(input(0), high).recv(a, low).recv(b, high).end_round();
    const Slice x0 = rank == 0 ? input(0) : a;
    const Slice x1 = rank == 0 ? a : rank == 1 ? input(0) : b;
    const Slice x2 = rank == 2 ? input(0) : b;
    if (rank == 2) {
      schedule.reduce(output(0), x1, x2).end_round().reduce(output(0), x0, output(0)).end_round();
    } else {
      schedule.reduce(output(0), x0, x1).end_round().reduce(output(0), output(0), x2).end_round();
    }
    schedules.push_back(schedule);
  }
  expect_contains(error_of(schedules), "rank 2: block 0 is a different expression from that on rank 0");
}

TEST(Verify, FindsThatTheLowerRankStandsOnTheRight) {
  auto schedules = swap_and_reduce();
  for (auto& schedule : schedules) {
    Schedule swapped(2, schedule.rank(), 1);
    const Slice theirs = scratch(swapped.add_scratch(0));
    const int peer = 1 - schedule.rank();
    swapped.send(input(0), peer).recv(theirs, peer).end_round();
    swapped.reduce(output(0), peer == 0 ? input(0) : theirs, peer == 0 ? theirs : input(0)).end_round();
    schedule = swapped;
  }
  const Proof proof = verify({}, schedules, Topology::flat(2));
  EXPECT_EQ(proof.error, "");
  EXPECT_FALSE(proof.keeps_order);
}

TEST(Verify, CatchesAFalseClaim) {
  const auto error_with = [](std::string_view name, auto change) {
    Algorithm liar = *find_algorithm(Collective::allreduce, name);
    change(liar);
    return verify(Recipe{&liar, 0, 0, {}, {}}, Topology::flat(5)).error;
  };
  expect_contains(error_with("ring", [](Algorithm& a) { a.keeps_order = [](const Task&) { return true; }; }),
                  "ring on 5 ranks, 5 nodes: it does not keep rank order, but its row says that it does");
  expect_contains(
      error_with("rabenseifner", [](Algorithm& a) { a.keeps_order = [](const Task&) { return false; }; }),
      "it keeps rank order, but its row says that it does not");
  expect_contains(
      error_with("ring", [](Algorithm& a) { a.has_fixed_tree = [](const Task&) { return true; }; }),
      "its results are not those of the fixed tree, but its row says that they are");
}

/// Two ranks that exchange blocks of private lengths, and take copies of what they send.
std::vector<Schedule> exchange_by_copies() {
  std::vector<Schedule> schedules;
  for (const int rank : {0, 1}) {
    Schedule schedule(2, rank, 2);
    const int peer = 1 - rank;
    const Slice leaving = scratch(schedule.add_scratch(0));
    const Slice arrived = scratch(schedule.add_scratch(0));
    schedule.copy(leaving, input(peer)).copy(output(rank), input(rank)).end_round();
    schedule.send(leaving, peer).recv(arrived, peer).end_round();
    schedule.copy(output(peer), arrived).end_round();
    schedules.push_back(schedule);
  }
  return schedules;
}

Proof proof_of_exchange(const std::vector<Schedule>& schedules, Collective collective) {
  return verify({.collective = collective}, schedules, Topology::flat(2));
}

TEST(Verify, TellsWhetherLengthsTravel) {
  EXPECT_EQ(proof_of_exchange(exchange_by_copies(), Collective::alltoallv).error, "");
  EXPECT_TRUE(proof_of_exchange(exchange_by_copies(), Collective::alltoallv).relays);
  EXPECT_FALSE(proof_of_exchange(exchange_by_copies(), Collective::alltoall).relays);
  const auto relays = [](Collective collective, std::string_view name) {
    return verify(usual_recipe(*find_algorithm(collective, name)), Topology::flat(5)).relays;
  };
  for (const Collective collective : {Collective::alltoallv, Collective::gatherv, Collective::scatterv})
    EXPECT_FALSE(relays(collective, "linear"));
  EXPECT_FALSE(relays(Collective::alltoallv, "pairwise"));
  EXPECT_TRUE(relays(Collective::alltoallv, "bruck"));
  EXPECT_TRUE(relays(Collective::gatherv, "binomial"));
  EXPECT_TRUE(relays(Collective::scatterv, "binomial"));
}

TEST(Verify, CatchesAScratchBlockOfTwoLengths) {
  auto schedules = exchange_by_copies();
  schedules[1].copy(scratch(0), input(1)).end_round();
  EXPECT_EQ(proof_of_exchange(schedules, Collective::alltoall).error, "");
  EXPECT_EQ(proof_of_exchange(schedules, Collective::alltoallv).error,
            "rank 1, round 3: copy s0=in1 writes s0 again, so its length is ambiguous");
}

TEST(Verify, CatchesAnOutputBlockOfTwoLengths) {
  std::vector<Schedule> schedules;
  for (Schedule& schedule : exchange_by_copies()) {
    const int rank = schedule.rank();
    schedules.emplace_back(2, rank, 2).copy(output(1 - rank), input(rank)).end_round();
    schedules.back().append(schedule, {.ranks = std::vector{0, 1}});
  }
  EXPECT_EQ(proof_of_exchange(schedules, Collective::alltoall).error, "");
  expect_contains(proof_of_exchange(schedules, Collective::alltoallv).error,
                  "rank 1, round 3: copy b0=s1 writes b0 again, so its length is ambiguous");
}

TEST(Verify, CatchesARowThatHidesThatItRelays) {
  for (const auto& [collective, name] : {std::pair{Collective::alltoallv, "bruck"},
                                         {Collective::gatherv, "binomial"},
                                         {Collective::scatterv, "binomial"}}) {
    Algorithm liar = *find_algorithm(collective, name);
    EXPECT_EQ(verify(Recipe{&liar, liar.usual_radix, 0, {}, {}}, Topology::flat(5)).error, "");
    liar.relays = false;
    expect_contains(verify(Recipe{&liar, liar.usual_radix, 0, {}, {}}, Topology::flat(5)).error,
                    "lengths must travel, but its row does not say that it relays");
  }
}

TEST(Verify, CatchesASchedulePutInTheWrongPlace) {
  auto schedules = swap_and_reduce();
  std::swap(schedules[0], schedules[1]);
  expect_contains(error_of(schedules), "its schedule is for another rank");
}

TEST(Ring, CrossesEachNodesLinkOnceInEachDirection) {
  const Topology by_node = Topology::from_labels({0, 1, 2, 0, 1, 2, 0, 1});
  for (int rank = 0; rank < by_node.ranks(); ++rank) {
    const Schedule schedule = build(usual("ring"), by_node, 0, rank);
    const int next = schedule.round(0)[0].peer;
    const bool leaves_node = by_node.node(next) != by_node.node(rank);
    const std::vector<int> last_of_node{6, 7, 5};
    EXPECT_EQ(leaves_node, std::count(last_of_node.begin(), last_of_node.end(), rank) == 1) << rank;
  }
}

TEST(Verify, CountsMessagesThatWaitForEachOther) {
  const auto depth = [](Collective collective, std::string_view name) {
    return verify(usual_recipe(*find_algorithm(collective, name)), Topology::flat(8)).depth;
  };
  EXPECT_EQ(depth(Collective::allreduce, "ring"), 14);
  EXPECT_EQ(depth(Collective::allreduce, "recursive_doubling"), 3);
  EXPECT_EQ(depth(Collective::bcast, "chain"), 7);
  EXPECT_EQ(depth(Collective::bcast, "linear"), 1);
  EXPECT_EQ(depth(Collective::reduce, "binomial"), 3);
}

TEST(Verify, CountsTheWorkOfTheBusiestRank) {
  const Proof ring = verify(usual("ring"), Topology::flat(8));
  EXPECT_EQ(ring.rounds, 14);
  EXPECT_EQ(ring.messages, 14);
  EXPECT_EQ(ring.between_nodes.blocks, 14);
  EXPECT_EQ(ring.link.blocks, 14);
  const Proof halving = verify(usual("rabenseifner"), Topology::flat(8));
  EXPECT_EQ(halving.rounds, 6);
  EXPECT_EQ(halving.between_nodes.blocks, 14);
  const Proof doubling = verify(usual("recursive_doubling"), Topology::from_labels({0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(doubling.rounds, 3);
  EXPECT_EQ(doubling.within_node.blocks, 2);
  EXPECT_EQ(doubling.between_nodes.messages, 1);
  EXPECT_EQ(doubling.link.messages, 4);
}

TEST(Verify, RefusesAtOnceWhatTakesTooMuchMemory) {
  for (const char* name : {"rabenseifner", "gather_scatter"}) {
    EXPECT_THROW(verify(usual(name), Topology::flat(1 << 20)), std::invalid_argument) << name;
  }
  EXPECT_THROW(verify(usual("pairwise"), Topology::flat(1 << 15)), std::invalid_argument);
}

}  // namespace
}  // namespace stretto
