// SPDX-License-Identifier: Apache-2.0
// The Python module for everything that does not need MPI: the registry, specs, topologies, schedules and
// their proof. The build makes python/stretto/_core.pyi from it, with the types and these texts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/short_list.hpp"
#include "bindings/bindings.hpp"
#include "schedule/action_text.hpp"
#include "select/spec.hpp"
#include "settings/settings.hpp"
#include "text/known_names.hpp"
#include "topology/cpu_domains.hpp"
#include "topology/topology_text.hpp"
#include "verify/verify.hpp"

namespace nb = nanobind;

namespace stretto {

Collective collective_named(const std::string& name) {
  if (const auto found = find_collective(name)) return *found;
  throw std::invalid_argument("there is no collective \"" + name + "\"" +
                              known_names_text(name, collective_names));
}

Recipe recipe_spelled(const std::string& collective, const std::string& text) {
  const Spec spec = parse_spec(collective_named(collective), text);
  if (spec.is_native()) {
    throw std::invalid_argument("native is the MPI default: Stretto has no schedule for it");
  }
  if (spec.pipelining != Pipelining{}) {
    throw std::invalid_argument("spec \"" + text + "\": all segments have the same schedule; give " +
                                to_string(spec.recipe));
  }
  return spec.recipe;
}

void check_rank(const std::string& what, int rank, const Topology& topology) {
  if (rank >= 0 && rank < topology.ranks()) return;
  throw std::invalid_argument(what + " must be from 0 to " + std::to_string(topology.ranks() - 1) + ", not " +
                              std::to_string(rank));
}

namespace {

std::string text_of(Buffer buffer) {
  constexpr std::array texts{"input", "output", "scratch"};
  return texts.at(static_cast<std::size_t>(buffer));
}

std::string text_of(Kind kind) {
  constexpr std::array texts{"send", "recv", "recv_reduce", "copy", "reduce"};
  return texts.at(static_cast<std::size_t>(kind));
}

std::string text_of(Collective collective) {
  return std::string(name_of(collective));
}

std::optional<Slice> if_any(const Slice& slice) {
  return slice.count > 0 ? std::optional(slice) : std::nullopt;
}

/// A recipe on a topology, with a root; parsed and checked.
struct Placed {
  Placed(const std::string& collective, const std::string& text, const Topology& asked_topology,
         int asked_root)
      : recipe(recipe_spelled(collective, text)), topology(asked_topology), root(asked_root) {
    check_rank("root", root, topology);
    if (root != 0 && !has_root(recipe.algorithm->collective)) {
      throw std::invalid_argument(collective + " has no root");
    }
  }

  Recipe recipe;
  const Topology& topology;
  int root;
};

/// Binds a function of (collective, recipe, topology, root).
template <typename Answer>
void def_placed(nb::module_& module, const char* name, Answer answer, const char* doc) {
  module.def(
      name,
      [answer](const std::string& collective, const std::string& recipe, const Topology& topology, int root) {
        return answer(Placed(collective, recipe, topology, root));
      },
      nb::arg("collective"), nb::arg("recipe"), nb::arg("topology"), nb::arg("root") = 0, doc);
}

std::vector<std::vector<Action>> rounds_of(const Schedule& schedule) {
  std::vector<std::vector<Action>> rounds;
  for (int i = 0; i < schedule.rounds(); ++i) {
    const auto round = schedule.round(i);
    rounds.emplace_back(round.begin(), round.end());
  }
  return rounds;
}

std::vector<std::pair<std::string, std::string>> parts_of(const Algorithm& algorithm) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const Algorithm::Part& part : algorithm.parts) {
    if (!part.usual.empty()) parts.emplace_back(text_of(part.collective), part.usual);
  }
  return parts;
}

std::vector<std::string> texts_of(const std::vector<Recipe>& recipes) {
  std::vector<std::string> texts(recipes.size());
  std::ranges::transform(recipes, texts.begin(), [](const Recipe& recipe) { return to_string(recipe); });
  return texts;
}

std::vector<std::size_t> segment_bytes_of(const Algorithm& algorithm) {
  std::vector<std::size_t> sizes(algorithm.use.segment_bytes.begin(), algorithm.use.segment_bytes.end());
  std::erase(sizes, 0U);
  return sizes;
}

