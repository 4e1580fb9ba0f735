// SPDX-License-Identifier: Apache-2.0
// The Python module: tuning tables.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "select/library_name.hpp"
#include "select/rule.hpp"
#include "select/rule_text.hpp"
#include "select/table.hpp"
#include "select/table_file.hpp"
#include "threads/immortal.hpp"

namespace nb = nanobind;

namespace stretto {
namespace {

NamedCall call_named(const std::string& name) {
  if (const auto call = find_call(name)) return *call;
  throw std::invalid_argument("there is no call \"" + name +
                              "\"; there are names such as allreduce, iallreduce, allreduce_init");
}

std::vector<Table::Row> rows_of(const Table::Shape& shape, const std::string& call) {
  const NamedCall named = call_named(call);
  const auto rows = shape.rows_of(named.collective, named.form);
  return {rows.begin(), rows.end()};
}

std::vector<std::string> calls_of(const Table::Shape& shape) {
  std::vector<std::string> calls;
  for (const Form form : forms) {
    for (const Collective collective : collectives) {
      if (!shape.rows_of(collective, form).empty()) calls.push_back(name_of(collective, form));
    }
  }
  return calls;
}

/// Returns the built-in rule with other figures. It keeps the last one, because a caller asks for many
/// choices by the same figures.
const RuleTable& rule_with(const RuleFigures& changed) {
  if (changed.empty()) return built_in_rule();
  static auto& figures = make_immortal<RuleFigures>();
  static auto& rule = make_immortal<RuleTable>();
  if (figures != changed) {
    rule = read_rule(rule_text, changed);
    figures = changed;
  }
  return rule;
}

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<Table::Row>(module, "TableRow", "A row of a tuning table, which holds from a size on.")
      .def_ro("begin", &Table::Row::from, "Bytes of the whole message from which on the row holds.")
      .def_prop_ro(
          "last",
          [](const Table::Row& row) { return row.to < SIZE_MAX ? std::optional(row.to) : std::nullopt; },
          "The most bytes for which the row holds; None: without limit.")
      .def_prop_ro("spec", [](const Table::Row& row) { return to_string(row.spec); })
      .def_ro("library", &Table::Row::library,
              "The MPI library's own algorithm that `native` means; empty: the MPI default.")
      .def_prop_ro(
          "gain", [](const Table::Row& row) { return row.gain > 0 ? std::optional(row.gain) : std::nullopt; },
          "Times faster than the MPI default, where that was measured.");
  nb::class_<Table::Shape>(module, "TableShape",
                           "The rows of a tuning table for a number of nodes and of ranks on them.")
      .def_ro("nodes", &Table::Shape::nodes)
      .def_ro("ppn", &Table::Shape::ppn, "Ranks on the fullest node.")
      .def_ro("min_ppn", &Table::Shape::min_ppn, "Ranks on the emptiest node.")
      .def_ro("modelled", &Table::Shape::modelled,
              "Whether the rows come from the model and not from measurements.")
      .def_prop_ro("calls", &calls_of,
                   "The calls for which it has rows: `allreduce`, `iallreduce`, `allreduce_init`, ...")
      .def("rows", &rows_of, nb::arg("call"),
           "The rows of a call, ascending; where none holds, the built-in rule decides.")
      .def(
          "find",
          [](const Table::Shape& shape, const std::string& call, std::size_t bytes) {
            const NamedCall named = call_named(call);
            const Table::Row* row = shape.find(named.collective, named.form, bytes);
            return row == nullptr ? std::nullopt : std::optional(*row);
          },
          nb::arg("call"), nb::arg("nbytes"), "The row for a message; None: the built-in rule decides.");
  nb::class_<Table>(module, "Table", "A tuning table (docs/formats.md).")
      .def_ro("mpi", &Table::mpi, "The MPI library that was measured, e.g. `Open MPI 4.1.4`.")
      .def_ro("network", &Table::network)
      .def_ro("shapes", &Table::shapes)
      .def(
          "find_shape",
          [](const Table& table, int nodes, int ppn, std::optional<int> min_ppn) {
            const Table::Shape* shape = table.find_shape(nodes, min_ppn.value_or(ppn), ppn);
            return shape == nullptr ? std::nullopt : std::optional(*shape);
          },
          nb::arg("nodes"), nb::arg("ppn"), nb::arg("min_ppn") = nb::none(),
          "The shape that applies to these nodes; None: none does. Without min_ppn all nodes are full.")
      .def(
          "fit",
          [](const Table& table, const std::string& library) {
            const TableFit fit = find_fit(table, library);
            return std::pair(!fit.is_refused, fit.remark);
          },
          nb::arg("library"),
          "Whether it is used with an MPI library of this name (MPI_Get_library_version), and a remark.");
  module.def(
      "read_table", [](const std::string& text) { return parse_table(text); }, nb::arg("text"),
      "Reads a table from the text of its file.");
  module.def(
      "lookup",
      [](const std::string& text, const std::string& call, int nodes, int ppn, std::size_t bytes) {
        const NamedCall named = call_named(call);
        const Table table = parse_table(text);
        const Table::Shape* shape = table.find_shape(nodes, ppn, ppn);
        const Table::Row* row = shape == nullptr ? nullptr : shape->find(named.collective, named.form, bytes);
        return row == nullptr ? std::nullopt : std::optional(to_string(row->spec));
      },
      nb::arg("text"), nb::arg("call"), nb::arg("nodes"), nb::arg("ppn"), nb::arg("nbytes"),
      "The spec that the table in `text` gives for a call; None: the built-in rule decides.");
  module.def(
      "choose",
      [](const std::string& call, std::size_t bytes, const Topology& topology, const RuleFigures& changed,
         bool shares_memory, bool has_library) {
        const NamedCall named = call_named(call);
        CallShape shape = shape_of(named.collective, bytes, topology, named.form);
        shape.shares_memory = shares_memory;
        // Jobs without MPI have non-blocking calls only.
        if (!has_library) shape.form = Form::non_blocking;
        return to_string(has_library ? choose(shape, rule_with(changed)) : choose_own(shape));
      },
      nb::arg("call"), nb::arg("nbytes"), nb::arg("topology"), nb::arg("rule") = RuleFigures{},
      nb::arg("shares_memory") = true, nb::arg("has_library") = true,
      "The spec that the built-in rule chooses; figures in `rule` (rule_constants) replace the rule's own.\n"
      "\n"
      "`shares_memory` is false with STRETTO_SHM=0; `has_library` is false in jobs without MPI.");
  module.def(
      "rule_text", [] { return std::string(rule_text); }, "The text of the built-in rule.");
  module.def(
      "rule_constants", [] { return built_in_rule().derived; },
      "The sizes in bytes at which the built-in rule changes its choice, from scripts/derive-rule.");
  module.def(
      "rule_figures", [] { return built_in_rule().figures; },
      "All figures that the rows of the built-in rule name, in bytes.");
  nb::class_<TableFile>(module, "TableFile", "The file of a table, as Stretto's library finds it.")
      .def_ro("path", &TableFile::path, "Empty: there is no file.")
      .def_ro("text", &TableFile::text)
      .def_ro("error", &TableFile::error, "Why the file cannot be read; empty if it can.");
  module.def(
      "read_table_file",
      [](const std::string& setting, const std::string& family) { return read_table_file(setting, family); },
      nb::arg("setting"), nb::arg("family"),
      "Reads the file that STRETTO_TABLE names: a path; `none`; or, if empty, the family's default path.");
  module.def(
      "default_table_path", [](const std::string& family) { return default_table_path(family); },
      nb::arg("family"),
      "The path where Stretto looks for the table of an MPI family (openmpi, mpich, intelmpi); empty: none.");
  module.def(
      "parse_library_name",
      [](const std::string& text) -> std::optional<std::pair<std::string, std::string>> {
        const auto name = parse_library_name(text);
        if (!name) return std::nullopt;
        return std::pair(std::string(name->family), name->name);
      },
      nb::arg("text"),
      "Family and name of an MPI library, by its MPI_Get_library_version: openmpi, Open MPI 4.1.4.");
}

}  // namespace stretto
