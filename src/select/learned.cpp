// SPDX-License-Identifier: Apache-2.0
#include "select/learned.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "select/table.hpp"
#include "text/json_reader.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

using Json = nlohmann::ordered_json;

/// Beyond this size the rule says the same of all.
constexpr std::size_t most_bytes = std::size_t{1} << 40;

/// What is done without what was learned, as rows that ascend from 0.
std::vector<Table::Row> rows_without(const Table::Shape* shape, CallShape call) {
  if (shape != nullptr) {
    const std::span<const Table::Row> rows = shape->rows_of(call.collective, call.face);
    if (!rows.empty()) return {rows.begin(), rows.end()};
  }
  const auto spec_at = [&call](std::size_t bytes) {
    call.bytes = bytes;
    return choose(call);
  };
  std::vector<Table::Row> rows{{.from = 0, .spec = {}, .library = {}, .gain = 0}};
  // The rule turns at few sizes, never twice within a power of two but to come back.
  for (std::size_t bytes = 1; bytes <= most_bytes; bytes *= 2) {
    while (spec_at(bytes) != rows.back().spec) {
      std::size_t same = std::max(rows.back().from, bytes / 2);
      std::size_t other = bytes;
      while (other - same > 1) {
        const std::size_t middle = same + (other - same) / 2;
        if (spec_at(middle) == rows.back().spec) {
          same = middle;
        } else {
          other = middle;
        }
      }
      rows.push_back({.from = other, .spec = spec_at(other), .library = {}, .gain = 0});
    }
  }
  return rows;
}

bool says_the_same(const Table::Row& one, const Table::Row& other) {
  return one.spec == other.spec && one.library == other.library && one.gain == other.gain;
}

void put(std::vector<Table::Row>& rows, const Learned& learned) {
  const std::size_t from = learned.shape.bytes;
  const std::size_t end = 2 * from;
  const auto after = std::ranges::upper_bound(rows, end, {}, &Table::Row::from);
  Table::Row rest = *(after - 1);
  rest.from = end;
  std::erase_if(rows, [&](const Table::Row& row) { return row.from >= from && row.from <= end; });
  const auto place = std::ranges::upper_bound(rows, from, {}, &Table::Row::from);
  rows.insert(place, {{.from = from, .spec = learned.spec, .library = {}, .gain = learned.gain}, rest});
  rows.erase(std::unique(rows.begin(), rows.end(), says_the_same), rows.end());
}

Json json_of(const std::vector<Table::Row>& rows) {
  Json list = Json::array();
  for (const Table::Row& row : rows) {
    Json member{{"from", row.from == 0 ? Json(0) : Json(size_text(row.from))}, {"spec", to_string(row.spec)}};
    if (!row.library.empty()) member["library"] = row.library;
    if (row.gain > 0) member["gain"] = row.gain;
    list.push_back(std::move(member));
  }
  return list;
}

bool is_of(const Table::Shape& shape, const CallShape& call) {
  return shape.nodes == call.nodes && shape.ppn == call.max_ppn && shape.min_ppn == call.min_ppn;
}

/// The file's shape for a call. If there is none, it is made of the one that spoke until now, whose lists
/// would otherwise be heard no more.
Json& shape_in(Json& file, const Table& table, const CallShape& call) {
  Json& shapes = file["shapes"];
  const auto found =
      std::ranges::find_if(table.shapes, [&](const auto& shape) { return is_of(shape, call); });
  if (found != table.shapes.end()) return shapes[static_cast<std::size_t>(found - table.shapes.begin())];
  Json shape{{"nodes", call.nodes}, {"ppn", call.max_ppn}};
  if (call.min_ppn != call.max_ppn) shape["min_ppn"] = call.min_ppn;
  if (const Table::Shape* spoke = table.find_shape(call.nodes, call.min_ppn, call.max_ppn)) {
    const Json& its = shapes[static_cast<std::size_t>(spoke - table.shapes.data())];
    for (const auto& [key, value] : its.items()) {
      if (find_call(key)) shape[key] = value;
    }
  }
  shapes.push_back(std::move(shape));
  return shapes.back();
}

Json empty_table(std::string_view mpi) {
  return {{"format", "stretto-table"}, {"version", 1}, {"mpi", mpi}, {"shapes", Json::array()}};
}

}  // namespace

std::string merge_learned(std::string_view text, std::string_view mpi, std::span<const Learned> learned) {
  std::string now = text.empty() ? empty_table(mpi).dump() : std::string(text);
  const Table table = parse_table(now);
  if (const TableFit fit = find_fit(table, mpi); fit.is_refused || !fit.remark.empty()) {
    throw FormatError(fit.remark);
  }
  Json file = Json::parse(now);

  // By shape and call, then by class.
  std::map<std::tuple<int, int, int, Collective>, std::map<std::size_t, const Learned*>> best;
  for (const Learned& one : learned) {
    const CallShape& call = one.shape;
    const Learned*& place =
        best[{call.nodes, call.max_ppn, call.min_ppn, call.collective}][std::bit_floor(call.bytes)];
    if (place == nullptr || place->seconds < one.seconds) place = &one;
  }
  // The shapes that are added stand behind those of the table.
  Table merged = table;
  for (const auto& [key, classes] : best) {
    const CallShape& call = classes.begin()->second->shape;
    const Table::Shape* spoke = table.find_shape(call.nodes, call.min_ppn, call.max_ppn);
    std::vector<Table::Row> rows = rows_without(spoke, call);
    for (const auto& [bytes, one] : classes) put(rows, *one);
    shape_in(file, merged, call)[name_of(call.collective, call.face)] = json_of(rows);
    merged = parse_table(file.dump());
  }
  return file.dump(2) + '\n';
}

}  // namespace stretto
