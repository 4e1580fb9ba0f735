// SPDX-License-Identifier: Apache-2.0
// The reader of tuning tables: any text is a usable table, or is refused in one line.
#include "select/table.hpp"

#include "fuzz.hpp"

namespace stretto {
namespace {

using fuzz::demand;

void use_rows(const Table::Shape& shape, Collective collective, Form form) {
  const auto rows = shape.rows_of(collective, form);
  std::size_t before = 0;
  for (const Table::Row& row : rows) {
    demand(&row == &rows.front() || row.from > before, "rows ascend");
    demand(row.from <= row.to, "a row holds for something");
    before = row.to;
    demand(shape.find(collective, form, row.from) == &row, "a row is found by its least size");
    demand(shape.find(collective, form, row.to) == &row, "and by its last");
    demand(parse_spec(collective, to_string(row.spec)) == row.spec, "a spec has a spelling");
    demand(row.gain >= 0, "a gain is a number");
  }
}

void use(const Table& table) {
  for (const Table::Shape& shape : table.shapes) {
    demand(shape.nodes >= 1 && shape.min_ppn >= 1 && shape.ppn >= shape.min_ppn, "a shape has ranks");
    demand(table.find_shape(shape.nodes, shape.min_ppn, shape.ppn) == &shape, "a shape finds itself");
    for (const Collective collective : collectives) {
      for (const Form form : forms) use_rows(shape, collective, form);
    }
  }
  for (const Collective collective : collectives) {
    for (const Form form : forms) (void)table.native_floor(collective, form);
  }
  demand(!find_fit(table, table.mpi).is_refused, "a table fits the library that it names");
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::fuzz::read_or_refuse(data, size,
                                [](std::string_view text) { stretto::use(stretto::parse_table(text)); });
  return 0;
}
