// SPDX-License-Identifier: Apache-2.0
#include "select/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "text/json_reader.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

using nlohmann::json;

/// A table with every field.
json whole_table() {
  return json::parse(R"json({
    "format": "stretto-table", "version": 1, "mpi": "Open MPI 4.1.4", "network": "tcp 200mbit",
    "shapes": [
      {"nodes": 8, "ppn": 1,
       "allreduce": [
         {"from": 0, "spec": "native"},
         {"from": "4KiB", "spec": "native", "library": "recursive_doubling"},
         {"from": "64KiB", "spec": "ring:segment_bytes=256KiB", "gain": 1.93}],
       "iallreduce": [{"from": 0, "spec": "recursive_doubling"}],
       "reduce_scatter_init": [{"from": 0, "spec": "native:segments=2"}]},
      {"nodes": 16, "ppn": 4, "min_ppn": 3, "modelled": true, "bcast": [{"from": 0, "spec": "smp(chain)"}]}],
    "notes": {"points": [1, 2, {"x": null}]}})json");
}

std::string error_of(const json& table) {
  try {
    (void)parse_table(table.dump());
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

/// The error about the table with this text in that place.
std::string error_with(const std::string& place, const json& value) {
  json table = whole_table();
  table[json::json_pointer(place)] = value;
  return error_of(table);
}

std::string error_without(const std::string& place) {
  const json::json_pointer pointer(place);
  json table = whole_table();
  table[pointer.parent_pointer()].erase(pointer.back());
  return error_of(table);
}

TEST(Table, HoldsWhatTheFileSays) {
  const Table table = parse_table(whole_table().dump());
  EXPECT_EQ(table.mpi, "Open MPI 4.1.4");
  EXPECT_EQ(table.network, "tcp 200mbit");
  ASSERT_EQ(table.shapes.size(), 2U);
  const Table::Shape& shape = table.shapes[0];
  EXPECT_EQ(std::tuple(shape.nodes, shape.ppn, shape.min_ppn, shape.modelled), std::tuple(8, 1, 1, false));
  const auto rows = shape.rows_of(Collective::allreduce, Form::blocking);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].from, 4096U);
  EXPECT_EQ(rows[1].library, "recursive_doubling");
  EXPECT_EQ(to_string(rows[2].spec), "ring:segment_bytes=256KiB");
  EXPECT_EQ(rows[2].gain, 1.93);
  EXPECT_EQ(rows[0].gain, 0);
  EXPECT_EQ(shape.rows_of(Collective::reduce_scatter, Form::persistent).size(), 1U);
  EXPECT_TRUE(shape.rows_of(Collective::reduce_scatter, Form::blocking).empty());
  const Table::Shape& ragged = table.shapes[1];
  EXPECT_EQ(std::tuple(ragged.nodes, ragged.ppn, ragged.min_ppn, ragged.modelled),
            std::tuple(16, 4, 3, true));
}

TEST(Table, SaysNothingBeyondWhatARowSaysItHoldsFor) {
  const std::string place = "/shapes/0/allreduce";
  json text = whole_table();
  text[json::json_pointer(place)] = json::parse(R"([
    {"from": 64, "spec": "native"}, {"from": "1KiB", "to": "4KiB", "spec": "recursive_doubling"},
    {"from": "64KiB", "to": "16MiB", "spec": "ring"}])");
  const Table table = parse_table(text.dump());
  const auto spec_of = [&](std::size_t bytes) {
    const Table::Row* row = table.shapes[0].find(Collective::allreduce, Form::blocking, bytes);
    return row == nullptr ? "" : to_string(row->spec);
  };
  EXPECT_EQ(spec_of(63), "");
  EXPECT_EQ(spec_of(64), "native");
  EXPECT_EQ(spec_of(kibibyte - 1), "native");
  EXPECT_EQ(spec_of(4 * kibibyte), "recursive_doubling");
  EXPECT_EQ(spec_of((4 * kibibyte) + 1), "");
  EXPECT_EQ(spec_of((64 * kibibyte) - 1), "");
  EXPECT_EQ(spec_of(16 * kibibyte * kibibyte), "ring");
  EXPECT_EQ(spec_of((16 * kibibyte * kibibyte) + 1), "");
}

TEST(Table, EveryCallMayHaveItsList) {
  json table = whole_table();
  for (const Collective collective : collectives) {
    for (const Form form : forms) {
      table["shapes"][0][name_of(collective, form)] = json::parse(R"([{"from": 0, "spec": "native"}])");
    }
  }
  const Table read = parse_table(table.dump());
  for (const Collective collective : collectives) {
    for (const Form form : forms) EXPECT_EQ(read.shapes[0].rows_of(collective, form).size(), 1U);
  }
}

