// SPDX-License-Identifier: Apache-2.0
// The Python module: machines, the formulas of the papers, and the schedule walker.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "learn/network/modelled.hpp"
#include "model/closed_forms.hpp"
#include "model/machine_text.hpp"
#include "model/predictor.hpp"
#include "select/spec.hpp"
#include "text/known_names.hpp"

namespace nb = nanobind;

namespace stretto {
namespace {

template <typename Value, std::size_t count>
using Names = std::array<std::pair<std::string_view, Value>, count>;

constexpr Names<Level, level_count> level_names{
    {{"socket", Level::socket}, {"node", Level::node}, {"network", Level::network}}};
constexpr Names<CostModel, 3> model_names{{{"postal", CostModel::postal},
                                           {"node_aware", CostModel::node_aware},
                                           {"max_rate", CostModel::max_rate}}};
constexpr Names<Overlap, 3> overlap_names{
    {{"measured", Overlap::as_measured}, {"full", Overlap::full}, {"none", Overlap::none}}};
constexpr Names<Part, part_count> part_names{{{"latency", Part::latency},
                                              {"wire", Part::wire},
                                              {"reduction", Part::reduction},
                                              {"overhead", Part::overhead},
                                              {"waiting", Part::waiting},
                                              {"copy", Part::copy}}};
constexpr Names<Staging, 3> staging_names{
    {{"none", Staging::none}, {"segments", Staging::by_segments}, {"whole", Staging::whole}}};

template <typename Value, std::size_t count>
Value named(const std::string& what, const std::string& text, const Names<Value, count>& names) {
  std::vector<std::string_view> known;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    known.push_back(name);
  }
  throw std::invalid_argument("there is no " + what + " \"" + text + "\"" + known_names_text(text, known));
}

std::map<std::string, double> parts_of(const Instant& instant) {
  std::map<std::string, double> parts;
  for (const auto& [name, part] : part_names) parts.emplace(name, instant.part(part));
  return parts;
}

/// A predictor with the arguments that its calls share.
struct BoundPredictor {
  BoundPredictor(const std::string& its_collective, const std::string& its_recipe, const Topology& topology,
                 int root)
      : collective(collective_named(its_collective)),
        recipe(recipe_spelled(its_collective, its_recipe)),
        predictor(recipe, topology, root) {}

  [[nodiscard]] WalkedCall call_of(const std::string& spec, std::size_t bytes,
                                   const std::string& staging) const {
    const Spec parsed = parse_spec(collective, spec);
    if (parsed.recipe != recipe) {
      throw std::invalid_argument("spec \"" + spec + "\": this predictor is for " + to_string(recipe));
    }
    const bool uncut = recipe.algorithm->stays_whole();
    return {.collective = collective,
            .bytes = bytes,
            .pipelining = uncut ? Pipelining{} : parsed.pipelining,
            .staging = named("staging", staging, staging_names)};
  }

  Prediction predict(const std::string& spec, std::size_t bytes, const Machine& machine,
                     const std::string& model, const std::string& overlap, bool arithmetic, bool engine,
                     const std::string& staging) {
    const WalkedCall call = call_of(spec, bytes, staging);
    const WalkOptions options{.model = named("model", model, model_names),
                              .overlap = named("overlap", overlap, overlap_names),
                              .arithmetic = arithmetic,
                              .engine = engine};
    const nb::gil_scoped_release released;
    return predictor.predict(call, machine, options);
  }

  double copy_seconds(const std::string& spec, std::size_t bytes, const Machine& machine) const {
    return predictor.copies_alone(call_of(spec, bytes, "segments"), machine.device.value_or(Device{})).at();
  }

