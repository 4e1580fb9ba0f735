// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "select/form.hpp"
#include "select/spec.hpp"

namespace stretto {

/// The spec for each collective as measured on a cluster (docs/formats.md). It is the same on all ranks.
struct Table {
  struct Row {
    std::size_t from = 0;       // bytes of the whole message
    std::size_t to = SIZE_MAX;  // the most bytes to which it applies, less than the next row's `from`
    Spec spec;
    std::string library;  // the library's algorithm for native; empty: the MPI default
    double gain = 0;      // times faster than the MPI default; 0: not known
  };

  struct Shape {
    int nodes = 1;
    int ppn = 1;      // ranks on the fullest node
    int min_ppn = 1;  // and on the emptiest
    bool modelled = false;
    /// [form][collective] The rows, ascending. Where no row applies, the built-in rule does.
    std::array<std::array<std::vector<Row>, collectives.size()>, forms.size()> rows;

    [[nodiscard]] std::span<const Row> rows_of(Collective collective, Form form) const {
      return rows[static_cast<std::size_t>(form)][static_cast<std::size_t>(collective)];
    }
    /// Returns the row that applies; nullptr if the built-in rule does.
    [[nodiscard]] const Row* find(Collective collective, Form form, std::size_t bytes) const;
  };

  std::string mpi;      // the library that was measured, such as Open MPI 4.1.4
  std::string network;  // empty: not known
  std::vector<Shape> shapes;

  /// Returns the shape that applies to a communicator with this many nodes, and ranks on the emptiest and on
  /// the fullest of them; nullptr if none does. A shape applies if it has as many ranks on the fullest node
  /// as the communicator; if both or neither have a single rank on the emptiest node; if both or neither have
  /// a single node; and if neither has more than twice as many nodes as the other. Of several shapes the
  /// nearest applies: by nodes, then by the emptiest node; then a measured one, then the one with fewer
  /// nodes.
  [[nodiscard]] const Shape* find_shape(int nodes, int min_ppn, int max_ppn) const;

  /// Returns the number of bytes below which every shape says `native`.
  [[nodiscard]] std::size_t native_floor(Collective collective, Form form) const;
};

/// Reads a table. Throws FormatError (text/json_reader.hpp) with one line that names what is wrong, where,
/// and what is expected.
Table parse_table(std::string_view text);

/// Whether a table may be used with an MPI library.
struct TableFit {
  bool is_refused = false;
  std::string remark;  // why it is refused, or what the user should know; empty: nothing
};

/// Compares a table with an MPI library. `library` is the text of MPI_Get_library_version. A table of another
/// family is refused; one of another version gets a remark.
TableFit find_fit(const Table& table, std::string_view library);

}  // namespace stretto