TEST(Table, SaysWhatIsWrongWhereAndWhatWouldBeRight) {
  EXPECT_EQ(error_of(json::array()), "expected an object {...}, not a list");
  EXPECT_EQ(error_with("/format", "stretto-machine"),
            R"(format: expected "stretto-table", not "stretto-machine")");
  EXPECT_EQ(error_with("/version", 2), "version: this Stretto reads version 1, not 2");
  EXPECT_EQ(error_without("/mpi"), R"(there is no "mpi")");
  EXPECT_EQ(
      error_with("/mpi", "LAM/MPI 7.1"),
      "mpi: expected a name such as Open MPI 4.1.4, MPICH 4.0.2 or Intel MPI 2021.13, not \"LAM/MPI 7.1\"");
  EXPECT_EQ(error_with("/network", 5), "network: expected a string, not 5");
  EXPECT_EQ(error_without("/shapes"), R"(there is no "shapes")");
  EXPECT_EQ(error_with("/shapes", json::object()), "shapes: expected a list [...], not an object");
  EXPECT_EQ(error_with("/colour", "red"),
            "colour: there is no such key; there are format, version, mpi, network, shapes, notes");
  EXPECT_EQ(error_with("/shapes/1/nodes", 0),
            "shapes[1].nodes: expected a whole number from 1 to 1048576, not 0");
  EXPECT_EQ(error_with("/shapes/1/ppn", -3),
            "shapes[1].ppn: expected a whole number from 1 to 65536, not -3");
  EXPECT_EQ(error_with("/shapes/1/min_ppn", 5),
            "shapes[1].min_ppn: expected a whole number from 1 to 4, not 5");
  EXPECT_EQ(error_with("/shapes/1/modelled", 1), "shapes[1].modelled: expected true or false, not 1");
  EXPECT_EQ(error_without("/shapes/1/ppn"), R"(shapes[1]: there is no "ppn")");
  EXPECT_EQ(error_with("/shapes/1/alreduce", json::array()),
            "shapes[1].alreduce: there is no such key (did you mean allreduce?)");
  EXPECT_EQ(error_with("/shapes/1", whole_table()["shapes"][0]),
            "shapes[1]: has the same nodes and ppn as shapes[0]");
}

TEST(Table, SaysWhatIsWrongWithARow) {
  const std::string list = "/shapes/0/allreduce";
  EXPECT_EQ(error_with(list, json::array()),
            "shapes[0].allreduce: expected at least one row, or no such list");
  EXPECT_EQ(error_with(list + "/0", "native"),
            "shapes[0].allreduce[0]: expected an object {...}, not \"native\"");
  EXPECT_EQ(error_with(list + "/2/to", "32KiB"),
            "shapes[0].allreduce[2].to: expected 64KiB or more, where the row begins, not 32KiB");
  EXPECT_EQ(error_with(list + "/1/to", "64KiB"),
            "shapes[0].allreduce[2].from: expected more than 64KiB, where the row before begins or ends, not "
            "64KiB");
  EXPECT_EQ(
      error_with(list + "/2/from", "4KiB"),
      "shapes[0].allreduce[2].from: expected more than 4KiB, where the row before begins or ends, not 4KiB");
  EXPECT_EQ(
      error_with(list + "/1/from", "64KB"),
      "shapes[0].allreduce[1].from: expected a number of bytes from 0 to 1048576GiB (an integer, or a string "
      "such as \"64KiB\"), not \"64KB\"");
  EXPECT_TRUE(
      error_with(list + "/1/spec", "rnig")
          .starts_with(
              "shapes[0].allreduce[1].spec: spec \"rnig\": there is no allreduce algorithm \"rnig\""));
  EXPECT_TRUE(error_with("/shapes/1/bcast/0/spec", "ring").find("there is no bcast algorithm") !=
              std::string::npos);
  EXPECT_EQ(error_with(list + "/1/spec", "ring"),
            "shapes[0].allreduce[1].library: belongs to the spec native, not to ring");
  EXPECT_EQ(error_with(list + "/2/gain", 0), "shapes[0].allreduce[2].gain: expected a number above 0, not 0");
  EXPECT_EQ(error_without(list + "/2/spec"), R"(shapes[0].allreduce[2]: there is no "spec")");
  EXPECT_EQ(error_with(list + "/2/speck", 1),
            "shapes[0].allreduce[2].speck: there is no such key (did you mean spec?)");
  EXPECT_EQ(error_with(list + "/2/seconds", 1),
            "shapes[0].allreduce[2].seconds: there is no such key; there are from, to, spec, library, gain");
}

