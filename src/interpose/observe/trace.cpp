// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/trace.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>
#include <set>
#include <vector>

#include "engine/messages/channel.hpp"
#include "interpose/observe/clocks.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "schedule/pipelining.hpp"
#include "text/file_writer.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

enum class EventKind : std::uint8_t { call, segment, round, wait, reduction, copy };

struct Event {
  EventKind kind;
  int row;               // tid
  std::uint32_t number;  // of the call, segment, round or copy
  std::int64_t begin;    // on this rank's clock
  std::int64_t end;
};

struct CallInfo {
  CallTraits traits;
  std::string spec;
  std::shared_ptr<Communicator> state;  // kept to the end, so that no other communicator gets its number
  std::string numbered;
  Form form;
  std::uint64_t sequence;
};

struct CopyInfo {
  CopyDirection direction;
  CopiedPart of;
  std::size_t bytes;
  std::int64_t began;  // it may have waited for others first
};

/// The distance between the rows of overlapping calls in the trace. The flights of a call, and its copies in
/// each direction, fit in between.
constexpr int rows_of_a_call = 1000;
constexpr int first_row_of_copies = rows_of_a_call - 2;
static_assert(Pipelining::most_window < first_row_of_copies);
/// The most events of a trace: some 2 GB of text.
constexpr std::size_t most_events = 20'000'000;

std::mutex mutex;
constinit Immortal<std::vector<Event>> events;
constinit Immortal<std::vector<CallInfo>> calls;
constinit Immortal<std::vector<CopyInfo>> copies;
constinit Immortal<std::set<int>> lanes_in_use;
constinit Immortal<std::vector<int>> clock_of;
ClockReading first_reading;
std::int64_t origin = 0;  // rank 0's clock when the trace began
std::uint64_t job = 0;

void add(const Event& event) {
  const std::lock_guard lock(mutex);
  if (events().size() < most_events) events().push_back(event);
}

void add(Event event, const CopyInfo& copy) {
  const std::lock_guard lock(mutex);
  if (events().size() == most_events) return;
  event.number = static_cast<std::uint32_t>(copies().size());
  copies().push_back(copy);
  events().push_back(event);
}

std::string file_name() {
  return session.settings.trace_folder + "/rank-" + std::to_string(session.world_rank) + ".json";
}

const char* name_of_form(Form form) {
  constexpr std::array names{"blocking", "non-blocking", "persistent"};
  return names.at(static_cast<std::size_t>(form));
}

const char* name_of_row(int row) {
  switch (row) {
    case 0:
      return "collectives";
    case first_row_of_copies:
      return "copies to the host";
    case first_row_of_copies + 1:
      return "copies to the device";
    default:
      return nullptr;  // a flight
  }
}

std::string name_of_part(const CopiedPart& of) {
  if (of.segment == CopiedPart::whole) return "whole call";
  const std::string segment = "segment " + std::to_string(of.segment);
  return of.part == CopiedPart::whole ? segment : segment + ", part " + std::to_string(of.part);
}

/// Returns nanoseconds as microseconds, exactly: an event inside another one must also be inside it in the
/// text.
std::string microseconds(std::int64_t nanoseconds) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text.data();
}

/// Writes events, one per line, in the object form of Chrome's trace-event format.
class Writer {
 public:
  Writer(std::ostream& stream, const ClockReading& last) : stream_(stream), last_(last) {}

  void write() {
    const int pid = session.world_rank + 1;
    const int node = session.topology.node_of[static_cast<std::size_t>(session.world_rank)];
    nlohmann::ordered_json other{
        {"stretto", STRETTO_VERSION},
        {"job", std::to_string(job)},
        {"rank", session.world_rank},
        {"ranks", session.topology.ranks()},
        {"node", node},
        {"clock", clock_of()[static_cast<std::size_t>(session.world_rank)]},
        {"clock_error_us", static_cast<double>(std::max(first_reading.error, last_.error)) * 1e-3},
        {"complete", events().size() < most_events}};
    stream_ << "{\"displayTimeUnit\":\"ms\",\n\"otherData\":" << other.dump() << ",\n\"traceEvents\":[\n";
    const std::string name = this_rank() + " (node " + std::to_string(node) + ")";
    write_name("process_name", pid, 1, name);
    stream_ << R"(,{"ph":"M","name":"process_sort_index","pid":)" << pid
            << R"(,"tid":1,"args":{"sort_index":)" << session.world_rank << "}}\n";
    std::set<int> rows;
    for (const Event& event : events()) rows.insert(event.row);
    for (const int row : rows) {
      const int place = (row - 1) % rows_of_a_call;
      const char* known = name_of_row(place);
      stream_ << ',';
      write_name("thread_name", pid, row, known != nullptr ? known : "flight " + std::to_string(place - 1));
    }
    for (const Event& event : events()) write(event, pid);
    stream_ << "]}\n";
  }

