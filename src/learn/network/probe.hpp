// SPDX-License-Identifier: Apache-2.0
// Measures the network of a job, in at most some 100 ms, to find out which specs are worth trying there.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/machine.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// The pattern of senders and receivers. All ranks take part at once.
enum class Flow : std::uint8_t {
  around,   // each node sends to the next one and receives from the one before; likewise ranks inside a node
  one_way,  // every second one only sends, to the next one
  reduced,  // as around, in two rounds: each one adds what it receives to what it has, and passes that on
};

/// A measurement: calls of a schedule of one round (Flow::reduced: two), with `messages` messages in flight
/// at once.
struct ProbeStep {
  Level level = Level::network;
  Flow flow = Flow::around;
  std::size_t bytes = 0;  // of a message
  int messages = 1;
  int calls = 1;
  /// Whether the step is measured only on links that are fast enough for it.
  bool is_for_fast_links = false;

  /// The blocks of the schedule: one for each round.
  [[nodiscard]] int blocks() const { return flow == Flow::reduced ? 2 : 1; }
  [[nodiscard]] std::size_t call_bytes() const {
    return bytes * static_cast<std::size_t>(messages) * static_cast<std::size_t>(blocks());
  }
};

inline constexpr std::size_t probe_messages = 8;
inline constexpr std::size_t probe_step_count = 20;
/// The steps, in the order in which they are measured. Links may have saved up some 256 KiB that pass at once
/// (a token bucket). So the first long stream is sent twice in a row, and the second one counts.
extern const std::array<ProbeStep, probe_step_count> probe_steps;

/// [step] The seconds of a call on the slowest rank; 0: not measured.
using ProbeFigures = std::array<double, probe_step_count>;

/// Whether communicators of this topology have such messages at all.
[[nodiscard]] bool is_measurable(const ProbeStep& step, const Topology& topology);

/// Returns the actions of one rank: at most one send and one receive of a whole message in each round.
[[nodiscard]] Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank);
/// The same, with only its sends or only its receives.
enum class Half : std::uint8_t { sends, receives };
[[nodiscard]] Schedule probe_schedule(const ProbeStep& step, const Topology& topology, int rank, Half half);

/// Returns one rank's figure for a step, from the seconds of all its calls. If there are several, the first
/// one does not count, because it sets up connections.
[[nodiscard]] double probe_figure(const ProbeStep& step, std::vector<double> seconds);

/// How much later single messages were than their figures say, on one rank. Where other programs use its
/// core, a rank waits for that core before it goes on after a message.
class Lateness {
 public:
  /// Adds all calls of a step. The first one does not count, nor do streams.
  void add(const ProbeStep& step, std::span<const double> seconds);
  /// Returns the mean, in seconds of a round.
  [[nodiscard]] double of_round() const { return rounds_ > 0 ? seconds_ / rounds_ : 0; }

 private:
  double seconds_ = 0;
  double rounds_ = 0;
};

/// Whether the steps for fast links are worth their time, judged by the figures of the other steps.
[[nodiscard]] bool has_fast_links(const ProbeFigures& figures, const Topology& topology);

/// Returns the step that shows the rate of links, above all of slow ones: a stream that is sent twice in a
/// row. Its figure is the time between the ends of the two streams on the rank that receives them.
[[nodiscard]] std::size_t long_stream();
/// Returns how many times more the long stream is sent. A rank that loses its core for some milliseconds
/// looks like a slow link, so one stream says little where ranks have waited for their cores (`busy` as in
/// MeasuredNetwork), unless links take much longer than that. The rates of the nodes' links, once found, are
/// used for long, so slow links always carry it more than once.
[[nodiscard]] int more_long_streams(const ProbeFigures& figures, double busy, const Topology& topology);

/// What one rank has measured of the long streams, in seconds.
class LongStreams {
 public:
  /// Adds a stream: the time between the ends of both copies, and the time in which both were received.
  void add(double second, double received);
  /// The figure of the step: the median.
  [[nodiscard]] double figure() const;
  /// For find_rates(): the least. Other programs only delay a stream.
  [[nodiscard]] double received() const { return received_; }

 private:
  std::vector<double> seconds_;
  double received_ = 0;
};

/// The stream that shows whether several connections to a rank carry more than one does. Two copies are sent
/// at once, so that the bytes that each connection has saved up are a small part.
extern const ProbeStep stream_of_streams;
/// Returns how many connections to use, from the seconds of both streams by one connection and by `several`.
/// Clouds limit what a single connection carries; where the link or the cores are the limit, more connections
/// do not help.
[[nodiscard]] int streams_worth(double by_one, int several, double by_several);

/// Whether messages between nodes take less time than TCP takes on any network.
[[nodiscard]] bool is_faster_than_tcp(const ProbeFigures& figures);
/// Returns the streams, shortest first, that show from which message length on Stretto's own connections are
/// faster than the MPI library. `figures` says how fast the links are; `ppn` ranks of each node send at once.
/// The longer stream does not fit into a core's caches: a stream that fits may take twice as long, depending
/// on its place in memory.
[[nodiscard]] std::array<ProbeStep, 2> streams_by_connections(const ProbeFigures& figures, int ppn);
/// Returns that length, from the seconds of each stream: there Stretto's connections are faster, and they are
/// no slower for longer messages. 0: there is no such length.
[[nodiscard]] std::size_t connections_worth(const std::array<double, 2>& by_library,
                                            const std::array<double, 2>& by_connections);

/// Returns the bytes per second of each node's link, from the seconds in which each rank has received both
/// streams. (MPI libraries may send them side by side, so the time between their ends says less.) A node
/// receives from the one before it at the rate of the slower of their links. So the better of a node's two
/// transfers, with the node before it and with the one behind it, shows its own rate, unless its link is
/// faster than those of both neighbours. Returns nothing if the links are alike.
[[nodiscard]] std::vector<double> find_rates(const std::vector<double>& received, const Topology& topology);

/// The seconds in which one rank reduces a byte, measured along with the messages.
struct ProbeReduction {
  double short_seconds = 0;  // of a vector that fits into a cache
  double long_seconds = 0;   // of one that does not
};

/// What a rank knows about the machine that it runs on.
struct Host {
  /// A number that is equal for all ranks under one kernel, whatever their host names. 0: not known.
  std::uint64_t kernel = 0;
  /// The processors that the rank may use, from number 0 on. Those beyond the last bit count as unused.
  std::bitset<512> processors;
};

/// Returns how ranks share cores, from each rank's host. The result is empty if each rank has a core of its
/// own, or if hosts differ.
[[nodiscard]] SharedCores find_shared_cores(const std::vector<Host>& hosts, const Topology& topology);

/// Returns the machine on which the model predicts the measured times. `figures` and `reduction` are those of
/// the slowest rank; `rates` is the result of find_rates(). `late` is the time that a round takes longer
/// because ranks wait for their cores (Lateness): cutting a call into segments costs that time for each.
[[nodiscard]] Machine fit_probe(const ProbeFigures& figures, const ProbeReduction& reduction,
                                const Topology& topology, const SharedCores& shared = {},
                                const std::vector<double>& rates = {}, double late = 0);

}  // namespace stretto
