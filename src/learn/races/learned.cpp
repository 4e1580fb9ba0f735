// SPDX-License-Identifier: Apache-2.0
#include "learn/races/learned.hpp"

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

/// The rows of the table for a call, before the learned ones are added.
std::vector<Table::Row> rows_without(const Table::Shape* shape, const CallShape& call) {
  if (shape == nullptr) return {};
  const std::span<const Table::Row> rows = shape->rows_of(call.collective, call.form);
  return {rows.begin(), rows.end()};
}

bool has_same_choice(const Table::Row& one, const Table::Row& other) {
  return one.spec == other.spec && one.library == other.library && one.gain == other.gain;
}

/// Replaces the rows inside the learned class. Rows that extend beyond it keep the rest.
void insert(std::vector<Table::Row>& rows, const Learned& learned) {
  const std::size_t from = learned.shape.bytes;
  const std::size_t to = from + std::max<std::size_t>(from, 1) - 1;
  std::vector<Table::Row> before;
  std::vector<Table::Row> after;
  for (const Table::Row& row : rows) {
    if (row.from < from) {
      before.push_back(row);
      before.back().to = std::min(row.to, from - 1);
    }
    if (row.to > to) {
      after.push_back(row);
      after.back().from = std::max(row.from, to + 1);
    }
  }
  rows = std::move(before);
  rows.push_back({.from = from, .to = to, .spec = learned.spec, .library = {}, .gain = learned.gain});
  rows.insert(rows.end(), after.begin(), after.end());
}

/// Joins adjacent rows with the same spec.
void join_adjacent(std::vector<Table::Row>& rows) {
  std::vector<Table::Row> united;
  for (Table::Row& row : rows) {
    if (!united.empty() && united.back().to + 1 == row.from && has_same_choice(united.back(), row)) {
      united.back().to = row.to;
    } else {
      united.push_back(std::move(row));
    }
  }
  rows = std::move(united);
}

Json json_of_size(std::size_t bytes) {
  return bytes == 0 ? Json(0) : Json(size_text(bytes));
}

Json json_of(const std::vector<Table::Row>& rows) {
  Json list = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Table::Row& row = rows[i];
    Json member{{"from", json_of_size(row.from)}};
    const bool is_open = i + 1 < rows.size() ? row.to + 1 == rows[i + 1].from : row.to == SIZE_MAX;
    if (!is_open) member["to"] = json_of_size(row.to);
    member["spec"] = to_string(row.spec);
    if (!row.library.empty()) member["library"] = row.library;
    if (row.gain > 0) member["gain"] = row.gain;
    list.push_back(std::move(member));
  }
  return list;
}

bool is_of(const Table::Shape& shape, const CallShape& call) {
  return shape.nodes == call.nodes && shape.ppn == call.max_ppn && shape.min_ppn == call.min_ppn;
}

/// The file's shape for a call. If there is none, it is a copy of the shape that applied until now:
/// otherwise its lists would no longer apply.
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

  // Ordered by shape and call, then by class.
  std::map<std::tuple<int, int, int, Collective>, std::map<std::size_t, const Learned*>> best;
  for (const Learned& one : learned) {
    const CallShape& call = one.shape;
    const Learned*& place =
        best[{call.nodes, call.max_ppn, call.min_ppn, call.collective}][std::bit_floor(call.bytes)];
    if (place == nullptr || place->seconds < one.seconds) place = &one;
  }
  // New shapes come after those of the table.
  Table merged = table;
  for (const auto& [key, classes] : best) {
    const CallShape& call = classes.begin()->second->shape;
    const Table::Shape* spoke = table.find_shape(call.nodes, call.min_ppn, call.max_ppn);
    std::vector<Table::Row> rows = rows_without(spoke, call);
    for (const auto& [bytes, one] : classes) insert(rows, *one);
    join_adjacent(rows);
    shape_in(file, merged, call)[name_of(call.collective, call.form)] = json_of(rows);
    merged = parse_table(file.dump());
  }
  return file.dump(2) + '\n';
}

}  // namespace stretto
