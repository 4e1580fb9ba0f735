// SPDX-License-Identifier: Apache-2.0
// What a job measures of its network, in at most some 100 ms, to know which specs are worth trying there.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/machine.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Who sends to whom. All ranks take part at once.
enum class Flow : std::uint8_t {
  around,   // each node sends to the next one and receives from the one before; likewise ranks inside a node
  one_way,  // every other one only sends, to the next one
  reduced,  // as around, in two rounds: each one adds what it receives to what it has, and passes that on
};

/// A measurement: calls of a schedule of one round, in so many messages that are in flight at once.
struct ProbeStep {
  Level level = Level::network;
  Flow flow = Flow::around;
  std::size_t bytes = 0;  // of a message
  int messages = 1;
  int calls = 1;
  /// Only on links that are fast enough for it.
  bool is_for_fast_links = false;

  /// A message of each round.
  [[nodiscard]] int blocks() const { return flow == Flow::reduced ? 2 : 1; }
  [[nodiscard]] std::size_t call_bytes() const {
    return bytes * static_cast<std::size_t>(messages) * static_cast<std::size_t>(blocks());
  }
};

inline constexpr std::size_t probe_messages = 8;
inline constexpr std::size_t probe_step_count = 20;
/// In the order in which they are measured. Links may have saved up some 256 KiB that pass at once (a token
/// bucket). So the first long stream is sent twice in a row, and the second one counts.
extern const std::array<ProbeStep, probe_step_count> probe_steps;

/// [step] seconds of a call on the slowest rank; 0: not measured.
using ProbeFigures = std::array<double, probe_step_count>;

/// Whether communicators of this topology have such messages at all.
[[nodiscard]] bool is_measurable(const ProbeStep& step, const Topology& topology);

/// The actions of one rank: at most one send and one receive of the whole message.
[[nodiscard]] Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank);
/// One of the two.
enum class Half : std::uint8_t { sends, receives };
[[nodiscard]] Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank, Half half);

/// One rank's figure of a step, from the seconds of all of its calls. The first one, which sets up
/// connections, does not count.
[[nodiscard]] double probe_figure(const ProbeStep& step, std::vector<double> seconds);

/// Whether the steps for fast links are worth their time, by the figures of the others.
[[nodiscard]] bool has_fast_links(const ProbeFigures& figures, const Topology& topology);

/// The step that tells the rate of links, slow ones above all: a stream that is sent twice in a row. Its
/// figure is the time between the ends of both on the rank that receives them.
[[nodiscard]] std::size_t long_stream();

/// The stream that shows whether several connections to a rank carry more than one does. It is sent twice at
/// once: what each connection has saved up is a small part of it.
extern const ProbeStep stream_of_streams;
/// Returns how many connections to use, from the seconds of both streams by one connection and by so many.
/// Clouds limit what a single connection carries; where the link or the cores are the limit, more are of no
/// use.
[[nodiscard]] int streams_worth(double by_one, int several, double by_several);

/// Whether messages between nodes take less time than by TCP on any network.
[[nodiscard]] bool is_faster_than_tcp(const ProbeFigures& figures);
/// The streams that show from which length of messages on connections of Stretto's own carry them faster than
/// the MPI library, shortest first; of one of so many ranks on each node, on such links. The longer stream is
/// more than a core's caches hold: what fits there takes one time or its double, as its memory happens to
/// lie.
[[nodiscard]] std::array<ProbeStep, 2> streams_by_connections(const ProbeFigures& figures, int ppn);
/// Returns that length, from the seconds of each stream: they are faster there, and longer messages take no
/// longer. 0: there is none.
[[nodiscard]] std::size_t connections_worth(const std::array<double, 2>& by_library,
                                            const std::array<double, 2>& by_connections);

/// Returns the bytes per second of each node's link, from the seconds in which each rank has received both
/// streams. (Libraries may send them side by side, so the time between their ends says less.) A node receives
/// from the one before it by the slower of their links, so the faster one of its two neighbours tells its own
/// rate, if that is not faster still. Empty if the links are alike.
[[nodiscard]] std::vector<double> find_rates(const std::vector<double>& received, const Topology& topology);

/// The seconds in which one rank reduces a byte, measured beside the messages.
struct ProbeReduction {
  double short_seconds = 0;  // of a vector that fits into a cache
  double long_seconds = 0;   // of one that does not
};

/// What a rank knows of the machine that it runs on.
struct Host {
  /// The same for all that run under one kernel, whatever their host names. 0: not known.
  std::uint64_t kernel = 0;
  /// The processors that it may use, from 0 on; later ones count as used by nobody.
  std::bitset<512> processors;
};

/// Returns how ranks share cores, from each rank's host. Nothing if each rank has one, or if hosts differ.
[[nodiscard]] SharedCores find_shared_cores(const std::vector<Host>& hosts, const Topology& topology);

/// The machine on which the probe would take as long. `figures` and `reduction` are of the slowest rank;
/// `rates` is what find_rates() returned.
[[nodiscard]] Machine fit_probe(const ProbeFigures& figures, const ProbeReduction& reduction,
                                const Topology& topology, const SharedCores& shared = {},
                                const std::vector<double>& rates = {});

}  // namespace stretto