 private:
  void write_name(const char* what, int pid, int row, const std::string& name) {
    stream_ << R"({"ph":"M","name":")" << what << R"(","pid":)" << pid << R"(,"tid":)" << row
            << R"(,"args":{"name":")" << name << "\"}}\n";
  }

  void write(const Event& event, int pid) {
    const std::int64_t begin = on_clock_of_rank_0(event.begin);
    const std::int64_t end = std::max(begin, on_clock_of_rank_0(event.end));
    stream_ << R"(,{"ph":"X","cat":")";
    nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
    switch (event.kind) {
      case EventKind::call: {
        const CallInfo& call = calls()[event.number];
        stream_ << R"(collective","name":")" << name_of(call.traits.collective) << '"';
        arguments = {{"spec", call.spec},
                     {"bytes", call.traits.bytes},
                     {"communicator", call.state->label() + call.numbered},
                     {"ranks", call.state->topology().ranks()},
                     {"sequence", call.sequence},
                     {"form", name_of_form(call.form)}};
        break;
      }
      case EventKind::segment:
        stream_ << R"(segment","name":"segment )" << event.number << '"';
        break;
      case EventKind::round:
        stream_ << R"(round","name":"round )" << event.number << '"';
        break;
      case EventKind::wait:
        stream_ << R"(wait","name":"wait for a copy")";
        break;
      case EventKind::reduction:
        stream_ << R"(reduction","name":"reduction")";
        break;
      case EventKind::copy: {
        const CopyInfo& copy = copies()[event.number];
        stream_ << R"(copy","name":")" << name_of_part(copy.of) << '"';
        arguments = {{"to", copy.direction == CopyDirection::to_host ? "host" : "device"},
                     {"bytes", copy.bytes},
                     {"begun_us", static_cast<double>(on_clock_of_rank_0(copy.began)) / 1000}};
        if (copy.of.segment != CopiedPart::whole) arguments["segment"] = copy.of.segment;
        if (copy.of.part != CopiedPart::whole) arguments["part"] = copy.of.part;
        break;
      }
    }
    stream_ << R"(,"pid":)" << pid << R"(,"tid":)" << event.row << R"(,"ts":)" << microseconds(begin)
            << R"(,"dur":)" << microseconds(end - begin) << R"(,"args":)" << arguments.dump() << "}\n";
  }

  /// Converts a time of this rank's clock. Clocks drift, so the difference is interpolated between the two
  /// readings.
  [[nodiscard]] std::int64_t on_clock_of_rank_0(std::int64_t here) const {
    const auto whole = static_cast<double>(last_.at - first_reading.at);
    const double part = whole > 0 ? static_cast<double>(here - first_reading.at) / whole : 0;
    const auto drift = static_cast<double>(last_.ahead - first_reading.ahead);
    return std::max<std::int64_t>(
        0, here + first_reading.ahead + static_cast<std::int64_t>(drift * part) - origin);
  }

  std::ostream& stream_;
  ClockReading last_;
};

}  // namespace

void begin_trace() {
  if (session.settings.trace_folder.empty()) return;
  std::remove(file_name().c_str());  // left by an earlier job
  if (session.world_rank == 0) job = std::random_device{}();
  mpi.Bcast(&job, 1, mpi.uint64_t, 0, channel_pool().comm());
  clock_of() = find_clocks();
  first_reading = compare_clocks(clock_of());
  origin = nanoseconds_now();
  mpi.Bcast(&origin, 1, mpi.int64_t, 0, channel_pool().comm());
}