TEST(Table, WhatIsTooMuchIsRefused) {
  json many = json::array();
  for (int i = 0; i < 1025; ++i) many.push_back({{"from", i}, {"spec", "native"}});
  EXPECT_EQ(error_with("/shapes/0/bcast", many), "shapes[0].bcast: expected at most 1024 elements, not 1025");
  json shapes = json::array();
  for (int i = 1; i <= 1025; ++i) shapes.push_back({{"nodes", i}, {"ppn", 1}});
  EXPECT_EQ(error_with("/shapes", shapes), "shapes: expected at most 1024 elements, not 1025");
  EXPECT_TRUE(error_with("/shapes/1/bcast/0/spec", std::string(1000, 'x'))
                  .starts_with("shapes[1].bcast[0].spec: expected a string of at most 200 bytes"));
}

TEST(Table, IsRefusedOnAnotherLibrary) {
  const Table table = parse_table(whole_table().dump());
  const TableFit same = find_fit(table, "Open MPI v4.1.4, package: Debian OpenMPI");
  EXPECT_FALSE(same.is_refused);
  EXPECT_EQ(same.remark, "");
  const TableFit newer = find_fit(table, "Open MPI v4.1.6, package: x");
  EXPECT_FALSE(newer.is_refused);
  EXPECT_EQ(newer.remark, "was made on Open MPI 4.1.4, and this is Open MPI 4.1.6");
  const TableFit other = find_fit(table, "MPICH Version:      4.0.2\nMPICH Release date: x");
  EXPECT_TRUE(other.is_refused);
  EXPECT_EQ(other.remark, "was made on Open MPI 4.1.4, and this is MPICH 4.0.2");
  const TableFit unknown = find_fit(table, "MVAPICH2 Version 2.3.7\nmore");
  EXPECT_TRUE(unknown.is_refused);
  EXPECT_EQ(unknown.remark, "was made on Open MPI 4.1.4, and this is MVAPICH2 Version 2.3.7");
}

/// A table with shapes of these nodes, ppn, min_ppn and modelled.
Table table_of(const std::vector<std::tuple<int, int, int, bool>>& shapes) {
  Table table;
  for (const auto& [nodes, ppn, min_ppn, modelled] : shapes) {
    Table::Shape shape;
    shape.nodes = nodes;
    shape.ppn = ppn;
    shape.min_ppn = min_ppn;
    shape.modelled = modelled;
    table.shapes.push_back(shape);
  }
  return table;
}

TEST(Table, TheNearestShapeSpeaks) {
  const auto nodes_for = [](const Table& table, int nodes, int min_ppn, int max_ppn) {
    const Table::Shape* shape = table.find_shape(nodes, min_ppn, max_ppn);
    return shape == nullptr ? 0 : shape->nodes;
  };
  const Table table = table_of({{1, 1, 1, false}, {8, 1, 1, false}, {12, 1, 1, true}, {8, 4, 4, false}});
  EXPECT_EQ(nodes_for(table, 8, 1, 1), 8);
  EXPECT_EQ(nodes_for(table, 12, 1, 1), 12);  // an exact shape counts, modelled or not
  EXPECT_EQ(nodes_for(table, 9, 1, 1), 8);
  EXPECT_EQ(nodes_for(table, 10, 1, 1), 12);
  EXPECT_EQ(nodes_for(table, 4, 1, 1), 8);
  EXPECT_EQ(nodes_for(table, 24, 1, 1), 12);
  EXPECT_EQ(nodes_for(table, 25, 1, 1), 0);
  EXPECT_EQ(nodes_for(table, 3, 1, 1), 0);
  EXPECT_EQ(nodes_for(table, 2, 1, 1), 0);  // one node has no network
  EXPECT_EQ(nodes_for(table, 1, 1, 1), 1);
  EXPECT_EQ(nodes_for(table, 8, 3, 4), 8);
  EXPECT_EQ(nodes_for(table, 8, 1, 4), 0);
  EXPECT_EQ(nodes_for(table, 8, 2, 2), 0);
  // 4 and 16 are equally distant from 8: a measured shape is preferred, then the smaller one.
  EXPECT_EQ(nodes_for(table_of({{4, 1, 1, true}, {16, 1, 1, false}}), 8, 1, 1), 16);
  EXPECT_EQ(nodes_for(table_of({{16, 1, 1, false}, {4, 1, 1, false}}), 8, 1, 1), 4);
}

// Properties, over random tables.

class RandomTables : public ::testing::Test {
 protected:
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

  /// Returns a table as text, so that the test includes the reader.
  json make_table() {
    json table = {
        {"format", "stretto-table"}, {"version", 1}, {"mpi", "MPICH 4.0.2"}, {"shapes", json::array()}};
    std::set<std::tuple<int, int, int>> there;
    for (int i = below(12); i > 0; --i) {
      const int nodes = 1 + below(40);
      const int ppn = 1 + below(3);
      const int min_ppn = 1 + below(ppn);
      if (!there.insert({nodes, ppn, min_ppn}).second) continue;
      json shape = {{"nodes", nodes}, {"ppn", ppn}, {"min_ppn", min_ppn}, {"modelled", below(2) == 0}};
      for (const Collective collective : collectives) {
        for (const Form form : forms) {
          if (below(3) == 0) shape[name_of(collective, form)] = make_rows(collective);
        }
      }
      table["shapes"].push_back(shape);
    }
    return table;
  }

