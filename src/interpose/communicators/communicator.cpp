// SPDX-License-Identifier: Apache-2.0
#include "interpose/communicators/communicator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "engine/execution/native_execution.hpp"
#include "engine/execution/relayed_execution.hpp"
#include "interpose/communicators/known_communicators.hpp"
#include "interpose/communicators/returned_errors.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "text/hash.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// An attribute of one of the program's communicators.
struct Attachment {
  std::shared_ptr<Communicator> state;
  Attachment* next_gone = nullptr;
};

/// Returns a hash of the ranks.
std::uint32_t sum_of(const std::vector<int>& ranks_in_world) {
  Hash hash;
  for (const int rank : ranks_in_world) hash.add(static_cast<std::uint64_t>(rank));
  return static_cast<std::uint32_t>(hash.sum() ^ (hash.sum() >> 32));
}

/// Returns a label such as 8@1f3a77c2: the number of ranks and a hash of them.
std::string make_label(const std::vector<int>& ranks_in_world) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%zu@%08x", ranks_in_world.size(), sum_of(ranks_in_world));
  return text.data();
}

CommunicatorId make_id(const std::vector<int>& ranks_in_world) {
  static std::mutex mutex;
  static auto& known = make_immortal<std::map<std::uint64_t, std::uint64_t>>();
  const std::uint64_t group = (std::uint64_t{ranks_in_world.size()} << 32) | sum_of(ranks_in_world);
  const std::lock_guard lock(mutex);
  return {group, known[group]++};
}

std::mutex registry_mutex;  // also held to change the list of communicators that are gone
constinit Immortal<std::set<Attachment*>> registry;
/// The first in the list of attachments that the library has deleted along with their communicators.
std::atomic<Attachment*> first_gone{nullptr};

int detach(RawHandle /*comm*/, int /*keyval*/, void* value, void* /*extra*/) {
  auto* attachment = static_cast<Attachment*>(value);
  const std::lock_guard lock(registry_mutex);
  if (registry().erase(attachment) == 0) return MPI_SUCCESS;
  freed_communicators.fetch_add(1, std::memory_order_release);
  attachment->next_gone = first_gone;
  first_gone = attachment;
  return MPI_SUCCESS;
}

}  // namespace

namespace {

/// The least time that a call of an MPI library may take, and the time that it takes to prepare a
/// communicator for Stretto, including all that is learned at its first calls
/// (benchmarks/interpose/new_communicators.cpp). The values inside a node assume memory of 10 GB/s. Those
/// between nodes assume links of 10 Gbit/s; with slower links, both calls and preparation take longer.
struct CallTime {
  double call;         // s
  double byte;         // s
  double preparation;  // s

  [[nodiscard]] constexpr double seconds(std::size_t bytes) const {
    return call + static_cast<double>(bytes) * byte;
  }
};
constexpr CallTime inside_node{.call = 0.3e-6, .byte = 0.1e-9, .preparation = 500e-6};
constexpr CallTime between_nodes{.call = 10e-6, .byte = 0.8e-9, .preparation = 500e-6};
constexpr double seconds_to_look_around = 5e-6;
/// Preparing takes at most a twentieth of the time that the calls have taken.
constexpr double most_share_inverse = 20;

/// Whether a new communicator is young. Most tests switch that off, so that Stretto handles the first calls
/// on any communicator.
bool has_youth() {
  static const char* const setting = std::getenv("_STRETTO_YOUTH");
  return setting == nullptr || std::string_view(setting) != "0";
}

/// Returns the ranks that share memory with this one, or nullptr if there are none.
SharedNeighbours find_neighbours(const std::vector<int>& ranks_in_world) {
  if (session.memory_places.empty()) return nullptr;
  Neighbours found{.memory = &session.memory, .place_of = {}};
  bool any = false;
  for (const int rank : ranks_in_world) {
    found.place_of.push_back(session.memory_places[static_cast<std::size_t>(rank)]);
    any = any || found.place_of.back() != Neighbours::none;
  }
  return any ? std::make_shared<const Neighbours>(std::move(found)) : nullptr;
}

}  // namespace

Communicator::Communicator(MPI_Comm users)
    : users_(users),
      connections_from_(session.settings.connections_from.value_or(CallResources::no_connections)) {
  int is_inter = 0;
  int ranks = 1;
  mpi.Comm_test_inter(users, &is_inter);
  mpi.Comm_size(users, &ranks);
  mpi.Comm_rank(users, &rank_);
  native_only_ = is_inter != 0 || ranks < 2;
  if (native_only_) {
    is_young_ = false;
    return;
  }
  ranks_ = ranks;
  if (users == mpi.comm_world || !has_youth()) come_of_age();
}

