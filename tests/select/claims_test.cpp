// SPDX-License-Identifier: Apache-2.0
#include "select/claims.hpp"

#include <gtest/gtest.h>

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
    const Spec& learnt = specs[random() % specs.size()];
    const Table::Shape table = with_row(specs[random() % specs.size()]);
    const Table::Shape modelled = with_row(specs[random() % specs.size()]);
    const bool has_library = chance();
    Question asked{.call = shape_of(Collective::allreduce, std::size_t{1} << random() % 30, topology),
                   .topology = topology,
                   .has_library = has_library,
                   .must_avoid_library = !has_library || random() % 4 == 0,
                   .is_reproducible = random() % 4 == 0,
                   .wanted = chance() ? &wanted : nullptr,
                   .table = chance() ? &table : nullptr,
                   .learnt = chance() ? &learnt : nullptr,
                   .modelled = chance() ? &modelled : nullptr};
    asked.call.commutative = random() % 4 != 0;
    const Claim claim = decide(asked);
    ASSERT_TRUE(claim.spec.has_value());
    for (const Claim& other : all_claims(asked)) {
      if (!other.spec) continue;
      EXPECT_EQ(other.source, claim.source);
      EXPECT_EQ(*other.spec, *claim.spec);
      break;
    }
    EXPECT_EQ(claim.source == Source::forced, asked.wanted != nullptr);
    EXPECT_EQ(why_unsupported(*claim.spec, asked), "") << to_string(*claim.spec);
    const bool is_wanted = asked.wanted != nullptr && *claim.spec == *asked.wanted;
    EXPECT_FALSE(claim.spec->is_native() && asked.must_avoid_library && !is_wanted) << name_of(claim.source);
  }
}

/// A spec that cannot be is refused with its reason, and something else is used.
TEST(Claims, SayWhyASpecIsRefused) {
  const Topology topology = Topology::flat(3);
  const Spec native;
  const Spec multilane = parse_spec(Collective::allreduce, "multilane");
  Question asked{.call = shape_of(Collective::allreduce, 1 << 20, topology), .topology = topology};
  asked.wanted = &multilane;
  EXPECT_TRUE(decide(asked).spec->is_native());
  EXPECT_TRUE(decide(asked).refusal.starts_with("does not fit: ")) << decide(asked).refusal;
  asked.has_library = false;
  asked.must_avoid_library = true;
  EXPECT_FALSE(decide(asked).spec->is_native());
  asked.wanted = &native;
  EXPECT_FALSE(decide(asked).spec->is_native());
  EXPECT_EQ(decide(asked).refusal, "is not possible: the job has no MPI library");
  EXPECT_EQ(decide(asked).source, Source::forced);
}

}  // namespace
}  // namespace stretto