  json make_rows(Collective collective) {
    const std::vector<Recipe> recipes = sample_recipes(collective);
    json rows = json::array();
    std::size_t from = below(3) == 0 ? random_() % 1000 : 0;
    for (int i = 1 + below(8); i > 0; --i) {
      Spec spec;
      if (below(3) != 0) spec.recipe = recipes[random_() % recipes.size()];
      if (below(2) == 0) spec.pipelining.segments = 1 + below(100);
      rows.push_back({{"from", from}, {"spec", to_string(spec)}});
      const std::size_t bytes = 1 + (random_() % 100) * (std::size_t{1} << below(20));
      if (below(3) == 0) rows.back()["to"] = from + (random_() % bytes);
      from += bytes;
    }
    return rows;
  }

  std::mt19937_64 random_{42};
};

/// The spec in the list of a shape, found by a plain search; empty: none.
std::string scan(const json& shape, const std::string& call, std::size_t bytes) {
  std::string spec;
  if (!shape.contains(call)) return spec;
  for (const json& row : shape[call]) {
    if (row["from"].get<std::size_t>() > bytes) break;
    spec = row.value("to", bytes) < bytes ? "" : row["spec"].get<std::string>();
  }
  return spec;
}

TEST_F(RandomTables, ALookupFindsWhatAScanFinds) {
  for (int turn = 0; turn < 200; ++turn) {
    const json text = make_table();
    const Table table = parse_table(text.dump());
    for (std::size_t i = 0; i < table.shapes.size(); ++i) {
      for (const Collective collective : collectives) {
        for (const Form form : forms) {
          for (int call = 0; call < 4; ++call) {
            std::size_t bytes = random_() >> (20 + below(44));
            const auto rows = table.shapes[i].rows_of(collective, form);
            // The first and last size of a row, and the sizes next to them.
            if (!rows.empty() && below(2) == 0) {
              const Table::Row& row = rows[random_() % rows.size()];
              bytes = below(2) == 0 ? row.from : row.to;
            }
            if (bytes > 0 && below(3) == 0) --bytes;
            if (bytes < SIZE_MAX && below(3) == 0) ++bytes;
            const Table::Row* row = table.shapes[i].find(collective, form, bytes);
            EXPECT_EQ(row == nullptr ? "" : to_string(row->spec),
                      scan(text["shapes"][i], name_of(collective, form), bytes));
          }
        }
      }
    }
  }
}

TEST_F(RandomTables, TheShapeIsTheFirstOfAllByNearness) {
  for (int turn = 0; turn < 500; ++turn) {
    const Table table = parse_table(make_table().dump());
    for (int job = 0; job < 20; ++job) {
      const int nodes = 1 + below(60);
      const int max_ppn = 1 + below(3);
      const int min_ppn = 1 + below(max_ppn);
      using Nearness = std::tuple<double, int, bool, int>;
      std::vector<std::pair<Nearness, const Table::Shape*>> near;
      for (const Table::Shape& shape : table.shapes) {
        const double factor = double(std::max(shape.nodes, nodes)) / double(std::min(shape.nodes, nodes));
        if (factor > 2 || shape.ppn != max_ppn || (shape.nodes > 1) != (nodes > 1) ||
            (shape.min_ppn > 1) != (min_ppn > 1)) {
          continue;
        }
        near.push_back({{factor, std::abs(shape.min_ppn - min_ppn), shape.modelled, shape.nodes}, &shape});
      }
      const Table::Shape* found = table.find_shape(nodes, min_ppn, max_ppn);
      ASSERT_EQ(found == nullptr, near.empty());
      if (found == nullptr) continue;
      EXPECT_EQ(found, std::ranges::min_element(near)->second);
    }
  }
}

TEST_F(RandomTables, BelowTheFloorEverythingIsNative) {
  for (int turn = 0; turn < 200; ++turn) {
    const Table table = parse_table(make_table().dump());
    for (const Collective collective : collectives) {
      for (const Form form : forms) {
        const std::size_t floor = table.native_floor(collective, form);
        bool is_reached = false;
        for (const Table::Shape& shape : table.shapes) {
          for (const Table::Row& row : shape.rows_of(collective, form)) {
            EXPECT_TRUE(row.spec.is_pass_through() || row.from >= floor);
            is_reached = is_reached || (row.from == floor && !row.spec.is_pass_through());
          }
        }
        EXPECT_EQ(is_reached, floor != SIZE_MAX);
      }
    }
  }
}

}  // namespace
}  // namespace stretto
