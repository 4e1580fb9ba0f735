// SPDX-License-Identifier: Apache-2.0
// Reads tables (docs/formats.md).
#include <algorithm>
#include <cstdint>

#include "select/library_name.hpp"
#include "select/table.hpp"
#include "text/json_reader.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

constexpr std::int64_t most_nodes = 1 << 20;
constexpr std::int64_t most_ppn = 1 << 16;
constexpr std::size_t most_shapes = 1024;
constexpr std::size_t most_rows = 1024;
constexpr std::size_t most_text = 200;

Spec read_spec(const JsonValue& value, Collective collective) {
  try {
    return parse_spec(collective, value.text(most_text));
  } catch (const SpecError& error) {
    value.fail(error.what());
  }
}

/// `before` is the previous row. It applies up to this one unless it has an end.
Table::Row read_row(const JsonValue& value, Collective collective, Table::Row* before) {
  JsonObject object = value.object();
  Table::Row row;
  const JsonValue from = object.required("from");
  row.from = from.bytes();
  if (before != nullptr) {
    const std::size_t least = before->to == SIZE_MAX ? before->from : before->to;
    if (row.from <= least) {
      from.fail("expected more than " + size_text(least) + ", where the row before begins or ends, not " +
                size_text(row.from));
    }
    before->to = std::min(before->to, row.from - 1);
  }
  if (const auto last = object.optional("to")) {
    row.to = last->bytes();
    if (row.to < row.from) {
      last->fail("expected " + size_text(row.from) + " or more, where the row begins, not " +
                 size_text(row.to));
    }
  }
  row.spec = read_spec(object.required("spec"), collective);
  if (const auto library = object.optional("library")) {
    row.library = library->text(most_text);
    if (!row.spec.is_native()) library->fail("belongs to the spec native, not to " + to_string(row.spec));
  }
  if (const auto gain = object.optional("gain")) row.gain = gain->positive();
  object.finish();
  return row;
}

std::vector<Table::Row> read_rows(const JsonValue& list, Collective collective) {
  std::vector<Table::Row> rows;
  for (const JsonValue& value : list.items(most_rows)) {
    rows.push_back(read_row(value, collective, rows.empty() ? nullptr : &rows.back()));
  }
  if (rows.empty()) list.fail("expected at least one row, or no such list");
  return rows;
}

int read_count(const JsonValue& value, std::int64_t most) {
  return static_cast<int>(value.whole(1, most));
}

Table::Shape read_shape(const JsonValue& value) {
  JsonObject object = value.object();
  Table::Shape shape;
  shape.nodes = read_count(object.required("nodes"), most_nodes);
  shape.ppn = read_count(object.required("ppn"), most_ppn);
  const auto emptiest = object.optional("min_ppn");
  shape.min_ppn = emptiest ? read_count(*emptiest, shape.ppn) : shape.ppn;
  if (const auto modelled = object.optional("modelled")) shape.modelled = modelled->truth();
  for (const Form form : forms) {
    for (const Collective collective : collectives) {
      if (const auto list = object.optional(name_of(collective, form))) {
        shape.rows[static_cast<std::size_t>(form)][static_cast<std::size_t>(collective)] =
            read_rows(*list, collective);
      }
    }
  }
  object.finish();
  return shape;
}

void check_is_new(const Table::Shape& shape, const std::vector<Table::Shape>& others,
                  const JsonValue& value) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Table::Shape& other = others[i];
    if (shape.nodes == other.nodes && shape.ppn == other.ppn && shape.min_ppn == other.min_ppn) {
      value.fail("has the same nodes and ppn as shapes[" + std::to_string(i) + "]");
    }
  }
}

}  // namespace

Table parse_table(std::string_view text) {
  const JsonText json(text);
  JsonObject file = json.file("stretto-table", 1);
  Table table;
  const JsonValue mpi = file.required("mpi");
  table.mpi = mpi.text(most_text);
  if (!parse_library_name(table.mpi)) {
    mpi.fail("expected a name such as Open MPI 4.1.4, MPICH 4.0.2 or Intel MPI 2021.13, not \"" +
             shown(table.mpi) + '"');
  }
  if (const auto network = file.optional("network")) table.network = network->text(most_text);
  for (const JsonValue& value : file.required("shapes").items(most_shapes)) {
    Table::Shape shape = read_shape(value);
    check_is_new(shape, table.shapes, value);
    table.shapes.push_back(std::move(shape));
  }
  file.finish();
  return table;
}

}  // namespace stretto
