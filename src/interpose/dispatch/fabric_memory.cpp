// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/fabric_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "interpose/communicators/connect_nodes.hpp"
#include "interpose/dispatch/network_probe.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/fabric_identity.hpp"
#include "interpose/session/session.hpp"
#include "learn/fabrics/fabric_file.hpp"
#include "sockets/endpoint.hpp"
#include "threads/backoff.hpp"
#include "threads/core_time.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// The results that this process knows. Only a rank that is rank 0 of a communicator asks for them.
struct Memory {
  std::mutex mutex;
  bool is_read = false;
  std::string path;
  Fabric fabric{FabricIdentity{}};
  Fabric own{FabricIdentity{}};  // found by this job
  bool has_looked_again = false;
  /// The part of `fabric` for communicators of one shape, because a program may make many of them. It is
  /// written anew when the shape or `fabric` changes.
  struct Part {
    int nodes;
    int min_ppn;
    int max_ppn;
    std::string text;
  };
  std::optional<Part> part = std::nullopt;
};
Memory& memory() {
  static auto& one = make_immortal<Memory>();
  return one;
}

/// To be called with the lock held.
void read_once(Memory& now) {
  if (std::exchange(now.is_read, true)) return;
  const FabricIdentity identity = find_identity();
  const std::string& setting = session.settings.fabric_file;
  now.path = setting.empty() ? fabric_path(identity) : setting == "none" ? "" : setting;
  std::string error;
  now.fabric = now.path.empty() ? Fabric(identity) : read_fabric(now.path, identity, error);
  now.own = Fabric(identity);
  if (!error.empty()) {
    complain_once_on_rank_0(now.path + ": " + error +
                            "; the findings of earlier jobs about this network are not used");
  }
}

bool has_shape_of(const CallKind& kind, const Topology& topology) {
  return kind.nodes == topology.nodes && kind.min_ppn == topology.min_ppn && kind.max_ppn == topology.max_ppn;
}

/// Returns the part of its time so far in which this thread waited for its core.
double busy_so_far() {
  return CoreTime::of_this_thread().waited_since({});
}

/// Returns the results for communicators of this shape as text; empty if there are none. Leaves out results
/// from a busy machine if this job can find better ones.
std::string text_for(const Topology& topology) {
  Memory& now = memory();
  const std::lock_guard lock(now.mutex);
  read_once(now);
  if (now.part && now.part->nodes == topology.nodes && now.part->min_ppn == topology.min_ppn &&
      now.part->max_ppn == topology.max_ppn) {
    return now.part->text;
  }
  Fabric part{FabricIdentity{}};
  const bool measures = session.settings.online == Online::guard;
  const bool may_find_better =
      measures && !Backoff::is_crowded() && !now.has_looked_again && busy_so_far() < busy_from;
  bool is_whole = true;
  const auto keep = [&](const auto& finding) {
    if (may_find_better && finding.is_busy()) {
      now.has_looked_again = true;
      is_whole = false;
    } else {
      part.keep(finding);
    }
  };
  for (const Decision& decision : now.fabric.decisions()) {
    if (has_shape_of(decision.kind, topology)) keep(decision);
  }
  if (now.fabric.measured()) keep(*now.fabric.measured());
  std::string text = part.is_empty() ? "" : part.text();
  if (!is_whole) return text;
  now.part = Memory::Part{
      .nodes = topology.nodes, .min_ppn = topology.min_ppn, .max_ppn = topology.max_ppn, .text = text};
  return text;
}

/// Reads the text of text_for(). Reading takes longer than many calls do, and communicators of one shape get
/// the same text, so the latest result is kept.
Fabric fabric_of(const std::string& text) {
  if (text.empty()) return Fabric(FabricIdentity{});
  struct Read {
    std::mutex mutex;
    std::string text;
    Fabric fabric{FabricIdentity{}};
  };
  static auto& latest = make_immortal<Read>();
  const std::lock_guard lock(latest.mutex);
  if (latest.text != text) {
    latest.fabric = Fabric(text, FabricIdentity{});
    latest.text = text;
  }
  return latest.fabric;
}

/// From now on, messages between nodes go in the way that was measured to be fastest. Collective.
void use_connections_as(const MeasuredNetwork& measured, Communicator& state, MPI_Comm comm) {
  if (state.topology().nodes == 1 || measured.nodes == 1) return;
  if (!session.settings.streams) Endpoint::use_streams(measured.streams);
  if (!may_connect(state)) return;
  const std::size_t from = measured.connections_from;
  const BlockedScope blocked;
  const bool has_some = from > 0 && use_connections_from(from, comm);
  // If the network has changed, the MPI library may be faster now.
  state.use_connections(has_some ? from : CallResources::no_connections);
}

}  // namespace

bool send_from_rank_0(std::string& text, MPI_Comm comm) {
  auto length = static_cast<std::int64_t>(text.size());
  if (mpi.Bcast(&length, sizeof(length), mpi.byte, 0, comm) != MPI_SUCCESS) return false;
  if (length == 0) return true;
  text.resize(static_cast<std::size_t>(length));
  return mpi.Bcast(text.data(), static_cast<int>(length), mpi.byte, 0, comm) == MPI_SUCCESS;
}

