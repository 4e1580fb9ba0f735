// SPDX-License-Identifier: Apache-2.0
// The Python module: the findings of jobs about a fabric.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bindings/bindings.hpp"
#include "learn/fabrics/fabric.hpp"
#include "select/claims.hpp"
#include "select/form.hpp"

namespace nb = nanobind;

namespace stretto {
std::optional<Decision> find_decision(const Fabric& fabric, Collective collective, std::size_t bytes,
                                      const Topology& topology, bool in_place, Form form) {
  const Decision* decision = fabric.find({.nodes = topology.nodes,
                                          .min_ppn = topology.min_ppn,
                                          .max_ppn = topology.max_ppn,
                                          .collective = collective,
                                          .form = form,
                                          .in_place = in_place,
                                          .from = shortest_of_kind(bytes)});
  return decision == nullptr ? std::nullopt : std::optional(*decision);
}

void bind_fabrics(nb::module_& module) {
  nb::class_<Decision>(module, "Decision",
                       "A decision of jobs for calls of `begin` bytes, a power of two, up to twice as many.")
      .def_prop_ro("nodes", [](const Decision& d) { return d.kind.nodes; })
      .def_prop_ro(
          "ppn", [](const Decision& d) { return d.kind.max_ppn; }, "Ranks on the fullest node.")
      .def_prop_ro(
          "min_ppn", [](const Decision& d) { return d.kind.min_ppn; }, "Ranks on the emptiest node.")
      .def_prop_ro("call", [](const Decision& d) { return name_of(d.kind.collective, d.kind.form); })
      .def_prop_ro("in_place", [](const Decision& d) { return d.kind.in_place; })
      .def_prop_ro("begin", [](const Decision& d) { return d.kind.from; })
      .def_prop_ro("spec", [](const Decision& d) { return to_string(d.spec); })
      .def_prop_ro(
          "gain", [](const Decision& d) { return if_known(d.gain); },
          "Times faster than the MPI default, where that was measured.")
      .def_prop_ro(
          "seconds", [](const Decision& d) { return if_known(d.seconds); },
          "The time of a call of `bytes`, if it is known.")
      .def_ro("bytes", &Decision::bytes)
      .def_ro("when", &Decision::when, "The date, such as 2026-11-24; empty: not known.")
      .def_prop_ro("is_busy", &Decision::is_busy, "Whether the job that decided it had to share its cores.")
      .def_ro("is_dropped", &Decision::is_dropped,
              "Whether calls took many times as long in a later job, so that nobody goes by it.");
  nb::class_<MeasuredNetwork>(module, "MeasuredNetwork", "A job's measurements of its network.")
      .def_ro("machine", &MeasuredNetwork::machine)
      .def_ro("nodes", &MeasuredNetwork::nodes,
              "Nodes of the communicator that measured it, with `ppn` ranks each.")
      .def_ro("ppn", &MeasuredNetwork::ppn)
      .def_ro("when", &MeasuredNetwork::when, "The date, such as 2026-11-24; empty: not known.")
      .def_ro("busy", &MeasuredNetwork::busy, "The part of the time in which a rank waited for its core.")
      .def_ro("connections_from", &MeasuredNetwork::connections_from,
              "Bytes from which on Stretto's own connections carry messages between nodes; 0: never.")
      .def_ro("streams", &MeasuredNetwork::streams,
              "The number of Stretto's own connections to a rank that share a long message.")
      .def("covers", &MeasuredNetwork::covers, nb::arg("nodes"), nb::arg("ppn"),
           "Whether it says what messages cost between so many nodes, and inside a node with so many ranks.")
      .def_prop_ro("is_busy", &MeasuredNetwork::is_busy,
                   "Whether `busy` is so high that the network may be faster than measured.")
      .def_prop_ro(
          "rates", [](const MeasuredNetwork& m) { return m.machine.node_rates; },
          "Bytes per second of each node's link; empty if links are alike.");
  nb::class_<Fabric>(module, "Fabric",
                     "The findings of jobs about the network between hosts (docs/formats.md).")
      .def(
          "__init__", [](Fabric* self, const std::string& text) { new (self) Fabric(text); }, nb::arg("text"),
          "Reads the text of a file.")
      .def_prop_ro("mpi", [](const Fabric& f) { return f.identity().mpi; })
      .def_prop_ro(
          "network", [](const Fabric& f) { return f.identity().network; },
          "The settings by which the MPI library chooses its network.")
      .def_prop_ro("processor", [](const Fabric& f) { return f.identity().processor; })
      .def_prop_ro(
          "hosts", [](const Fabric& f) { return f.identity().hosts; },
          "The names of the hosts, with # for numbers: `node#`.")
      .def_prop_ro("decisions", &Fabric::decisions, "All decisions, the latest last.")
      .def_prop_ro("measured", &Fabric::measured)
      .def(
          "find",
          [](const Fabric& fabric, const std::string& collective, std::size_t bytes, const Topology& topology,
             bool in_place, bool blocking) {
            return find_decision(fabric, collective_named(collective), bytes, topology, in_place,
                                 blocking ? Form::blocking : Form::non_blocking);
          },
          nb::arg("collective"), nb::arg("nbytes"), nb::arg("topology"), nb::arg("in_place") = false,
          nb::arg("blocking") = true,
          "The decision for calls of this many bytes on communicators of this shape.");
}

}  // namespace stretto