std::vector<std::string> specs_of(const ShortListed& listed) {
  std::vector<std::string> specs;
  if (listed.whole) specs.push_back(to_string(listed.recipe));
  for (const std::size_t bytes : listed.segment_bytes) {
    specs.push_back(to_string(Spec{.recipe = listed.recipe, .pipelining = {.segment_bytes = bytes}}));
  }
  return specs;
}

void bind_registry(nb::module_& module) {
  module.def("collectives", [] {
    std::vector<std::string> names(collectives.size());
    std::ranges::transform(collectives, names.begin(), [](Collective one) { return text_of(one); });
    return names;
  });
  module.def(
      "has_root", [](const std::string& collective) { return has_root(collective_named(collective)); },
      nb::arg("collective"));
  module.def(
      "is_reduction",
      [](const std::string& collective) { return is_reduction(collective_named(collective)); },
      nb::arg("collective"));

  module.def(
      "is_never_cut",
      [](const std::string& collective) { return is_never_cut(collective_named(collective)); },
      nb::arg("collective"),
      "Whether calls have no size that all ranks know, so there are no segments, and no choice by size.");

  nb::class_<Algorithm>(module, "Algorithm")
      .def_prop_ro("collective", [](const Algorithm& a) { return text_of(a.collective); })
      .def_prop_ro("name", [](const Algorithm& a) { return std::string(a.name); })
      .def_prop_ro("description", [](const Algorithm& a) { return std::string(a.description); })
      .def_ro("usual_radix", &Algorithm::usual_radix,
              "The radix unless a spec gives one; 0 if it takes none.")
      .def_ro("moves_runs", &Algorithm::moves_runs,
              "Whether it is never cut into segments where blocks are the caller's, whatever a spec says.")
      .def_prop_ro("parts", &parts_of,
                   "The collective of each algorithm that it is made of, and the usual algorithm.")
      .def_prop_ro(
          "usual", [](const Algorithm& a) { return to_string(usual_recipe(a)); },
          "The recipe with the usual radix and parts: `knomial:radix=4`, `smp(ring)`.")
      .def_prop_ro(
          "short_messages", [](const Algorithm& a) { return a.use.short_messages; },
          "Whether it is good for short messages.")
      .def_prop_ro(
          "long_messages", [](const Algorithm& a) { return a.use.long_messages; },
          "Whether it is good for long messages.")
      .def_prop_ro(
          "as_part", [](const Algorithm& a) { return a.use.as_part; },
          "Whether it is useful inside a composed algorithm.")
      .def_prop_ro("segment_bytes", &segment_bytes_of,
                   "Segment sizes that make its rounds overlap well; empty if it gains little by segments.")
      .def_prop_ro("needs_shared_nodes", &needs_shared_nodes, "Whether it needs nodes of several ranks.")
      .def_prop_ro(
          "recipes", [](const Algorithm& a) { return texts_of(recipes_to_search(a)); },
          "The recipes that a search should try, the usual one first: a composed algorithm with all parts.");
  module.def("algorithms", [] { return std::vector<Algorithm>(algorithms().begin(), algorithms().end()); });
  module.def(
      "sample_recipes",
      [](const std::string& collective) { return texts_of(sample_recipes(collective_named(collective))); },
      nb::arg("collective"),
      "The recipes that the proof tries: for each algorithm the usual one and others with other parameters.");

  nb::class_<ShortListed>(module, "ShortListed",
                          "A recipe that is known to be among the fastest for some messages.")
      .def_prop_ro("recipe", [](const ShortListed& s) { return to_string(s.recipe); })
      .def_ro("short_messages", &ShortListed::short_messages)
      .def_ro("long_messages", &ShortListed::long_messages)
      .def_prop_ro("specs", &specs_of, "The recipe whole and in segments, as far as that is worth trying.");
  module.def(
      "short_list",
      [](const std::string& collective) {
        const auto list = short_list(collective_named(collective));
        return std::vector<ShortListed>(list.begin(), list.end());
      },
      nb::arg("collective"), "The few recipes of a collective that are worth a measurement.");
  module.def(
      "needs_segments",
      [](const std::string& collective, const std::string& recipe) {
        return needs_segments(recipe_spelled(collective, recipe));
      },
      nb::arg("collective"), nb::arg("recipe"),
      "Whether the algorithm, or one of its parts, is slow unless the message is cut into segments.");

  nb::class_<Spec>(module, "Spec")
      .def_prop_ro(
          "algorithm",
          [](const Spec& s) { return std::string(s.is_native() ? "native" : s.recipe.algorithm->name); })
      .def_prop_ro(
          "recipe", [](const Spec& s) { return to_string(s.recipe); },
          "The algorithm with its parameters and parts, without segments.")
      .def_prop_ro(
          "segments", [](const Spec& s) { return s.pipelining.segments; },
          "0 if not set, like segment_bytes and window.")
      .def_prop_ro("segment_bytes", [](const Spec& s) { return s.pipelining.segment_bytes; })
      .def_prop_ro("window", [](const Spec& s) { return s.pipelining.window; })
      .def("__str__", [](const Spec& s) { return to_string(s); });
  module.def(
      "parse_spec",
      [](const std::string& text, const std::string& collective) {
        return parse_spec(collective_named(collective), text);
      },
      nb::arg("text"), nb::arg("collective") = "allreduce",
      "Parses a spec; str() of the result is the canonical spelling.");
}

