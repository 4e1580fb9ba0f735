// SPDX-License-Identifier: Apache-2.0
#include "select/table.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <tuple>

#include "select/library_name.hpp"
#include "text/json_reader.hpp"

namespace stretto {
namespace {

/// A single node has no network, and a node of one rank no lanes. So figures for one kind do not apply to
/// the other.
bool is_near(const Table::Shape& shape, int nodes, int min_ppn, int max_ppn) {
  const std::int64_t measured = shape.nodes;
  return shape.ppn == max_ppn && (shape.min_ppn == 1) == (min_ppn == 1) &&
         (shape.nodes == 1) == (nodes == 1) && measured <= 2LL * nodes && nodes <= 2 * measured;
}

/// Whether `one` is nearer than `other`.
bool is_nearer(const Table::Shape& one, const Table::Shape& other, int nodes, int min_ppn) {
  // The ratio of nodes, compared as fractions.
  const auto cross = [&](const Table::Shape& of, const Table::Shape& by) {
    return std::int64_t{std::max(of.nodes, nodes)} * std::min(by.nodes, nodes);
  };
  const auto rank = [&](const Table::Shape& of, const Table::Shape& by) {
    return std::tuple(cross(of, by), std::abs(of.min_ppn - min_ppn), of.modelled, of.nodes);
  };
  return rank(one, other) < rank(other, one);
}

}  // namespace

const Table::Row* Table::Shape::find(Collective collective, Form form, std::size_t bytes) const {
  const std::span<const Row> all = rows_of(collective, form);
  const auto next = std::ranges::upper_bound(all, bytes, {}, &Row::from);
  if (next == all.begin()) return nullptr;
  const Row& row = *(next - 1);
  return bytes <= row.to ? &row : nullptr;
}

const Table::Shape* Table::find_shape(int nodes, int min_ppn, int max_ppn) const {
  const Shape* best = nullptr;
  for (const Shape& shape : shapes) {
    if (!is_near(shape, nodes, min_ppn, max_ppn)) continue;
    if (best == nullptr || is_nearer(shape, *best, nodes, min_ppn)) best = &shape;
  }
  return best;
}

std::size_t Table::native_floor(Collective collective, Form form) const {
  std::size_t floor = SIZE_MAX;
  for (const Shape& shape : shapes) {
    for (const Row& row : shape.rows_of(collective, form)) {
      if (!row.spec.is_pass_through()) floor = std::min(floor, row.from);
    }
  }
  return floor;
}

TableFit find_fit(const Table& table, std::string_view library) {
  const std::optional<LibraryName> measured = parse_library_name(table.mpi);
  const std::optional<LibraryName> running = parse_library_name(library);
  if (measured && measured == running) return {};
  const std::string name = running ? running->name : shown(library.substr(0, library.find('\n')));
  return {.is_refused = !measured || !running || measured->family != running->family,
          .remark = "was made on " + shown(table.mpi) + ", and this is " + name};
}

}  // namespace stretto