void Communicator::count_young_call(std::size_t bytes) {
  const double inside = young_seconds_ + inside_node.seconds(bytes);
  if (inside > most_share_inverse * seconds_to_look_around) look_around();
  const CallTime& least = has_looked_around_ && topology_.nodes > 1 ? between_nodes : inside_node;
  young_seconds_ += least.seconds(bytes);
  if (young_seconds_ > most_share_inverse * least.preparation) come_of_age();
}

void Communicator::come_of_age() {
  look_around();
  is_young_ = false;
  if (!native_only_) id_ = make_id(*ranks_in_world_);
}

void Communicator::look_around() {
  if (std::exchange(has_looked_around_, true)) return;
  const int ranks = ranks_;
  std::vector<int> here(static_cast<std::size_t>(ranks));
  std::vector<int> in_world(here.size());
  std::iota(here.begin(), here.end(), 0);
  MPI_Group group{};
  mpi.Comm_group(users_, &group);
  const int error =
      mpi.Group_translate_ranks(group, ranks, here.data(), session.world_group, in_world.data());
  mpi.Group_free(&group);
  // Spawned and connected ranks have a world of their own. Each side sees the other as undefined.
  if (error != MPI_SUCCESS || std::find(in_world.begin(), in_world.end(), mpi.undefined) != in_world.end()) {
    native_only_ = true;
    ranks_ = 0;
    return;
  }
  std::vector<int> nodes;
  std::vector<int> sockets;
  std::vector<int> numas;
  std::vector<int> l3s;
  for (const int rank : in_world) {
    const auto i = static_cast<std::size_t>(rank);
    nodes.push_back(session.topology.node_of[i]);
    sockets.push_back(session.topology.socket_of[i]);
    numas.push_back(session.topology.numa_of[i]);
    l3s.push_back(session.topology.l3_of[i]);
  }
  topology_ = Topology::from_labels(nodes, sockets, numas, l3s);
  if (session.table) {
    table_shape_ = session.table->find_shape(topology_.nodes, topology_.min_ppn, topology_.max_ppn);
  }
  floors_ = floors_of(topology_.nodes, ranks, session.floor_facts());
  label_ = make_label(in_world);
  neighbours_ = find_neighbours(in_world);
  ranks_in_world_ = std::make_shared<const std::vector<int>>(std::move(in_world));
}

Communicator::~Communicator() {
  // The communicator may be freed before its ranks have agreed.
  keep_until_open(std::move(channel_));
  keep_until_open(std::move(persistent_channel_));
}

void Communicator::use_connections(std::size_t from) {
  connections_from_ = from;
  if (channel_) channel_->use_connections(from);
}

const std::shared_ptr<Channel>& Communicator::channel() {
  if (!channel_) {
    channel_ = std::make_shared<Channel>(users_, topology_.ranks());
    channel_->use_connections(connections_from_);
  }
  return channel_;
}

const std::shared_ptr<Channel>& Communicator::channel_with_fresh(std::size_t tags) {
  if (!persistent_channel_ || !persistent_channel_->has_fresh(tags)) {
    persistent_channel_ = std::make_shared<Channel>(users_, topology_.ranks(), Channel::Use::kept);
    persistent_channel_->use_connections(connections_from_);
  }
  return persistent_channel_;
}

bool Communicator::is_opening() const {
  const auto opens = [](const std::shared_ptr<Channel>& channel) {
    return channel && channel->progress() == Channel::State::opening;
  };
  return opens(channel_) || opens(persistent_channel_);
}

std::string Communicator::label() const {
  const bool has_number = channel_ && channel_->progress() == Channel::State::open;
  return label_ + (has_number ? "." + std::to_string(channel_->number()) : "");
}

Communicator::Key Communicator::key_of(const CallTraits& traits, const Spec& spec) {
  return {traits.collective, has_root(traits.collective) ? traits.root : 0, spec};
}

std::unique_ptr<Execution> Communicator::lease(const CallTraits& traits, const Spec& spec, bool persistent) {
  if (spec.is_native()) {
    return std::make_unique<NativeExecution>(traits.collective, users_, spec.pipelining);
  }
  const Key key = key_of(traits, spec);
  if (!persistent) {
    const std::lock_guard guard(lock_);
    const auto found =
        std::find_if(idle_.begin(), idle_.end(), [&](const IdleExecution& idle) { return idle.key == key; });
    if (found != idle_.end()) {
      std::unique_ptr<Execution> execution = std::move(found->execution);
      idle_.erase(found);
      return execution;
    }
  }
  const Recipe& recipe = spec.recipe;
  Schedule schedule = build(recipe, topology_, key.root, rank_);
  if (recipe.algorithm->relays) {
    return std::make_unique<RelayedExecution>(make_transport(channel_pool().comm()), ranks_in_world_,
                                              std::move(schedule), neighbours_);
  }
  return std::make_unique<ScheduleExecution>(
      make_transport(channel_pool().comm()), ranks_in_world_, std::move(schedule),
      recipe.algorithm->stays_whole() ? Pipelining{} : pipelining_of(spec),
      persistent ? Keep::requests : Keep::nothing, neighbours_);
}