void bind_schedules(nb::module_& module) {
  nb::class_<Topology>(
      module, "Topology",
      "The places of ranks: nodes, and sockets and NUMA domains, which are numbered from 0 over all nodes.")
      .def(
          "__init__",
          [](Topology* self, const std::string& text) { new (self) Topology(parse_topology(text)); },
          nb::arg("text"),
          "`nodes=8,ppn=4`, `ppn=4+4+1`, `map=0,0,1`, or a line for each rank, as in STRETTO_TOPOLOGY.")
      .def_prop_ro("ranks", &Topology::ranks)
      .def_ro("nodes", &Topology::nodes)
      .def_ro("sockets", &Topology::sockets)
      .def_ro("numas", &Topology::numas)
      .def_ro("l3s", &Topology::l3s, "Groups of ranks that share a last-level cache.")
      .def_ro("node_of", &Topology::node_of)
      .def_ro("socket_of", &Topology::socket_of)
      .def_ro("numa_of", &Topology::numa_of)
      .def_ro("l3_of", &Topology::l3_of)
      .def_ro("by_node", &Topology::by_node, "All ranks, node by node, ascending on each.")
      .def_ro("max_ppn", &Topology::max_ppn)
      .def_ro("min_ppn", &Topology::min_ppn)
      .def_ro("contiguous", &Topology::contiguous, "Whether each node has a run of consecutive ranks.");

  nb::class_<Slice>(module, "Slice")
      .def_prop_ro(
          "buffer", [](const Slice& s) { return text_of(s.buffer); }, "input, output or scratch.")
      .def_ro("first", &Slice::first)
      .def_ro("count", &Slice::count)
      .def_ro("run", &Slice::run, "Consecutive blocks before the next step; 0 if all are consecutive.")
      .def_ro("step", &Slice::step, "The distance from one run to the next; may be negative.");
  nb::class_<Action>(module, "Action",
                     "An action of a rank. str() of it is `send b1→3`, `recv b0-1←5`, `reduce b1=in1+s0`.")
      .def_prop_ro(
          "kind", [](const Action& a) { return text_of(a.kind); },
          "One of:\n"
          "\n"
          "send (left to peer), recv (into from peer), copy (into = left), reduce (into = left op right),\n"
          "recv_reduce (into = left op right, of which None is what arrives).")
      .def_ro("peer", &Action::peer, "The other rank; -1 if there is none.")
      .def_prop_ro("into", [](const Action& a) { return if_any(a.into); })
      .def_prop_ro("left", [](const Action& a) { return if_any(a.left); })
      .def_prop_ro("right", [](const Action& a) { return if_any(a.right); })
      .def("__str__", [](const Action& a) { return to_string(a); });
  nb::class_<Schedule>(module, "Schedule")
      .def_prop_ro("ranks", &Schedule::ranks)
      .def_prop_ro("rank", &Schedule::rank)
      .def_prop_ro("blocks", &Schedule::blocks)
      .def_prop_ro(
          "scratch", [](const Schedule& s) { return s.scratch_shape().all(); },
          "For each scratch block, the block whose size it has.")
      .def_prop_ro("rounds", &rounds_of);
  module.def(
      "build",
      [](const std::string& collective, const std::string& recipe, const Topology& topology, int root,
         int rank) {
        const Placed placed(collective, recipe, topology, root);
        check_rank("rank", rank, topology);
        return build(placed.recipe, topology, root, rank);
      },
      nb::arg("collective"), nb::arg("recipe"), nb::arg("topology"), nb::arg("root"), nb::arg("rank"),
      "The schedule of one rank.");
}

