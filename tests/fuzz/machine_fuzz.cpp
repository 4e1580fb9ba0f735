// SPDX-License-Identifier: Apache-2.0
// The reader of machine files: any text is a machine with usable figures, or is refused in one line.
#include "model/machine_text.hpp"

#include <cmath>

#include "fuzz.hpp"

namespace stretto {
namespace {

using fuzz::demand;

void use(const Machine& machine) {
  for (const Level level : {Level::socket, Level::node, Level::network}) {
    const auto& protocols = machine.levels[static_cast<std::size_t>(level)];
    demand(!protocols.empty() && protocols.front().from == 0, "a level begins at 0");
    std::size_t before = 0;
    for (const Protocol& protocol : protocols) {
      demand(&protocol == &protocols.front() || protocol.from > before, "protocols ascend");
      before = protocol.from;
      demand(&machine.protocol(level, protocol.from) == &protocol, "a protocol is found by its size");
      const double seconds = protocol.latency + 1e9 / protocol.bandwidth;
      demand(std::isfinite(seconds) && seconds > 0, "a message takes some time");
    }
  }
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 40}) {
    const double seconds = machine.reduction_seconds(bytes);
    demand(std::isfinite(seconds) && seconds >= 0, "a reduction takes some time");
  }
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::fuzz::read_or_refuse(data, size,
                                [](std::string_view text) { stretto::use(stretto::parse_machine(text)); });
  return 0;
}