std::string end_trace() {
  if (session.settings.trace_folder.empty()) return {};
  for (const CallInfo& call : calls()) {
    wait_until([&] { return !call.state->is_opening(); });
  }
  // A job without MPI has ended by now, and its ranks cannot ask each other.
  const bool is_alone = !mpi.has_library();
  const ClockReading last = is_alone ? assume_drift(first_reading) : compare_clocks(clock_of());
  const std::string error =
      replace_file(file_name(), [&](std::ostream& stream) { Writer(stream, last).write(); });
  calls().clear();
  copies().clear();
  // Often several ranks fail for the same reason. One of them reports it.
  int speaker = error.empty() ? session.topology.ranks() : session.world_rank;
  if (!is_alone) mpi.Allreduce(mpi.in_place, &speaker, 1, mpi.int_, mpi.min, channel_pool().comm());
  if (error.empty() || speaker != session.world_rank) return {};
  return "STRETTO_TRACE=" + session.settings.trace_folder + ": " + file_name() +
         " cannot be written: " + error;
}

TracedCall::TracedCall(const std::shared_ptr<Communicator>& state, const CallTraits& traits, const Spec& spec,
                       Form form, std::uint64_t sequence, std::uint64_t starts_before) {
  const bool has_own_numbers = form == Form::persistent;
  const std::string numbered = has_own_numbers ? "/" + std::to_string(sequence) : "";
  const std::lock_guard lock(mutex);
  call_ = calls().size();
  if (events().size() == most_events) return;  // full: nothing more is recorded
  calls().push_back(
      {traits, to_string(spec), state, numbered, form, has_own_numbers ? starts_before : sequence});
  while (lanes_in_use().contains(lane_)) ++lane_;
  lanes_in_use().insert(lane_);
  began_ = nanoseconds_now();
}

TracedCall::~TracedCall() {
  if (began_ == 0) return;
  add({EventKind::call, 1 + lane_ * rows_of_a_call, static_cast<std::uint32_t>(call_), began_,
       nanoseconds_now()});
  const std::lock_guard lock(mutex);
  lanes_in_use().erase(lane_);
}

void TracedCall::segment_begins(std::size_t flight, std::size_t segment) {
  if (flights_.size() <= flight) flights_.resize(flight + 1);
  const std::int64_t now = nanoseconds_now();
  flights_[flight] = {segment, now, now, now};
}

int TracedCall::row_of(std::size_t flight) const {
  return 2 + lane_ * rows_of_a_call + static_cast<int>(flight);
}

void TracedCall::round_ends(std::size_t flight, int round) {
  const std::int64_t now = nanoseconds_now();
  add({EventKind::round, row_of(flight), static_cast<std::uint32_t>(round), flights_[flight].round_began,
       now});
  flights_[flight].round_began = now;
}

void TracedCall::segment_ends(std::size_t flight) {
  add({EventKind::segment, row_of(flight), static_cast<std::uint32_t>(flights_[flight].segment),
       flights_[flight].segment_began, nanoseconds_now()});
}

/// A round begins when its input has arrived; the time before is a wait.
void TracedCall::input_arrives(std::size_t flight) {
  const std::int64_t now = nanoseconds_now();
  add({EventKind::wait, row_of(flight), 0, flights_[flight].round_began, now});
  flights_[flight].round_began = now;
}

void TracedCall::reduction_begins(std::size_t flight) {
  flights_[flight].reduction_began = nanoseconds_now();
}

void TracedCall::reduction_ends(std::size_t flight) {
  add({EventKind::reduction, row_of(flight), 0, flights_[flight].reduction_began, nanoseconds_now()});
}

std::size_t TracedCall::copy_begins(CopyDirection direction, const CopiedPart& of) {
  copies_.push_back({direction, of, nanoseconds_now()});
  return copies_.size() - 1;
}

/// A copy that was begun while an earlier one ran has waited for that one. Its bar begins only then, because
/// bars of a row must not overlap.
void TracedCall::copy_ends(std::size_t copy, std::size_t bytes) {
  const auto& [direction, of, began] = copies_[copy];
  const auto which = static_cast<std::size_t>(direction);
  const std::int64_t now = nanoseconds_now();
  add({EventKind::copy, 1 + lane_ * rows_of_a_call + first_row_of_copies + static_cast<int>(which), 0,
       std::max(began, last_copy_ended_.at(which)), now},
      {direction, of, bytes, began});
  last_copy_ended_.at(which) = now;
}

std::unique_ptr<TracedCall> trace_call(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                       const Spec& spec, Form form, std::uint64_t sequence,
                                       std::uint64_t starts_before) {
  if (session.settings.trace_folder.empty()) return nullptr;
  return std::make_unique<TracedCall>(state, traits, spec, form, sequence, starts_before);
}

}  // namespace stretto