void bind_proof(nb::module_& module) {
  nb::class_<Traffic>(module, "Traffic")
      .def_ro("messages", &Traffic::messages)
      .def_ro("blocks", &Traffic::blocks);
  nb::class_<Proof>(module, "Report", "The result of a proof. Figures are 0 if it does not hold.")
      .def_prop_ro("ok", &Proof::holds)
      .def_ro("error", &Proof::error, "One line, empty if the proof holds.")
      .def_ro("carried_out", &Proof::carried_out,
              "The ranks whose schedules were carried out. If they are not all, they stand for the others.")
      .def_ro("compared", &Proof::compared,
              "The other ranks whose schedules were found to be those of the ranks that stand for them.")
      .def_ro("is_sample", &Proof::is_sample,
              "Ranks stand for others whose schedules were not compared, so this is no proof.")
      .def_ro("keeps_order", &Proof::keeps_order)
      .def_ro("has_fixed_tree", &Proof::has_fixed_tree)
      .def_ro("blocks", &Proof::blocks, "The number of blocks into which the message is cut.")
      .def_ro("rounds", &Proof::rounds, "Rounds with a message on the busiest rank.")
      .def_ro("depth", &Proof::depth,
              "Messages on the longest chain in which each one waits for the one before.")
      .def_ro("messages", &Proof::messages, "Messages that the busiest rank sends.")
      .def_ro("between_nodes", &Proof::between_nodes,
              "The busiest rank's traffic to other nodes; each figure is that of the rank that has most.")
      .def_ro("within_node", &Proof::within_node, "The busiest rank's traffic within its node.")
      .def_ro("link", &Proof::link, "The traffic on the busiest node's link, in the busier direction.");

  def_placed(
      module, "verify",
      [](const Placed& placed) {
        const nb::gil_scoped_release released;
        return verify(placed.recipe, placed.topology, placed.root);
      },
      "Proves the schedules of all ranks, out of place and in place, and what the registry says about "
      "them.\n\n"
      "Where that would take more than about 3 GiB, ranks that behave alike stand for the others: all\n"
      "schedules are compared, or, if they have more than 2^31 actions, some (is_sample). Raises ValueError\n"
      "if there are no such ranks.");
  def_placed(
      module, "keeps_order",
      [](const Placed& placed) { return keeps_order(placed.recipe, placed.topology, placed.root); },
      "Whether the registry says that every result is a0 op a1 op … in rank order.");
  def_placed(
      module, "has_fixed_tree",
      [](const Placed& placed) { return has_fixed_tree(placed.recipe, placed.topology, placed.root); },
      "Whether the registry says that every result is the expression of the fixed tree.");
  module.def(
      "known_names_text",
      [](const std::string& wrong, const std::vector<std::string>& known) {
        return known_names_text(wrong, known);
      },
      nb::arg("wrong"), nb::arg("known"),
      "The end of a message about a name that is not known: the nearest known one, or all of them.");
  def_placed(
      module, "why_unsupported",
      [](const Placed& placed) {
        return std::string(
            placed.recipe.algorithm->why_unsupported(task_of(placed.recipe, placed.topology, placed.root)));
      },
      "Why the recipe is not supported there, in a few words; empty if it is supported.");
}

}  // namespace

void bind_settings(nb::module_& module) {
  module.def(
      "cache_groups", [] { return group_by_cache(allowed_cpus()); },
      "The processors that this process may use, grouped by the last-level cache that they share.");
  module.def(
      "complaints",
      [](const std::string& name, const std::string& value) {
        std::vector<std::string> errors;
        for (const Complaint& complaint : read_settings({{name, value}}).complaints)
          errors.push_back(complaint.error);
        return errors;
      },
      nb::arg("name"), nb::arg("value"),
      "What is wrong with this environment variable, if it is a setting of Stretto.");
}

NB_MODULE(_core, module) {
  module.doc() =
      "The parts of Stretto's C++ core that do not need MPI: the registry, specs, topologies, schedules and "
      "their proof.\n\n"
      "A text that cannot be read, or a rank or root that does not exist, raises a ValueError of one line.";
  module.def("version", [] { return std::string(STRETTO_VERSION); });
  bind_registry(module);
  bind_schedules(module);
  bind_proof(module);
  bind_models(module);
  bind_fabrics(module);
  bind_settings(module);
  bind_tables(module);
  bind_claims(module);
  bind_transport(module);
}

}  // namespace stretto
