// SPDX-License-Identifier: Apache-2.0
// The phases of a calibration, each in its own file, and the events that they print: "points", with "what"
// and the seconds of each sample.
#pragma once

#include <memory>

#include "bench/calibration/common/phase.hpp"

namespace stretto::bench {

/// Measures messages of a level roughly, once, before anything else: latency and bandwidth.
std::unique_ptr<Phase> make_probe(Site& site, std::size_t level, const Phase::OnProgress& on_progress);

/// Measures trains of large messages after a pause, over the network. They show whether an idle link has
/// saved up bytes, and which bandwidth it sustains. {"what": "train", "level", "bytes", "window"}: seconds
/// from the start of a train until each of its messages had arrived, train after train; a smaller value
/// begins a new train.
std::unique_ptr<Phase> make_train(Site& site, std::size_t level, const Phase::OnProgress& on_progress);

/// {"what": "eager", "level", "bytes", "synchronous"}: the longest message found whose send does not wait for
/// its receive, and the shortest longer one whose send does, or null. There are no seconds. {"what":
/// "ping-pong", "level", "bytes", "count"}: seconds of one message, the mean of `count` there and `count`
/// back.
std::unique_ptr<Phase> make_ping_pong(Site& site, std::size_t level, const Phase::OnProgress& on_progress);

/// {"what": "one-way", "exchange" or "shift", "level", "bytes", "count"}: seconds of a message and the
/// receiver's answer, of two messages in opposite directions, or of one from each of three ranks to the next;
/// the mean of `count` in a row. The samples of a size were taken one after the other, so those with the same
/// index belong together.
std::unique_ptr<Phase> make_duplex(Site& site, std::size_t level, const Phase::OnProgress& on_progress);

/// The limits that messages between several ranks share.
enum class Limit { node, memory, fabric };

/// {"what": "flows", "limit", "flows", "pairs", "bytes", "messages", "window", "both_ways"}: seconds until
/// each of `flows` senders has sent `messages` messages to its receiver, with `window` of them in flight,
/// between `pairs` pairs of nodes. `both_ways`: each receiver sends the same number of messages at the same
/// time.
std::unique_ptr<Phase> make_flows(Site& site, Limit limit, const Phase::OnProgress& on_progress);
/// Whether there are enough ranks to measure the limit.
bool has_flows(const Site& site, Limit limit);

/// {"what": "reduction", "bytes", "ranks"}: seconds of into <- left op right, each a vector of `bytes` bytes,
/// on all ranks at once; those of the slowest rank.
std::unique_ptr<Phase> make_reduction(Site& site, const Phase::OnProgress& on_progress);

/// {"what": "shared", "level", "flow", "bytes"}: seconds of a call of Stretto on two ranks of a node, whose
/// messages go through shared memory: an allreduce by recursive doubling ("exchange") or by the ring
/// ("ring"), or a broadcast with alternating roots ("one-way"). The calls are in a row, with the same
/// buffers.
std::unique_ptr<Phase> make_shared_memory(Site& site, const Phase::OnProgress& on_progress);
/// Whether ranks share a node and STRETTO_SHM does not switch shared memory off. (If shared memory does not
/// work there, the figures are still those of the engine's messages.)
bool has_shared_memory(const Site& site);

/// {"what": "engine", "level", "spec", "ranks", "bytes"}: seconds of an allreduce of this many bytes by a
/// spec of Stretto among this many ranks. {"what": "messages", "level", "bytes", "messages"}: seconds until
/// two ranks have exchanged this many messages of the MPI library, posted at once. {"what": "round-trip",
/// "level", "bytes"}: seconds of half a round trip.
std::unique_ptr<Phase> make_engine(Site& site, int ranks, const Phase::OnProgress& on_progress);
/// Whether there are this many ranks close to each other, with a core for each.
bool has_engine(const Site& site, int ranks);

}  // namespace stretto::bench
