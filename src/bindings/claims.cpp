// SPDX-License-Identifier: Apache-2.0
// The Python module: who decides how a call is carried out.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "learn/network/modelled.hpp"
#include "select/claims.hpp"
#include "select/floors.hpp"
#include "select/rule.hpp"

namespace nb = nanobind;

namespace stretto {
namespace {

/// A claim, and what a job makes of it.
struct ClaimInJob {
  Claim claim;
  bool decides = false;
  bool is_compared = false;
};

/// Whether the call that is explained is in place. PyTorch reduces so.
bool is_explained_in_place(Collective collective, bool has_library) {
  return !has_library && collective == Collective::allreduce;
}

/// Returns the spec that a variable forces. Throws std::invalid_argument if it cannot be read.
const std::optional<Spec>& forced_by(const Settings& settings, Collective collective) {
  const auto wrong = std::ranges::find(settings.complaints, variable_of(collective), &Complaint::variable);
  if (wrong != settings.complaints.end()) throw std::invalid_argument(wrong->error);
  return settings.forced_for(collective);
}

std::map<std::string, std::string> list_forced(const Settings& settings) {
  std::map<std::string, std::string> forced;
  for (const Collective collective : collectives) {
    if (const auto& spec = settings.forced_for(collective))
      forced[variable_of(collective)] = to_string(*spec);
  }
  return forced;
}

/// Returns the question about a blocking call out of place. Jobs without an MPI library have non-blocking
/// calls only.
Question question_of(Collective collective, std::size_t bytes, const Topology& topology, bool has_library) {
  const Form form = has_library ? Form::blocking : Form::non_blocking;
  Question question{.call = shape_of(collective, bytes, topology, form),
                    .topology = topology,
                    .has_library = has_library,
                    .must_avoid_library = !has_library};
  question.call.shares_memory = true;
  return question;
}

std::vector<Finding> find_modelled(const Question& question, const Machine& machine) {
  const CallShape& call = question.call;
  if (call.bytes == 0) return {};
  if (question.has_library) return find_fastest(question, machine);
  const bool is_modelled =
      std::ranges::find(modelled_without_library, call.collective) != modelled_without_library.end();
  if (!is_modelled || call.nodes < 2) return {};
  CallShape shape = call;
  shape.bytes = modelled_length(call.bytes);
  return find_fastest_without_library(shape, question.topology, machine);
}

std::vector<ClaimInJob> all_claims_in_job(const std::string& name, std::size_t bytes,
                                          const Topology& topology, const Environment& environment,
                                          const Table* table, const Fabric* fabric, bool has_library) {
  const Collective collective = collective_named(name);
  const Settings settings = read_settings(environment);
  Question question = question_of(collective, bytes, topology, has_library);
  question.call.shares_memory = settings.shared_memory_bytes != 0;
  question.learning = learning_settings(settings);
  const FloorFacts facts{.table = table,
                         .shares_memory = question.call.shares_memory,
                         .max_ppn = topology.max_ppn,
                         .learns = settings.online != Online::off};
  question.least_learnt = floors_of(topology.nodes, topology.ranks(), facts).comparison_of(collective);
  const Spec native;
  const std::optional<Spec>& forced = settings.disabled ? std::nullopt : forced_by(settings, collective);
  if (forced) question.wanted = &*forced;
  if (settings.disabled) question.wanted = &native;
  if (table != nullptr)
    question.table = table->find_shape(topology.nodes, topology.min_ppn, topology.max_ppn);
  std::optional<Finding> learnt;
  std::vector<Finding> modelled;
  if (fabric != nullptr) {
    const auto decision =
        find_decision(*fabric, collective, bytes, topology, is_explained_in_place(collective, has_library),
                      has_library ? Form::blocking : Form::non_blocking);
    if (decision) {
      learnt = {.spec = decision->spec, .seconds = decision->seconds, .bytes = decision->bytes};
      question.learnt = &*learnt;
    }
    const auto& measured = fabric->measured();
    if (measured && measured->covers(topology.nodes, topology.max_ppn))
      modelled = find_modelled(question, measured->machine);
    question.modelled = modelled;
  }
  std::vector<ClaimInJob> found;
  bool is_decided = false;
  const std::vector<Claim> claims = all_claims(question);
  for (const Claim& claim : claims) {
    const bool decides = claim.spec && !is_decided;
    is_decided = is_decided || decides;
    const bool is_tried = decides && is_compared(claim, claims, question);
    found.push_back({.claim = claim, .decides = decides, .is_compared = is_tried});
  }
  return found;
}

std::string online_name(Online online) {
  switch (online) {
    case Online::freeze:
      return "freeze";
    case Online::off:
      return "0";
    default:
      return "";
  }
}

}  // namespace

Settings read_settings(const Environment& environment) {
  std::vector<std::string> lines;
  lines.reserve(environment.size());
  for (const auto& [name, value] : environment) lines.push_back(name + '=' + value);
  std::vector<char*> variables;
  variables.reserve(lines.size() + 1);
  for (std::string& line : lines) variables.push_back(line.data());
  variables.push_back(nullptr);
  return parse_settings(settings_text(variables.data()));
}

void bind_claims(nb::module_& module) {
  nb::class_<ClaimInJob>(module, "Claim",
                         "The claim of a source of choices on a call. The first one with a spec decides.")
      .def_prop_ro("source", [](const ClaimInJob& one) { return std::string(name_of(one.claim.source)); })
      .def_prop_ro(
          "spec",
          [](const ClaimInJob& one) {
            return one.claim.spec ? std::optional(to_string(*one.claim.spec)) : std::nullopt;
          },
          "None: the source has no spec, or none that can carry the call out.")
      .def_prop_ro(
          "refusal", [](const ClaimInJob& one) { return one.claim.refusal; },
          "Why a spec of this source cannot carry the call out (`does not ...`); empty if it can.\n"
          "\n"
          "If it is the user's, `spec` is what is used instead.")
      .def_prop_ro(
          "unused", [](const ClaimInJob& one) { return one.claim.unused; },
          "Why findings of this source do not count for the call; empty if they do.")
      .def_prop_ro(
          "seconds", [](const ClaimInJob& one) { return if_known(one.claim.seconds); },
          "The time of a call of `bytes`, by a duel or by the model.")
      .def_prop_ro("bytes", [](const ClaimInJob& one) { return one.claim.bytes; })
      .def_prop_ro(
          "row",
          [](const ClaimInJob& one) {
            return one.claim.row == nullptr ? std::nullopt : std::optional(one.claim.row->text);
          },
          "The row of the built-in rule; None: no row holds, which means `native`, or it is not the rule's.")
      .def_ro("decides", &ClaimInJob::decides)
      .def_ro("is_compared", &ClaimInJob::is_compared,
              "Whether it decides, but a job's first calls compare it: with the MPI default or, without MPI, "
              "with other specs.");
  module.def(
      "is_explained_in_place",
      [](const std::string& collective, bool has_library) {
        return is_explained_in_place(collective_named(collective), has_library);
      },
      nb::arg("collective"), nb::arg("has_library"),
      "Whether all_claims() is about a call in place: PyTorch's allreduce is one.");
  module.def(
      "all_claims", &all_claims_in_job, nb::arg("collective"), nb::arg("nbytes"), nb::arg("topology"),
      nb::arg("environment"), nb::arg("table").none() = nb::none(), nb::arg("fabric").none() = nb::none(),
      nb::arg("has_library") = true,
      "What sources say of a blocking call, out of place, in a job with this environment, in the order\n"
      "in which they count: the user, a tuning table, duels, the model, the rule.\n"
      "\n"
      "Raises ValueError if the variable that forces a spec cannot be read.");
  module.def(
      "find_modelled",
      [](const std::string& collective, std::size_t bytes, const Topology& topology, const Machine& machine,
         bool has_library) {
        const Question question = question_of(collective_named(collective), bytes, topology, has_library);
        std::vector<std::tuple<std::string, double, std::size_t>> specs;
        for (const Finding& finding : find_modelled(question, machine))
          specs.emplace_back(to_string(finding.spec), finding.seconds, finding.bytes);
        return specs;
      },
      nb::arg("collective"), nb::arg("nbytes"), nb::arg("topology"), nb::arg("machine"),
      nb::arg("has_library") = true,
      "The specs that a job considers on such a network, each with the seconds and the bytes of a call.\n"
      "\n"
      "With an MPI library, calls are learnt by kinds: from a power of two to just below the next one. The\n"
      "specs serve all of them, and the times are those of the shortest one. The fastest comes first, then\n"
      "the same algorithm in other cuts, then other algorithms. Without a library, it is the best spec.");
  nb::class_<Settings>(module, "JobSettings",
                       "The environment variables about the choice, as jobs read them.")
      .def(
          "__init__",
          [](Settings* self, const Environment& environment) {
            new (self) Settings(read_settings(environment));
          },
          nb::arg("environment"))
      .def_ro("is_disabled", &Settings::disabled)
      .def_ro("is_strict", &Settings::strict)
      .def_prop_ro(
          "online", [](const Settings& settings) { return online_name(settings.online); },
          "The value of STRETTO_ONLINE that counts: empty, `freeze` or `0`.")
      .def_prop_ro(
          "why_nothing_is_learnt",
          [](const Settings& settings) {
            return std::string(why_nothing_is_learnt(learning_settings(settings)));
          },
          "The setting, other than STRETTO_ONLINE, that keeps jobs from using any finding; empty: none does.")
      .def_prop_ro("forced", &list_forced, "The variables that force a spec, with their values.");
  module.def(
      "variable_of", [](const std::string& name) { return variable_of(collective_named(name)); },
      nb::arg("collective"), "The variable that forces a spec.");
}

}  // namespace stretto
