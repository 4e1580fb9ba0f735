// SPDX-License-Identifier: Apache-2.0
// What a platform says about its hosts beyond what SimGrid's XML has words for, as properties of the hosts
// (docs/simulation.md):
//
//   stretto/network    protocols between nodes
//   stretto/node       protocols between ranks of one node
//   stretto/hop        seconds that a link costs beyond the two that all messages between nodes take
//   stretto/reduction  bytes of an operand that a core reduces in a second, by bytes of the vector
//   stretto/message    seconds of a core that the engine takes for a message at each of its ends
//   stretto/round      the same for a round
//
// A protocol is `from:latency:bandwidth`: from so many bytes on, a message alone takes `latency` seconds and
// its bytes / `bandwidth`. Rows stand between semicolons, as in SMPI's own options. What messages share are
// the platform's links, with the bandwidths that they have there. A host without properties is what SimGrid
// and SMPI make of it, and reduces in no time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stretto::simulate {

/// From so many bytes on.
struct Row {
  double from;
  std::vector<double> values;
};

/// The rows of a property of this rank's host, ascending; none if it has no such property. Throws
/// std::invalid_argument with one line that names what cannot be read.
std::vector<Row> rows_of(const std::string& property, std::size_t values);

/// The last row that begins at or below; rows must not be empty.
const Row& row_for(const std::vector<Row>& rows, double bytes);

/// The only value of a property; 0 if this rank's host has none.
double value_of(const std::string& property);

/// Lets messages go by the protocols of their hosts, in place of SMPI's factors of latency and
/// bandwidth. Returns how many messages it takes to fill a link between nodes. To be called once in a
/// simulation, before any message.
std::size_t set_protocols();

}  // namespace stretto::simulate