const Fabric& known_fabric(Communicator& state, const CallTraits& traits, const Spec& spec, MPI_Comm comm) {
  if (const Fabric* known = state.fabric()) return *known;
  const AwaitedCall awaited(state, traits, spec);
  const BlockedScope blocked;
  std::string text = state.rank() == 0 ? text_for(state.topology()) : "";
  const bool arrived = send_from_rank_0(text, comm);
  const Fabric& known = state.set_fabric(fabric_of(arrived ? text : ""));
  if (known.measured()) use_connections_as(*known.measured(), state, comm);
  return known;
}

const std::optional<MeasuredNetwork>& measured_network(Communicator& state, const CallTraits& traits,
                                                       const Spec& spec, MPI_Comm comm) {
  const Topology& topology = state.topology();
  const std::optional<MeasuredNetwork>& known = known_fabric(state, traits, spec, comm).measured();
  if (known && known->covers(topology.nodes, topology.max_ppn)) return known;
  if (!state.may_measure()) return state.fabric()->measured();
  if (std::optional<MeasuredNetwork> measured = probe_network(state, traits, spec, comm)) {
    if (state.rank() == 0) note_measured(*measured);
    use_connections_as(*measured, state, comm);
    state.set_measured(*std::move(measured));
  }
  return state.fabric()->measured();
}

void begin_looks_at_links(Communicator& state, MPI_Comm comm) {
  if (state.learners().knows_links() || state.fabric() == nullptr || !state.fabric()->measured()) return;
  const MeasuredNetwork& measured = *state.fabric()->measured();
  std::unique_ptr<LinkEvidence> links;
  if (LinkEvidence::is_useful(measured, state.topology())) {
    const LinkEvidence::NodeAddresses own = LinkEvidence::own_addresses();
    std::vector<LinkEvidence::NodeAddresses> all(static_cast<std::size_t>(state.ranks()));
    if (mpi.Allgather(&own, sizeof own, mpi.byte, all.data(), sizeof own, mpi.byte, comm) == MPI_SUCCESS)
      links = std::make_unique<LinkEvidence>(measured.machine, state.topology(), state.rank(), all);
  }
  state.learners().set_links(std::move(links));
}

void note_links(MeasuredNetwork measured, const std::vector<double>& rates) {
  set_link_rates(rates, measured.machine);
  measured.when = today();
  note_change();
  note_measured(measured);
}

void correct_links(Communicator& state, const std::vector<double>& rates) {
  MeasuredNetwork measured = *state.fabric()->measured();
  if (state.rank() == 0) note_links(measured, rates);
  set_link_rates(rates, measured.machine);
  state.forget_fabric();
  state.set_measured(measured);
}

CallKind kind_of(const CallTraits& traits, const Topology& topology, Form form) {
  return {.nodes = topology.nodes,
          .min_ppn = topology.min_ppn,
          .max_ppn = topology.max_ppn,
          .collective = traits.collective,
          .form = form,
          .in_place = traits.in_place,
          .from = shortest_of_kind(traits.bytes)};
}

std::optional<Finding> find_decided(const Fabric& fabric, const CallTraits& traits, const Topology& topology,
                                    Form form) {
  if (!may_be_kept(traits) || fabric.decisions().empty()) return std::nullopt;
  const Decision* decision = fabric.find(kind_of(traits, topology, form));
  if (decision == nullptr) return std::nullopt;
  return Finding{.spec = decision->spec, .seconds = decision->seconds, .bytes = decision->bytes};
}

void note_decision(Decision decision) {
  Memory& now = memory();
  const std::lock_guard lock(now.mutex);
  read_once(now);
  now.part.reset();
  decision.busy = busy_so_far();
  now.fabric.keep(decision);
  now.own.keep(decision);
}

void note_measured(const MeasuredNetwork& measured) {
  Memory& now = memory();
  const std::lock_guard lock(now.mutex);
  read_once(now);
  now.part.reset();
  now.fabric.keep(measured);
  now.own.keep(measured);
}

void note_change() {
  Memory& now = memory();
  const std::lock_guard lock(now.mutex);
  read_once(now);
  now.part.reset();
  now.fabric.forget_measured();
  now.own.forget_measured();
}

void note_dropped(const CallKind& kind) {
  {
    Memory& now = memory();
    const std::lock_guard lock(now.mutex);
    read_once(now);
    now.part.reset();
    const Decision* dropped = now.fabric.drop(kind);
    if (dropped == nullptr) return;
    now.own.keep(*dropped);
  }
  if (const std::string error = save_decisions(); !error.empty()) complain(error);
}

bool is_default_best(Collective collective, std::size_t from) {
  Memory& now = memory();
  const std::lock_guard lock(now.mutex);
  read_once(now);
  CallKind kind = kind_of({.collective = collective, .bytes = from}, session.topology, Form::blocking);
  const auto is_native = [&](bool in_place) {
    kind.in_place = in_place;
    const Decision* decision = now.fabric.find(kind);
    return decision != nullptr && decision->spec.is_pass_through();
  };
  return is_native(false) || is_native(true);
}

std::string save_decisions() {
  Memory& now = memory();
  const std::lock_guard lock(now.mutex);
  if (now.own.is_empty() || now.path.empty()) return {};
  const std::string error = add_to_fabric(now.path, now.own);
  return error.empty() ? ""
                       : now.path + ": " + error + "; the findings of this job about the network are lost";
}

}  // namespace stretto
