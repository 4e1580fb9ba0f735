// SPDX-License-Identifier: Apache-2.0
// Properties of the hosts of a platform that SimGrid's XML cannot express (research/docs/simulation.md):
//
//   stretto/network    protocols between nodes
//   stretto/node       protocols between ranks of one node
//   stretto/hop        seconds that each link costs, beyond the two links of every message between nodes
//   stretto/reduction  bytes of an operand that a core reduces in a second, by bytes of the vector
//   stretto/message    seconds of a core that the engine takes for a message at each of its ends
//   stretto/round      the same for a round
//
// A protocol is `from:latency:bandwidth`: from `from` bytes on, a single message takes `latency` seconds plus
// its bytes / `bandwidth`. Semicolons separate rows, as in SMPI's options. Limits that messages share are the
// platform's links, with their bandwidths. A host without properties behaves as SimGrid and SMPI define it,
// and its reductions take no time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stretto::simulate {

/// A value that applies from this many bytes on.
struct Row {
  double from;
  std::vector<double> values;
};

/// Returns the rows of a property of this rank's host, ascending; none if the host has no such property.
/// Throws std::invalid_argument with one line that names what cannot be read.
std::vector<Row> rows_of(const std::string& property, std::size_t values);

/// Returns the last row that begins at this many bytes or below. There must be rows.
const Row& row_for(const std::vector<Row>& rows, double bytes);

/// Returns the only value of a property; 0 if this rank's host does not have it.
double value_of(const std::string& property);

/// Makes messages use the protocols of their hosts in place of SMPI's factors for latency and bandwidth.
/// Returns how many messages fill a link between nodes. Call it once in a simulation, before any message.
std::size_t set_protocols();

}  // namespace stretto::simulate
