// SPDX-License-Identifier: Apache-2.0
#include "learn/races/length_race.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "algorithms/registry.hpp"

namespace stretto {
namespace {

const Spec lanes = parse_spec(Collective::alltoallv, "multilane");
const Spec pairs = parse_spec(Collective::alltoallv, "pairwise");

struct Made {
  double bytes;
  double seconds;
};
/// Returns the bytes that the call of this number moves, and its time by a spec.
using Program = std::function<Made(std::size_t call, const Spec& spec)>;

/// Makes calls on some ranks until the race rests. Returns how many were by a spec.
std::size_t run(std::vector<LengthRace>& ranks, const std::vector<Program>& programs, const Spec& proposal) {
  std::size_t by_spec = 0;
  for (std::size_t call = 0; !ranks[0].is_quiet(); ++call) {
    if (ranks[0].wants_agreement()) {
      std::vector<double> maxima = ranks[0].figures();
      for (const LengthRace& rank : ranks) {
        const std::vector<double> own = rank.figures();
        for (std::size_t i = 0; i < own.size(); ++i) maxima[i] = std::max(maxima[i], own[i]);
      }
      for (LengthRace& rank : ranks) {
        EXPECT_TRUE(rank.wants_agreement());
        rank.agree(maxima);
        if (rank.wants_spec()) rank.propose(proposal);
      }
      continue;
    }
    const Spec spec = ranks[0].next();
    by_spec += spec.is_native() ? 0 : 1;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(ranks[rank].next(), spec);
      const Made made = programs[rank](call, spec);
      ranks[rank].count(made.bytes, made.seconds);
    }
  }
  return by_spec;
}

std::size_t run(LengthRace& race, const Program& program, const Spec& proposal = lanes) {
  std::vector<LengthRace> ranks{race};
  const std::size_t by_spec = run(ranks, {program}, proposal);
  race = ranks[0];
  return by_spec;
}

std::uint64_t rest_of(LengthRace& race) {
  std::uint64_t calls = 0;
  for (; race.is_quiet(); ++calls) race.pass();
  return calls;
}

Program constant(double native_seconds, double spec_seconds) {
  return [=](std::size_t, const Spec& spec) {
    return Made{1000, spec.is_native() ? native_seconds : spec_seconds};
  };
}

TEST(LengthRace, BeginsWithTheLibrary) {
  const LengthRace race;
  EXPECT_TRUE(race.next().is_native());
  EXPECT_FALSE(race.is_quiet());
  EXPECT_FALSE(race.wants_agreement());
}

TEST(LengthRace, TheFasterOneWins) {
  LengthRace race;
  run(race, constant(2e-3, 1e-3));
  EXPECT_EQ(race.next(), lanes);
  LengthRace other;
  run(other, constant(1e-3, 1.2e-3));
  EXPECT_TRUE(other.next().is_native());
}

TEST(LengthRace, AsFastIsNotEnough) {
  LengthRace race;
  run(race, constant(1e-3, 0.99e-3));
  EXPECT_TRUE(race.next().is_native());
}

TEST(LengthRace, WhatIsPlainlySlowerIsGivenUpSoon) {
  LengthRace race;
  EXPECT_EQ(run(race, constant(1e-3, 9e-3)), policies::private_lengths[0].turns.size() / 2);
  EXPECT_TRUE(race.next().is_native());
}

TEST(LengthRace, TheProposalFollowsTheUsualLengthOnTheBusiestRank) {
  std::vector<LengthRace> ranks(2);
  for (std::size_t call = 0; call < LengthRace::looks; ++call) {
    // A single long call does not count as usual.
    ranks[0].count(call == 3 ? 1e9 : 10, 1e-3);
    ranks[1].count(5000, 1e-3);
  }
  std::vector<double> maxima = ranks[0].figures();
  const std::vector<double> other = ranks[1].figures();
  for (std::size_t i = 0; i < maxima.size(); ++i) maxima[i] = std::max(maxima[i], other[i]);
  for (LengthRace& rank : ranks) {
    ASSERT_TRUE(rank.wants_agreement());
    rank.agree(maxima);
    ASSERT_TRUE(rank.wants_spec());
    EXPECT_EQ(rank.usual_bytes(), 5000);
  }
}

TEST(LengthRace, WithoutAProposalTheLibraryStays) {
  LengthRace race;
  EXPECT_EQ(run(race, constant(2e-3, 1e-3), Spec{}), 0U);
  EXPECT_TRUE(race.next().is_native());
  EXPECT_EQ(rest_of(race), policies::rest_of_private_lengths.first - LengthRace::looks);
}

TEST(LengthRace, EmptyCallsAreCallsToo) {
  LengthRace race;
  run(race, [](std::size_t, const Spec& spec) { return Made{0, spec.is_native() ? 2e-6 : 1e-6}; });
  EXPECT_EQ(race.next(), lanes);
}

TEST(LengthRace, AMixOfLengthsIsComparedByClass) {
  // Long calls come in such an order that the spec gets most of them. The spec takes 0.8 times as long for
  // each length, but far longer in all.
  std::size_t of_native = 0;
  LengthRace race;
  run(race, [&](std::size_t, const Spec& spec) {
    const bool is_long = !spec.is_native() || of_native++ % 3 == 0;
    const double seconds = is_long ? 1e-1 : 1e-4;
    return Made{is_long ? 1e7 : 1e3, spec.is_native() ? seconds : 0.8 * seconds};
  });
  EXPECT_EQ(race.next(), lanes);
}

TEST(LengthRace, LengthsThatOnlyOneSideHadDecideNothing) {
  LengthRace race;
  run(race, [](std::size_t, const Spec& spec) {
    return spec.is_native() ? Made{1e7, 1e-1} : Made{1e3, 1e-4};
  });
  EXPECT_TRUE(race.next().is_native());
}

TEST(LengthRace, SingleSlowCallsDoNotCount) {
  LengthRace race;
  run(race, [](std::size_t call, const Spec& spec) {
    return Made{1000, call % 11 == 0 ? 1.0 : spec.is_native() ? 2e-3 : 1e-3};
  });
  EXPECT_EQ(race.next(), lanes);
}

TEST(LengthRace, AClockThatJumpsDecidesNothing) {
  LengthRace race;
  run(race, constant(-1, -2));
  EXPECT_TRUE(race.next().is_native());
}

TEST(LengthRace, AllRanksDecideAlike) {
  std::vector<LengthRace> ranks(3);
  std::vector<Program> programs;
  for (int rank = 0; rank < 3; ++rank) {
    programs.emplace_back([rank](std::size_t call, const Spec& spec) {
      const double noise = 1 + 0.1 * static_cast<double>((call * 7 + static_cast<std::size_t>(rank) * 5) % 4);
      return Made{1000.0 * (rank + 1), noise * (spec.is_native() ? 2e-3 : 1e-3)};
    });
  }
  run(ranks, programs, lanes);
  for (const LengthRace& rank : ranks) EXPECT_EQ(rank.next(), lanes);
}

TEST(LengthRace, ItsLossIsPaidByTheRest) {
  LengthRace race;
  for (int i = 0; i < 6; ++i) {
    const std::size_t by_spec = run(race, constant(1e-3, 1.4e-3));
    const double lost = static_cast<double>(by_spec) * 0.4;
    const std::uint64_t rest = rest_of(race);
    EXPECT_LE(lost, 0.0051 * static_cast<double>(rest)) << i;
    EXPECT_LE(rest, policies::rest_of_private_lengths.longest);
  }
}

TEST(LengthRace, OtherLengthsGetAnotherSpec) {
  LengthRace race;
  run(race, constant(2e-3, 1e-3));
  rest_of(race);
  EXPECT_EQ(race.next(), lanes) << "while lengths are looked at, what is in force stays so";
  run(race, constant(2e-3, 1e-3), pairs);
  EXPECT_EQ(race.next(), pairs);
  rest_of(race);
  run(race, constant(1e-3, 2e-3), pairs);
  EXPECT_TRUE(race.next().is_native());
}

}  // namespace
}  // namespace stretto
