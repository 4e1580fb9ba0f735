// SPDX-License-Identifier: Apache-2.0
// The Python module: shared memory of the ranks of a node.
#include <nanobind/stl/string.h>

#include <array>
#include <cstddef>
#include <string>

#include "bindings/bindings.hpp"
#include "model/machine.hpp"
#include "settings/settings.hpp"
#include "transport/region.hpp"
#include "transport/trial.hpp"

namespace nb = nanobind;

namespace stretto {
namespace {

/// Returns what STRETTO_SHM means on a node with this many ranks. A wrong value is ignored, as in a job.
std::size_t store_bytes_of(const std::string& setting, int ranks) {
  std::string line = "STRETTO_SHM=" + setting;
  std::array<char*, 2> environment{line.data(), nullptr};
  return parse_settings(settings_text(environment.data()))
      .shared_memory_bytes.value_or(RegionShape::usual_store_bytes(ranks));
}

}  // namespace

void bind_transport(nb::module_& module) {
  module.def(
      "shared_memory_bytes",
      [](const std::string& setting, int ranks) -> std::size_t {
        const std::size_t store_bytes = store_bytes_of(setting, ranks);
        return store_bytes == 0 ? 0 : RegionShape::make(ranks, store_bytes).bytes();
      },
      nb::arg("setting"), nb::arg("ranks"),
      "The bytes that each of a node's `ranks` ranks takes if STRETTO_SHM is `setting`; 0: switched off.");
  module.def(
      "shared_memory_pieces",
      [](std::size_t bytes) { return static_cast<int>(SharedMemory::pieces(static_cast<double>(bytes))); },
      nb::arg("message_bytes"), "The number of pieces in which a message goes through shared memory.");
  module.def(
      "try_shared_memory",
      [](const std::string& setting, int ranks) {
        const nb::gil_scoped_release released;
        return try_node_memory(ranks, store_bytes_of(setting, ranks));
      },
      nb::arg("setting"), nb::arg("ranks"),
      "Makes the memory of two of a node's `ranks` ranks, in two processes that pass messages through it.\n"
      "\n"
      "Returns what has failed, in one line; empty if nothing has.");
}

}  // namespace stretto
