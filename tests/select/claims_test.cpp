// SPDX-License-Identifier: Apache-2.0
#include "select/claims.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "../algorithms/topologies.hpp"

namespace stretto {
namespace {

Table::Shape with_row(const Spec& spec) {
  Table::Shape shape;
  Table::Row row;
  row.spec = spec;
  shape.rows[0][static_cast<std::size_t>(Collective::allreduce)].push_back(row);
  return shape;
}

/// Whatever sources say, the claim that decides is the first one with a spec. That spec can carry the call
/// out, and is `native` only where the library may be used or the user wants it.
TEST(Claims, TheFirstOneWithASpecDecides) {
  std::mt19937 random(1);
  const auto chance = [&] { return random() % 2 == 0; };
  std::vector<Spec> specs;
  for (const char* text : {"native", "native:segments=4", "ring", "ring:segments=8", "multilane", "smp(ring)",
                           "recursive_doubling", "rabenseifner", "pairwise"})
    specs.push_back(parse_spec(Collective::allreduce, text));
  for (int i = 0; i < 5000; ++i) {
    const Topology topology = ragged_nodes(random, 1 + static_cast<int>(random() % 6), 1, 4);
    const Spec& wanted = specs[random() % specs.size()];
    const Finding learnt{.spec = specs[random() % specs.size()], .seconds = chance() ? 0.1 : 0};
    const Table::Shape table = with_row(specs[random() % specs.size()]);
    std::vector<Finding> modelled;
    while (chance()) modelled.push_back({.spec = specs[random() % specs.size()], .seconds = 0.1});
    const bool has_library = chance();
    Question question{.call = shape_of(Collective::allreduce, std::size_t{1} << random() % 30, topology),
                      .topology = topology,
                      .has_library = has_library,
                      .must_avoid_library = !has_library || random() % 4 == 0,
                      .learning = {.online = Online(random() % 3),
                                   .reproducible = random() % 4 == 0,
                                   .check = random() % 8 == 0},
                      .least_learnt = std::size_t{1} << random() % 20,
                      .wanted = chance() ? &wanted : nullptr,
                      .table = chance() ? &table : nullptr,
                      .learnt = chance() ? &learnt : nullptr,
                      .modelled = modelled};
    question.call.commutative = random() % 4 != 0;
    const Claim claim = decide(question);
    ASSERT_TRUE(claim.spec.has_value());
    const std::vector<Claim> all = all_claims(question);
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Claim::source));
    EXPECT_EQ(all.size(), 4 + std::max<std::size_t>(modelled.size(), 1));
    const auto first = std::ranges::find_if(all, [](const Claim& one) { return one.spec.has_value(); });
    ASSERT_NE(first, all.end());
    EXPECT_EQ(first->source, claim.source);
    EXPECT_EQ(*first->spec, *claim.spec);
    for (const Claim& other : all) EXPECT_FALSE(!other.unused.empty() && other.spec) << other.unused;
    EXPECT_EQ(claim.source == Source::forced, question.wanted != nullptr);
    EXPECT_EQ(why_unsupported(*claim.spec, question), "") << to_string(*claim.spec);
    const bool is_wanted = question.wanted != nullptr && *claim.spec == *question.wanted;
    EXPECT_FALSE(claim.spec->is_native() && question.must_avoid_library && !is_wanted)
        << name_of(claim.source);
  }
}

/// A spec that cannot be is refused with its reason, and something else is used.
TEST(Claims, SayWhyASpecIsRefused) {
  const Topology topology = Topology::flat(3);
  const Spec native;
  const Spec multilane = parse_spec(Collective::allreduce, "multilane");
  Question question{.call = shape_of(Collective::allreduce, 1 << 20, topology), .topology = topology};
  question.wanted = &multilane;
  EXPECT_TRUE(decide(question).spec->is_native());
  EXPECT_TRUE(decide(question).refusal.starts_with("does not fit: ")) << decide(question).refusal;
  question.has_library = false;
  question.must_avoid_library = true;
  EXPECT_FALSE(decide(question).spec->is_native());
  question.wanted = &native;
  EXPECT_FALSE(decide(question).spec->is_native());
  EXPECT_EQ(decide(question).refusal, "is not possible: the job has no MPI library");
  EXPECT_EQ(decide(question).source, Source::forced);
}

