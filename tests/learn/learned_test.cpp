// SPDX-License-Identifier: Apache-2.0
#include "learn/races/learned.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "select/table.hpp"
#include "text/json_reader.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

constexpr const char* library = "Open MPI 4.1.4";

Learned learned(std::size_t from, const std::string& spec, double seconds = 1, int nodes = 8) {
  return {.shape = {.collective = Collective::allreduce,
                    .bytes = from,
                    .ranks = nodes,
                    .nodes = nodes,
                    .min_ppn = 1,
                    .max_ppn = 1},
          .spec = parse_spec(Collective::allreduce, spec),
          .gain = 1.5,
          .seconds = seconds};
}

std::string spec_of(const Table& table, std::size_t bytes, int nodes = 8,
                    Collective collective = Collective::allreduce, Form form = Form::blocking) {
  const Table::Shape* shape = table.find_shape(nodes, 1, 1);
  if (shape == nullptr) return "no shape";
  const Table::Row* row = shape->find(collective, form, bytes);
  return row == nullptr ? "no row" : to_string(row->spec);
}

std::string one_shape() {
  return R"json({"format": "stretto-table", "version": 1, "mpi": "Open MPI 4.1.4", "network": "a net",
    "shapes": [{"nodes": 8, "ppn": 1,
      "bcast": [{"from": 0, "spec": "chain"}],
      "allreduce": [{"from": 0, "spec": "native", "library": "ring"},
                    {"from": "1536KiB", "spec": "ring", "gain": 1.25}]}],
    "notes": {"who": "I"}})json";
}

TEST(Learned, MakesATable) {
  const std::array all{learned(mebibyte, "ring:segments=7")};
  const Table table = parse_table(merge_learned("", library, all));
  EXPECT_EQ(table.mpi, library);
  ASSERT_EQ(table.shapes.size(), 1U);
  EXPECT_FALSE(table.shapes[0].modelled);
  EXPECT_EQ(spec_of(table, mebibyte), "ring:segments=7");
  EXPECT_EQ(spec_of(table, 2 * mebibyte - 1), "ring:segments=7");
  EXPECT_EQ(table.shapes[0].find(Collective::allreduce, Form::blocking, mebibyte)->gain, 1.5);
  // Outside of it the rule applies.
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{1024}, mebibyte - 1, 2 * mebibyte, 64 * mebibyte}) {
    EXPECT_EQ(spec_of(table, bytes), "no row") << bytes;
  }
  EXPECT_EQ(spec_of(table, mebibyte, 8, Collective::allreduce, Form::non_blocking), "no row");
}

TEST(Learned, SaysNothingOfSizesThatNobodyMeasured) {
  std::string text = one_shape();
  const std::string row = R"({"from": "1536KiB", )";
  text.replace(text.find(row), row.size(), row + R"("to": "3MiB", )");
  const std::array all{learned(2 * mebibyte, "rabenseifner"), learned(16 * mebibyte, "swing"),
                       learned(32 * mebibyte, "swing")};
  const Table table = parse_table(merge_learned(text, library, all));
  EXPECT_EQ(spec_of(table, (2 * mebibyte) - 1), "ring");
  EXPECT_EQ(spec_of(table, 2 * mebibyte), "rabenseifner");
  EXPECT_EQ(spec_of(table, (4 * mebibyte) - 1), "rabenseifner");
  EXPECT_EQ(spec_of(table, 4 * mebibyte), "no row");
  EXPECT_EQ(spec_of(table, 16 * mebibyte), "swing");
  EXPECT_EQ(spec_of(table, (64 * mebibyte) - 1), "swing");
  EXPECT_EQ(spec_of(table, 64 * mebibyte), "no row");
  EXPECT_EQ(table.shapes[0].rows_of(Collective::allreduce, Form::blocking).size(), 4U);
}

TEST(Learned, LeavesAllElseAsItWas) {
  const std::array all{learned(mebibyte, "rabenseifner")};
  const std::string text = merge_learned(one_shape(), library, all);
  const Table table = parse_table(text);
  EXPECT_EQ(table.network, "a net");
  EXPECT_EQ(nlohmann::json::parse(text)["notes"]["who"], "I");
  ASSERT_EQ(table.shapes.size(), 1U);
  EXPECT_EQ(spec_of(table, 5, 8, Collective::bcast), "chain");
  const auto rows = table.shapes[0].rows_of(Collective::allreduce, Form::blocking);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].library, "ring");
  EXPECT_EQ(rows[1].from, mebibyte);
  EXPECT_EQ(to_string(rows[1].spec), "rabenseifner");
  EXPECT_EQ(rows[2].from, 2 * mebibyte);
  EXPECT_EQ(to_string(rows[2].spec), "ring");
  EXPECT_EQ(rows[2].gain, 1.25);
}

TEST(Learned, ANewShapeKeepsWhatSpokeForIt) {
  const std::array all{learned(mebibyte, "rabenseifner", 1, 16)};
  const Table table = parse_table(merge_learned(one_shape(), library, all));
  ASSERT_EQ(table.shapes.size(), 2U);
  EXPECT_EQ(spec_of(table, mebibyte, 16), "rabenseifner");
  EXPECT_EQ(spec_of(table, 3 * mebibyte, 16), "ring");
  EXPECT_EQ(spec_of(table, 5, 16, Collective::bcast), "chain");
  EXPECT_EQ(spec_of(table, mebibyte, 8), "native");
}

TEST(Learned, OfTwoTheOneOfMoreSecondsCounts) {
  const std::array all{learned(mebibyte, "ring", 1), learned(mebibyte, "rabenseifner", 3),
                       learned(mebibyte, "recursive_doubling", 2)};
  EXPECT_EQ(spec_of(parse_table(merge_learned("", library, all)), mebibyte), "rabenseifner");
}

TEST(Learned, RefusesWhatIsNoTableOfThisLibrary) {
  const std::array all{learned(mebibyte, "ring")};
  EXPECT_THROW((void)merge_learned("{", library, all), FormatError);
  EXPECT_THROW((void)merge_learned(one_shape(), "MPICH 4.0.2", all), FormatError);
  EXPECT_THROW((void)merge_learned(one_shape(), "Open MPI 5.0.5", all), FormatError);
}

/// Anything learned, in any order: the table can be read, has what was learned, and stays the same if that
/// is merged again.
TEST(Learned, IsThereAfterwards) {
  std::mt19937 random(7);
  const std::array specs{"ring", "native", "rabenseifner:segment_bytes=64KiB", "recursive_doubling"};
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<Learned> all;
    for (int i = 0; i < 6; ++i) {
      all.push_back(learned(std::size_t{1} << (random() % 30), specs.at(random() % specs.size()), i + 1.0,
                            random() % 2 == 0 ? 8 : 4));
    }
    const std::string once = merge_learned(turn % 2 == 0 ? one_shape() : "", library, all);
    const Table table = parse_table(once);
    for (const Learned& one : all) {
      const bool is_last = std::ranges::none_of(all, [&](const Learned& other) {
        return other.shape.bytes == one.shape.bytes && other.shape.nodes == one.shape.nodes &&
               other.seconds > one.seconds;
      });
      if (!is_last) continue;
      EXPECT_EQ(spec_of(table, one.shape.bytes, one.shape.nodes), to_string(one.spec));
      EXPECT_EQ(spec_of(table, 2 * one.shape.bytes - 1, one.shape.nodes), to_string(one.spec));
    }
    EXPECT_EQ(merge_learned(once, library, all), once);
  }
}

}  // namespace
}  // namespace stretto
