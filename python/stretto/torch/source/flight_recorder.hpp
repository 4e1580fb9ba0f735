// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <Python.h>
#include <c10/util/SmallVector.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stretto_torch {

/// The latest collectives of the groups of this process, as PyTorch's Flight Recorder has those of gloo.
/// PyTorch's own recorder is no part of its interface, so stretto/torch/flight_recorder.py adds these calls
/// to its dumps. PyTorch's variable TORCH_FR_BUFFER_SIZE says how many are kept (0: none). Their places in
/// the program are noted only if it is set, since that takes 1.5 us.
class FlightRecorder {
 public:
  using Tensors = std::vector<at::Tensor>;

  /// A group whose calls are noted.
  struct Group {
    std::uint64_t number = 0;
    std::string name;
    std::string description;
    std::vector<int> ranks;
    std::uint64_t calls = 0;           // that were started
    std::uint64_t last_completed = 0;  // the number of a call, from 1 on
  };

  struct Call {
    const char* title;  // "stretto:all_reduce"
    const Tensors& inputs;
    const Tensors& outputs;
    std::chrono::milliseconds timeout{};
  };

  static std::shared_ptr<Group> make_group(std::string name, std::string description, std::vector<int> ranks);

  FlightRecorder();
  [[nodiscard]] bool is_on() const { return most_ > 0; }
  /// Notes where in the program this thread makes its next call. To be called without locks: it takes the
  /// interpreter's, if the thread is one of Python's.
  void note_place();
  /// Notes a call that begins. Returns its number, for note_end().
  std::uint64_t note(const std::shared_ptr<Group>& group, const Call& call);
  void note_end(std::uint64_t number, bool succeeded);
  /// Returns the calls in their order, with the keys of PyTorch's dumps (its version 2.10), and their groups.
  /// The caller holds the interpreter's lock.
  pybind11::tuple dump(bool with_frames, bool only_active);

 private:
  /// Frames of Python, the innermost first.
  struct Frame {
    PyObject* code = nullptr;  // owned
    int instruction = 0;
  };
  using Frames = std::vector<Frame>;
  using Place = std::shared_ptr<const Frames>;
  /// The place of this thread's next call.
  static Place& place_of_next();

  struct Entry {
    std::uint64_t number = 0;
    std::shared_ptr<Group> group;
    std::uint64_t call = 0;  // of the group
    const char* title = nullptr;
    std::int64_t began = 0;  // ns since 1970
    std::int64_t ended = 0;  // 0: not yet, or it has failed
    bool is_retired = false;
    std::chrono::milliseconds timeout{};
    c10::SmallVector<std::int64_t, 8> sizes;       // of all tensors, inputs first
    c10::SmallVector<std::uint8_t, 4> dimensions;  // of each tensor
    c10::SmallVector<at::ScalarType, 4> types;
    std::size_t inputs = 0;
    std::shared_ptr<const std::string> thread;
    std::uint64_t thread_id = 0;
    Place place;
  };
  void free_dead_frames();
  static pybind11::dict describe(const Entry& entry, bool with_frames);

  std::size_t most_;
  bool has_places_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the call with number n is at n modulo most_
  std::uint64_t next_ = 0;
  std::mutex dead_mutex_;
  /// Frames that nothing needs any more. They wait for the interpreter's lock.
  std::vector<const Frames*> dead_;
};

/// Returns that of this process, which is never destroyed. To be asked for once a call at most: a look
/// whether the process was forked is a system call.
FlightRecorder& flight_recorder();

}  // namespace stretto_torch