DirectExecution* Communicator::direct(const CallTraits& traits, const Spec& spec) {
  if (!neighbours_ || !channel_ || channel_->blocking_resources().lane(0) == CallResources::none)
    return nullptr;
  if (spec.recipe.algorithm->relays) return nullptr;  // lengths travel first
  const Key key = key_of(traits, spec);
  if (direct_.empty() || !(direct_.front().key == key)) {
    const auto found = std::ranges::find(direct_, key, &Direct::key);
    if (found != direct_.end()) {
      direct_.splice(direct_.begin(), direct_, found);
    } else {
      Schedule schedule = build(spec.recipe, topology_, key.root, rank_);
      const bool serves = DirectExecution::serves(schedule, *neighbours_);
      direct_.push_front(
          {key, serves ? std::make_unique<DirectExecution>(std::move(schedule), *neighbours_) : nullptr});
      if (direct_.size() > most_idle) direct_.pop_back();
    }
  }
  return direct_.front().execution.get();
}

StreamingRace& Communicator::streaming_race(Collective collective, std::size_t bytes) {
  // If a cache is large enough for the result, the program's next work finds the result there. No race sees
  // that gain.
  constexpr std::size_t least_everywhere = std::size_t{8} << 20;
  const std::size_t ways = bytes < least_everywhere ? StreamingRace::ways - 1 : StreamingRace::ways;
  return streaming_races_.try_emplace({collective, std::bit_width(bytes)}, ways).first->second;
}

void Communicator::spoil_channel() {
  if (channel_) channel_->spoil();
  native_only_ = true;
}

Pipelining Communicator::pipelining_of(const Spec& spec) {
  Pipelining pipelining = spec.pipelining;
  pipelining.window = std::min(static_cast<int>(pipelining.in_flight()), channel_pool().tags_of_tickets());
  return pipelining;
}

bool Communicator::library_tolerates_faults() {
  static const bool tolerates = [] {
    const auto* enabled = static_cast<const bool*>(mpi_symbol("ompi_ftmpi_enabled"));
    return enabled != nullptr && *enabled;
  }();
  return tolerates;
}

void Communicator::end_from(std::uint64_t call, const std::string& reason) const {
  if (mpi.end_in != nullptr && !is_freed_) mpi.end_in(users_, call, reason.c_str());
}

int Communicator::why_ended(std::uint64_t call, bool has_begun) const {
  if (mpi.why_ended != nullptr) return is_freed_ ? MPI_SUCCESS : mpi.why_ended(users_, call, has_begun);
  using IsRevoked = int(MPI_Comm, int*);
  static auto* const ask = library_tolerates_faults()
                               ? reinterpret_cast<IsRevoked*>(mpi_symbol("PMPIX_Comm_is_revoked"))
                               : nullptr;
  int revoked = 0;
  const bool is_revoked =
      ask != nullptr && !is_freed_ && ask(users_, &revoked) == MPI_SUCCESS && revoked != 0;
  return is_revoked ? error_if_revoked : MPI_SUCCESS;
}

void Communicator::give_back(const CallTraits& traits, const Spec& spec,
                             std::unique_ptr<Execution> execution) {
  if (spec.is_native()) return;
  const std::lock_guard guard(lock_);
  idle_.push_front({key_of(traits, spec), std::move(execution)});
  if (idle_.size() > most_idle) idle_.pop_back();
}

void Communicator::call_error_handler(int error) const {
  if (!is_freed_) {
    mpi.Comm_call_errhandler(users_, error);
  } else if (!returned_errors_) {
    mpi.Comm_call_errhandler(mpi.comm_world, error);
  }
}

MPI_Errhandler Communicator::error_handler() const {
  MPI_Errhandler handler{};
  mpi.Comm_get_errhandler(users_, &handler);
  MPI_Errhandler reference = handler;
  mpi.Errhandler_free(&reference);
  return handler;
}

void Communicator::forget_handle() {
  const std::lock_guard guard(handle_lock_);
  if (is_freed_) return;
  const MPI_Errhandler handler = error_handler();
  ended_job_on_error_ = handler == mpi.errors_are_fatal;
  returned_errors_ = handler == mpi.errors_return;
  is_freed_ = true;
}

bool Communicator::ends_job_on_error() const {
  // Another thread may be freeing the communicator: its handle is valid until forget_handle() has returned.
  const std::lock_guard guard(handle_lock_);
  return is_freed_ ? ended_job_on_error_ : error_handler() == mpi.errors_are_fatal;
}

