// SPDX-License-Identifier: Apache-2.0
#include "flight_recorder.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "of_process.hpp"

namespace stretto_torch {
namespace {

namespace python = pybind11;

constexpr std::size_t usual_most = 2000;
constexpr std::size_t most_frames = 64;

/// Returns the value of PyTorch's variable, or of the name that it had before; nullptr without either.
const char* asked_for() {
  const char* const value = std::getenv("TORCH_FR_BUFFER_SIZE");
  return value != nullptr ? value : std::getenv("TORCH_NCCL_TRACE_BUFFER_SIZE");
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const std::shared_ptr<const std::string>& thread_name() {
  thread_local const std::shared_ptr<const std::string> name = [] {
    std::array<char, 16> text{};
    pthread_getname_np(pthread_self(), text.data(), text.size());
    return std::make_shared<const std::string>(text.data());
  }();
  return name;
}

python::str text_of(PyObject* code, const char* attribute) {
  return python::str(python::handle(code).attr(attribute));
}

}  // namespace

std::shared_ptr<FlightRecorder::Group> FlightRecorder::make_group(std::string name, std::string description,
                                                                  std::vector<int> ranks) {
  static std::atomic<std::uint64_t> groups{0};
  auto group = std::make_shared<Group>();
  group->number = groups++;
  group->name = std::move(name);
  group->description = std::move(description);
  group->ranks = std::move(ranks);
  return group;
}

FlightRecorder::FlightRecorder()
    : most_(asked_for() == nullptr ? usual_most : std::strtoul(asked_for(), nullptr, 10)),
      has_places_(most_ > 0 && asked_for() != nullptr) {}

FlightRecorder::Place& FlightRecorder::place_of_next() {
  thread_local Place place;
  return place;
}

void FlightRecorder::note_place() {
  if (!has_places_ || Py_IsInitialized() == 0 || PyGILState_GetThisThreadState() == nullptr) return;
  const python::gil_scoped_acquire lock;
  free_dead_frames();
  auto frames = std::make_unique<Frames>();
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame != nullptr && frames->size() < most_frames) {
    frames->push_back({reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)), PyFrame_GetLasti(frame)});
    PyFrameObject* const back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  place_of_next() = Place(frames.release(), [this](const Frames* dead) {
    const std::lock_guard<std::mutex> guard(dead_mutex_);
    dead_.push_back(dead);
  });
}

void FlightRecorder::free_dead_frames() {
  std::vector<const Frames*> dead;
  {
    const std::lock_guard<std::mutex> lock(dead_mutex_);
    dead.swap(dead_);
  }
  for (const Frames* frames : dead) {
    for (const Frame& frame : *frames) Py_DECREF(frame.code);
    delete frames;
  }
}

std::uint64_t FlightRecorder::note(const std::shared_ptr<Group>& group, const Call& call) {
  const std::int64_t began = now();
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t number = next_++;
  if (entries_.size() < most_) entries_.emplace_back();
  Entry& entry = entries_[number % most_];
  entry.number = number;
  entry.group = group;
  entry.call = ++group->calls;
  entry.title = call.title;
  entry.began = began;
  entry.ended = 0;
  entry.is_retired = false;
  entry.timeout = call.timeout;
  entry.sizes.clear();
  entry.dimensions.clear();
  entry.types.clear();
  entry.inputs = call.inputs.size();
  for (const Tensors* tensors : {&call.inputs, &call.outputs}) {
    for (const at::Tensor& tensor : *tensors) {
      entry.sizes.append(tensor.sizes().begin(), tensor.sizes().end());
      entry.dimensions.push_back(static_cast<std::uint8_t>(tensor.dim()));
      entry.types.push_back(tensor.scalar_type());
    }
  }
  entry.thread = thread_name();
  entry.thread_id = pthread_self();
  entry.place = std::exchange(place_of_next(), nullptr);
  return number;
}

void FlightRecorder::note_end(std::uint64_t number, bool succeeded) {
  const std::int64_t ended = now();
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[number % most_];
  if (entry.number != number) return;
  entry.is_retired = true;
  if (!succeeded) return;
  entry.ended = ended;
  entry.group->last_completed = std::max(entry.group->last_completed, entry.call);
}

python::dict FlightRecorder::describe(const Entry& entry, bool with_frames) {
  python::dict all;
  if (with_frames) {
    python::list frames;
    for (const Frame& frame : entry.place ? *entry.place : Frames{}) {
      python::dict one;
      one["name"] = text_of(frame.code, "co_name");
      one["filename"] = text_of(frame.code, "co_filename");
      one["line"] = PyCode_Addr2Line(reinterpret_cast<PyCodeObject*>(frame.code), frame.instruction);
      frames.append(one);
    }
    all["frames"] = frames;
  }
  std::array<python::list, 2> sizes;
  std::array<python::list, 2> types;
  auto size = entry.sizes.begin();
  for (std::size_t tensor = 0; tensor < entry.dimensions.size(); ++tensor) {
    python::list one;
    for (std::uint8_t i = 0; i < entry.dimensions[tensor]; ++i) one.append(*size++);
    const std::size_t which = tensor < entry.inputs ? 0 : 1;
    sizes[which].append(one);
    types[which].append(c10::toString(entry.types[tensor]));
  }
  all["record_id"] = entry.number;
  all["pg_id"] = entry.group->number;
  all["process_group"] = python::make_tuple(entry.group->name, entry.group->description);
  all["thread_name"] = *entry.thread;
  all["thread_id"] = std::to_string(entry.thread_id);
  all["collective_seq_id"] = entry.call;
  all["p2p_seq_id"] = 0;
  all["op_id"] = entry.call;
  // PyTorch's tools know only names of its own backends.
  all["profiling_name"] = "gloo" + std::string(entry.title).substr(std::strlen("stretto"));
  all["time_created_ns"] = entry.began;
  all["input_sizes"] = sizes[0];
  all["input_dtypes"] = types[0];
  all["output_sizes"] = sizes[1];
  all["output_dtypes"] = types[1];
  all["state"] = entry.ended != 0 ? "completed" : "scheduled";
  const auto time_of = [&](std::int64_t time) -> python::object {
    return entry.ended == 0 ? python::object(python::none()) : python::int_(time);
  };
  all["time_discovered_started_ns"] = time_of(entry.began);
  all["time_discovered_completed_ns"] = time_of(entry.ended);
  all["retired"] = entry.is_retired;
  all["timeout_ms"] = entry.timeout.count();
  all["is_p2p"] = false;
  return all;
}

python::tuple FlightRecorder::dump(bool with_frames, bool only_active) {
  // Python objects that are made may end others, and these calls, which take the lock.
  std::vector<Entry> entries;
  std::map<std::uint64_t, Group> groups;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries = entries_;
    for (const Entry& entry : entries) groups.emplace(entry.group->number, *entry.group);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& left, const Entry& right) { return left.number < right.number; });
  python::list calls;
  for (const Entry& entry : entries) {
    if (!only_active || entry.ended == 0) calls.append(describe(entry, with_frames));
  }
  python::dict their_groups;
  for (const auto& [number, group] : groups) {
    their_groups[python::int_(number)] =
        python::make_tuple(group.name, group.description, group.ranks, group.calls, group.last_completed);
  }
  return python::make_tuple(calls, their_groups);
}

FlightRecorder& flight_recorder() {
  return of_process<FlightRecorder>();
}

}  // namespace stretto_torch