/// What a job finds out counts only where the settings, the network and the call's length let it.
TEST(Claims, SayWhyFindingsDoNotCount) {
  const Topology topology = Topology::flat(3);
  const Finding ring{.spec = parse_spec(Collective::allreduce, "ring"), .seconds = 0.1};
  Question question{.call = shape_of(Collective::allreduce, 1 << 20, topology), .topology = topology};
  question.learnt = &ring;
  question.modelled = {&ring, 1};
  EXPECT_EQ(decide(question).source, Source::learnt);
  EXPECT_FALSE(is_compared(decide(question), all_claims(question), question));
  question.learning.online = Online::freeze;
  EXPECT_EQ(why_unused(Source::learnt, question), "");
  EXPECT_EQ(why_unused(Source::model, question), "STRETTO_ONLINE=freeze");
  question.learnt = nullptr;
  EXPECT_EQ(decide(question).source, Source::rule);
  question.learning.online = Online::guard;
  EXPECT_EQ(decide(question).source, Source::model);
  EXPECT_TRUE(is_compared(decide(question), all_claims(question), question));
  question.least_learnt = 1 << 20;  // such a call may still learn
  EXPECT_EQ(why_unused(Source::model, question), "");
  question.least_learnt = 2 << 20;
  EXPECT_EQ(decide(question).source, Source::rule);
  EXPECT_EQ(why_unused(Source::model, question), "calls below 2MiB have a race with the MPI library instead");
  question.learning.reproducible = true;
  EXPECT_EQ(why_unused(Source::learnt, question), "STRETTO_REPRODUCIBLE=1");
  question.learning = {};
  question.has_library = false;
  question.must_avoid_library = true;
  EXPECT_EQ(decide(question).source, Source::model);
  EXPECT_TRUE(is_compared(decide(question), all_claims(question), question));
  question.learning.online = Online::freeze;
  EXPECT_FALSE(is_compared(decide(question), all_claims(question), question));
}

/// Without MPI, the next claims challenge the choice: other specs, once each, and none that the model expects
/// to take much longer.
TEST(Claims, TheNextOnesAreChallengers) {
  const Topology topology = Topology::flat(8);
  const auto finding = [](const char* spec, double seconds) {
    return Finding{.spec = parse_spec(Collective::allreduce, spec), .seconds = seconds};
  };
  const std::vector<Finding> modelled{finding("ring", 1), finding("rabenseifner", 1.5), finding("ring", 1),
                                      finding("knomial:radix=4", 4)};
  Question question{.call = shape_of(Collective::allreduce, 4096, topology),
                    .topology = topology,
                    .has_library = false,
                    .must_avoid_library = true,
                    .modelled = modelled};
  const Spec rule = *all_claims(question).back().spec;
  const auto challengers = [&](bool has_library) {
    std::vector<Spec> specs;
    for (const Candidate& one : challengers_of(all_claims(question), has_library)) specs.push_back(one.spec);
    return specs;
  };
  EXPECT_EQ(challengers(false), (std::vector<Spec>{rule, modelled[1].spec}));
  EXPECT_EQ(challengers(true), (std::vector<Spec>{modelled[1].spec}));
  EXPECT_DOUBLE_EQ(challengers_of(all_claims(question), true).front().expected, 1.5);
  const Finding learnt = finding("circulant", 1);
  question.learnt = &learnt;
  EXPECT_EQ(challengers(false), (std::vector<Spec>{rule, modelled[0].spec, modelled[1].spec}));
  question.wanted = &learnt.spec;
  EXPECT_TRUE(challengers(false).empty());
  EXPECT_TRUE(challengers(true).empty());
}

/// A finding is for a kind of calls, and must serve the longest one.
TEST(Claims, AFindingServesAllCallsOfItsKind) {
  const Topology topology = Topology::flat(3);
  const Finding whole{.spec = parse_spec(Collective::alltoall, "bruck")};
  const std::size_t most = Pipelining::most_segment_bytes;
  Question question{.call = shape_of(Collective::alltoall, most, topology), .topology = topology};
  ASSERT_TRUE(whole.spec.recipe.algorithm->stays_whole());
  EXPECT_EQ(why_unsupported(whole.spec, question), "");
  question.learnt = &whole;
  EXPECT_EQ(decide(question).source, Source::rule);
  question.call.bytes = most / 2;
  EXPECT_EQ(decide(question).source, Source::learnt);
}

}  // namespace
}  // namespace stretto