bool Communicator::wants_returned_errors() const {
  const std::lock_guard guard(handle_lock_);
  return is_freed_ ? returned_errors_ : stretto::wants_returned_errors(error_handler());
}

namespace {

/// Returns nullptr if it has no state yet.
std::shared_ptr<Communicator> known_communicator(MPI_Comm comm) {
  void* value = nullptr;
  int found = 0;
  if (!mpi.may_be_communicator(comm) ||
      mpi.Comm_get_attr(comm, session.keyval, static_cast<void*>(&value), &found) != MPI_SUCCESS ||
      found == 0) {
    return nullptr;
  }
  return static_cast<Attachment*>(value)->state;
}

}  // namespace

int find_communicator(MPI_Comm comm, std::shared_ptr<Communicator>& state) {
  state = nullptr;
  if (!mpi.may_be_communicator(comm) || FreeingCommunicator::is_freeing(comm)) return MPI_SUCCESS;
  void* value = nullptr;
  int found = 0;
  int error = mpi.Comm_get_attr(comm, session.keyval, static_cast<void*>(&value), &found);
  if (error != MPI_SUCCESS) return error;
  if (found != 0) {
    state = static_cast<Attachment*>(value)->state;
    if (!state->native_only() && !state->is_young() && find_known(comm) == nullptr) {
      keep_known(comm, state->floors(), *state);
    }
    return MPI_SUCCESS;
  }
  // Another thread may be making the state, and a communicator has only one.
  static std::mutex making;
  const std::lock_guard one_at_a_time(making);
  error = mpi.Comm_get_attr(comm, session.keyval, static_cast<void*>(&value), &found);
  if (error != MPI_SUCCESS) return error;
  if (found != 0) {
    state = static_cast<Attachment*>(value)->state;
    return MPI_SUCCESS;
  }
  release_gone_communicators();
  auto made = std::make_unique<Attachment>(Attachment{std::make_shared<Communicator>(comm)});
  error = mpi.Comm_set_attr(comm, session.keyval, made.get());
  if (error != MPI_SUCCESS) return error;
  const std::lock_guard lock(registry_mutex);
  registry().insert(made.get());
  state = made.release()->state;
  return MPI_SUCCESS;
}

constinit thread_local const FreeingCommunicator* FreeingCommunicator::innermost = nullptr;

FreeingCommunicator::FreeingCommunicator(MPI_Comm comm) : comm_(comm), outer_(innermost) {
  const std::shared_ptr<Communicator> state = session.active ? known_communicator(comm) : nullptr;
  if (state != nullptr) {
    // Open MPI 4.1.4 crashes if a communicator is freed while one of the library's non-blocking collectives,
    // such as the agreement on tags, is in flight on it. MPICH keeps what it needs.
    const bool must_outlive_agreement = session.library.starts_with("Open MPI");
    const bool may_be_opening = has_outstanding() || !session.settings.trace_folder.empty();
    if (must_outlive_agreement && may_be_opening) wait_until([&] { return !state->is_opening(); });
    state->forget_handle();
  }
  // The entries that threads keep for this handle do not apply to the communicator that gets it next.
  freed_communicators.fetch_add(1, std::memory_order_release);
  innermost = this;
}

FreeingCommunicator::~FreeingCommunicator() {
  innermost = outer_;
  release_gone_communicators();
}

bool FreeingCommunicator::is_freeing(MPI_Comm comm) {
  for (const FreeingCommunicator* one = innermost; one != nullptr; one = one->outer_) {
    if (one->comm_ == comm) return true;
  }
  return false;
}

void release_gone_communicators() {
  if (first_gone.load(std::memory_order_relaxed) == nullptr) return;
  Attachment* gone = nullptr;
  {
    const std::lock_guard lock(registry_mutex);
    gone = first_gone.exchange(nullptr);
  }
  while (gone != nullptr) delete std::exchange(gone, gone->next_gone);
}

int copy_nothing(RawHandle, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

void make_communicator_keyval() {
  mpi.Comm_create_keyval(&copy_nothing, &detach, &session.keyval, nullptr);
}

void look_at_communicators(const std::function<void(const Communicator&)>& look) {
  const std::lock_guard lock(registry_mutex);
  for (const Attachment* attachment : registry()) look(*attachment->state);
}

void free_all_communicators() {
  // The attributes stay. Their delete callback does not find them in the registry and does nothing.
  std::set<Attachment*> all;
  {
    const std::lock_guard lock(registry_mutex);
    all.swap(registry());
  }
  for (Attachment* attachment : all) delete attachment;
  release_gone_communicators();
  wait_for_opening_channels();
  mpi.Comm_free_keyval(&session.keyval);
}

}  // namespace stretto