  Collective collective;
  Recipe recipe;
  Predictor predictor;
};

double formula_seconds(const ClosedForm& form, double bytes, int nodes, int ppn, int segments,
                       const Machine& machine) {
  const FormulaCall call{.bytes = bytes, .nodes = nodes, .ppn = ppn, .segments = segments};
  return seconds(form.cost(call), bytes, machine);
}

void bind_machine(nb::module_& module) {
  nb::class_<Protocol>(module, "Protocol",
                       "The cost of messages from `begin` bytes on: latency (seconds) + bytes / bandwidth.")
      .def_ro("begin", &Protocol::from)
      .def_ro("latency", &Protocol::latency)
      .def_ro("bandwidth", &Protocol::bandwidth)
      .def_ro("synchronous", &Protocol::synchronous,
              "Whether the transfer begins only when the receive is posted.")
      .def_ro("duplex", &Protocol::duplex,
              "1: a rank sends to one rank and receives from another at once; 0: one after the other.")
      .def_ro("exchange", &Protocol::exchange, "The same for two ranks that send to each other.")
      .def_prop_ro(
          "core", [](const Protocol& row) { return row.core > 0 ? std::optional(row.core) : std::nullopt; },
          "Bytes per second that a core passes when it sends or receives; it does nothing else meanwhile.\n"
          "\n"
          "None: it takes no time.");
  nb::class_<Machine>(module, "Machine", "A cluster as the models see it.")
      .def(
          "__init__", [](Machine* self, const std::string& text) { new (self) Machine(parse_machine(text)); },
          nb::arg("text"), "Reads the text of a machine file (docs/formats.md).")
      .def_ro("name", &Machine::name)
      .def_ro("description", &Machine::description)
      .def_ro("engine_message", &Machine::engine_message)
      .def_ro("engine_round", &Machine::engine_round)
      .def_prop_ro(
          "node_rates", [](const Machine& m) { return m.node_rates; },
          "Bytes per second of each node's link, if they differ; else empty.")
      .def_prop_ro(
          "node_bandwidth", [](const Machine& m) { return m.node.bandwidth; },
          "Bytes per second that one node sends, or receives; 0: without limit, as in fabric_bandwidth.")
      .def_prop_ro("fabric_bandwidth", [](const Machine& m) { return m.fabric.bandwidth; })
      .def_prop_ro(
          "reduction_rates",
          [](const Machine& m) {
            std::vector<std::pair<std::size_t, double>> rates;
            for (const Rate& rate : m.reduction) rates.emplace_back(rate.from, rate.bandwidth);
            return rates;
          },
          "Pairs of a vector's bytes and the rate from there on (bytes of an operand per second); ascending.")
      .def_prop_ro(
          "shares_memory", [](const Machine& m) { return m.shared.has_value(); },
          "Whether it has the costs of the engine's messages through the shared memory of a node.")
      .def(
          "without_shared_memory",
          [](const Machine& m) {
            Machine other = m;
            other.shared.reset();
            return other;
          },
          "The same machine, on which the MPI library carries all messages.")
      .def_prop_ro(
          "has_device", [](const Machine& m) { return m.device.has_value(); },
          "Whether it has the costs of copies between device and host memory.")
      .def(
          "with_device",
          [](const Machine& m, double to_host, double to_device, double latency) {
            Machine other = m;
            other.device = Device{.latency = latency, .to_host = to_host, .to_device = to_device};
            return other;
          },
          nb::arg("to_host"), nb::arg("to_device"), nb::arg("latency"),
          "The same machine with copies at these bytes per second, after `latency` seconds each.")
      .def("reduction_seconds", &Machine::reduction_seconds, nb::arg("vector_bytes"),
           "The seconds to reduce one byte of a vector of this many bytes.")
      .def(
          "protocols",
          [](const Machine& m, const std::string& level) {
            return m.levels.at(static_cast<std::size_t>(named("level", level, level_names)));
          },
          nb::arg("level"), "The protocols of a level: socket, node or network.");
}

}  // namespace

void bind_models(nb::module_& module) {
  bind_machine(module);
  nb::class_<ClosedForm>(module, "ClosedForm", "A formula of the papers for the cost of an allreduce.")
      .def_prop_ro("algorithm", [](const ClosedForm& f) { return std::string(f.algorithm); })
      .def_prop_ro(
          "label", [](const ClosedForm& f) { return std::string(f.label); }, "Its name in the papers: RNG.")
      .def_prop_ro("source", [](const ClosedForm& f) { return std::string(f.source); })
      .def("seconds", &formula_seconds, nb::arg("message_bytes"), nb::arg("nodes"), nb::arg("ppn"),
           nb::arg("segments"), nb::arg("machine"));
  module.def("closed_forms",
             [] { return std::vector<ClosedForm>(closed_forms().begin(), closed_forms().end()); });

  nb::class_<Prediction>(module, "Prediction")
      .def_prop_ro(
          "seconds", [](const Prediction& p) { return p.end.at(); }, "When the last rank has its result.")
      .def_prop_ro(
          "parts", [](const Prediction& p) { return parts_of(p.end); },
          "Seconds of the critical path: latency, wire, reduction, overhead, waiting, copy.")
      .def_ro("extrapolated", &Prediction::extrapolated,
              "Whether it was extrapolated in a straight line from fewer nodes or segments.");
  nb::class_<BoundPredictor>(module, "Predictor", "Walks the schedules of one recipe on one topology.")
      .def(nb::init<const std::string&, const std::string&, const Topology&, int>(), nb::arg("collective"),
           nb::arg("recipe"), nb::arg("topology"), nb::arg("root") = 0)
      .def("predict", &BoundPredictor::predict, nb::arg("spec"), nb::arg("message_bytes"), nb::arg("machine"),
           nb::arg("model") = "max_rate", nb::arg("overlap") = "measured", nb::arg("arithmetic") = true,
           nb::arg("engine") = true, nb::arg("staging") = "none",
           "The time of a call by `spec`, a spec of this recipe. model: postal, node_aware or max_rate;\n"
           "overlap of sends and receives: measured, full or none; staging: none, or, if the buffers of all\n"
           "ranks are in device memory, segments or whole.")
      .def("copy_seconds", &BoundPredictor::copy_seconds, nb::arg("spec"), nb::arg("message_bytes"),
           nb::arg("machine"),
           "The time of the copies alone, for a call in device memory: of the direction that takes longer,\n"
           "on the root or on another rank.");
}

}  // namespace stretto
