// SPDX-License-Identifier: Apache-2.0
// Python's view of what is free of MPI: the registry, specs, schedules and their proof
// (python/stretto/_core.pyi).
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "select/spec.hpp"
#include "verify/verify.hpp"

namespace nb = nanobind;

namespace stretto {
namespace {

std::string name_of(Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return "input";
    case Buffer::output:
      return "output";
    case Buffer::scratch:
      return "scratch";
  }
  return "";
}

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::send:
      return "send";
    case Kind::recv:
      return "recv";
    case Kind::recv_reduce:
      return "recv_reduce";
    case Kind::copy:
      return "copy";
    case Kind::reduce:
      return "reduce";
  }
  return "";
}

std::optional<Slice> if_any(const Slice& slice) {
  return slice.count > 0 ? std::optional(slice) : std::nullopt;
}

const Algorithm& algorithm_named(const std::string& collective, const std::string& name) {
  if (collective != name_of(Collective::allreduce)) {
    throw std::invalid_argument("there is no collective \"" + collective + "\"; there are allreduce");
  }
  const Spec spec = parse_spec(Collective::allreduce, name);
  if (spec.is_native())
    throw std::invalid_argument("native is the MPI library's own: it has no schedule here");
  return *spec.algorithm;
}

Topology flat_topology(int ranks) {
  if (ranks < 1) throw std::invalid_argument("ranks must be 1 or more, not " + std::to_string(ranks));
  return Topology::flat(ranks);
}

Schedule build(const std::string& collective, const std::string& algorithm, int ranks, int rank) {
  const Topology topology = flat_topology(ranks);
  if (rank < 0 || rank >= ranks) {
    throw std::invalid_argument("rank must be from 0 to " + std::to_string(ranks - 1) + ", not " +
                                std::to_string(rank));
  }
  return algorithm_named(collective, algorithm).build(topology, rank);
}

std::vector<std::vector<Action>> rounds_of(const Schedule& schedule) {
  std::vector<std::vector<Action>> rounds;
  for (int i = 0; i < schedule.rounds(); ++i) {
    const auto round = schedule.round(i);
    rounds.emplace_back(round.begin(), round.end());
  }
  return rounds;
}

}  // namespace

NB_MODULE(_core, module) {
  module.def("version", [] { return std::string(STRETTO_VERSION); });

  nb::class_<Algorithm>(module, "Algorithm")
      .def_prop_ro("collective", [](const Algorithm& a) { return std::string(name_of(a.collective)); })
      .def_prop_ro("name", [](const Algorithm& a) { return std::string(a.name); })
      .def_prop_ro("description", [](const Algorithm& a) { return std::string(a.description); })
      .def(
          "keeps_order", [](const Algorithm& a, int ranks) { return a.keeps_order(flat_topology(ranks)); },
          nb::arg("ranks"));
  module.def("algorithms", [] { return std::vector<Algorithm>(algorithms().begin(), algorithms().end()); });

  nb::class_<Spec>(module, "Spec")
      .def_prop_ro("algorithm",
                   [](const Spec& s) { return std::string(s.is_native() ? "native" : s.algorithm->name); })
      .def_prop_ro("segments", [](const Spec& s) { return s.pipelining.segments; })
      .def_prop_ro("segment_bytes", [](const Spec& s) { return s.pipelining.segment_bytes; })
      .def_prop_ro("window", [](const Spec& s) { return s.pipelining.window; })
      .def("__str__", [](const Spec& s) { return to_string(s); });
  module.def(
      "parse_spec", [](const std::string& text) { return parse_spec(Collective::allreduce, text); },
      nb::arg("text"));

  nb::class_<Slice>(module, "Slice")
      .def_prop_ro("buffer", [](const Slice& s) { return name_of(s.buffer); })
      .def_ro("first", &Slice::first)
      .def_ro("count", &Slice::count);
  nb::class_<Action>(module, "Action")
      .def_prop_ro("kind", [](const Action& a) { return name_of(a.kind); })
      .def_ro("peer", &Action::peer)
      .def_prop_ro("into", [](const Action& a) { return if_any(a.into); })
      .def_prop_ro("left", [](const Action& a) { return if_any(a.left); })
      .def_prop_ro("right", [](const Action& a) { return if_any(a.right); });
  nb::class_<Schedule>(module, "Schedule")
      .def_prop_ro("ranks", &Schedule::ranks)
      .def_prop_ro("rank", &Schedule::rank)
      .def_prop_ro("blocks", &Schedule::blocks)
      .def_prop_ro("scratch", &Schedule::scratch_shape)
      .def_prop_ro("rounds", &rounds_of);
  module.def("build", &build, nb::arg("collective"), nb::arg("algorithm"), nb::arg("ranks"), nb::arg("rank"));

  nb::class_<Proof>(module, "Report")
      .def_prop_ro("ok", &Proof::holds)
      .def_ro("error", &Proof::error)
      .def_ro("rounds", &Proof::rounds)
      .def_ro("messages", &Proof::messages_sent)
      .def_ro("keeps_order", &Proof::keeps_order);
  module.def(
      "verify",
      [](const std::string& collective, const std::string& algorithm, int ranks) {
        const Algorithm& found = algorithm_named(collective, algorithm);
        const nb::gil_scoped_release other_threads_go_on;
        return verify(found, flat_topology(ranks));
      },
      nb::arg("collective"), nb::arg("algorithm"), nb::arg("ranks"));
}

}  // namespace stretto
