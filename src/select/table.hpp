// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "select/face.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Which way each collective takes, by what was measured on a cluster (docs/formats.md). All ranks have the
/// same one.
struct Table {
  struct Row {
    std::size_t from = 0;       // bytes of the whole message
    std::size_t to = SIZE_MAX;  // the most for which it holds, below the next row's `from`
    Spec spec;
    std::string library;  // the library's own algorithm that is meant by native; empty: its choice
    double gain = 0;      // times faster than the library by itself; 0: not known
  };

  struct Shape {
    int nodes = 1;
    int ppn = 1;      // ranks on the fullest node
    int min_ppn = 1;  // and on the emptiest
    bool modelled = false;
    /// By face and collective; ascending. Where no row holds, the built-in rule speaks.
    std::array<std::array<std::vector<Row>, collectives.size()>, faces.size()> rows;

    [[nodiscard]] std::span<const Row> rows_of(Collective collective, Face face) const {
      return rows[static_cast<std::size_t>(face)][static_cast<std::size_t>(collective)];
    }
    /// nullptr where the built-in rule speaks.
    [[nodiscard]] const Row* find(Collective collective, Face face, std::size_t bytes) const;
  };

  std::string mpi;      // the library that was measured: Open MPI 4.1.4
  std::string network;  // empty: not known
  std::vector<Shape> shapes;

  /// The one that speaks for a communicator of so many nodes, with so many ranks on the emptiest and on the
  /// fullest; nullptr if none does. It must have as many ranks on the fullest node, one rank or several on
  /// the emptiest, one node or several, and no more than twice or less than half as many. Of these it is the
  /// nearest by nodes, then by the emptiest node; then one that was measured, then the smaller.
  [[nodiscard]] const Shape* find_shape(int nodes, int min_ppn, int max_ppn) const;

  /// Below so many bytes no shape says other than `native`.
  [[nodiscard]] std::size_t native_floor(Collective collective, Face face) const;
};

/// Throws FormatError (text/json_reader.hpp) with one line that names what is wrong, where, and what would be
/// right.
Table parse_table(std::string_view text);

/// Whether a table may speak on an MPI library.
struct TableFit {
  bool is_refused = false;
  std::string remark;  // why, or what the user should know; empty: nothing
};

/// By what MPI_Get_library_version says: another family is refused, another version is remarked on.
TableFit find_fit(const Table& table, std::string_view library);

}  // namespace stretto
