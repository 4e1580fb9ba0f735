// SPDX-License-Identifier: Apache-2.0
// The Python module: the process group, and the functions that are needed before there is a group.
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>

#include <memory>

#include "completion.hpp"
#include "ending.hpp"
#include "flight_recorder.hpp"
#include "interface.hpp"
#include "job.hpp"
#include "process_group.hpp"

namespace stretto_torch {
namespace {

stretto_place begin() {
  stretto_place place{};
  if (stretto.begin() != 0 || stretto.find_place(&place) != 0) throw_error();
  return place;
}

constexpr double forever = 1e9;  // s

/// Makes a group of all ranks, makes a call on it, and waits for the call.
template <typename Start>
void run(const Start& start) {
  stretto_group* group = stretto.group_make(nullptr, 0, 0, forever);
  if (group == nullptr) throw_error();
  stretto_work* work = start(group);
  if (work == nullptr) throw_error();
  while (stretto.work_wait(work, 1) == 0) {
  }
  const char* error = stretto.work_error(work);
  if (error != nullptr) throw std::runtime_error(std::string("stretto: ") + error);
  stretto.work_free(work);
  stretto.group_free(group);
}

/// Returns rank 0's bytes. All ranks must pass the same number of bytes.
std::string broadcast_bytes(std::string bytes) {
  run([&](stretto_group* group) { return stretto.group_bcast(group, bytes.data(), bytes.size(), 0); });
  return bytes;
}

/// Returns the minimum of each number over all ranks.
std::vector<int> agree(std::vector<int> numbers) {
  run([&](stretto_group* group) {
    return stretto.group_allreduce(group, numbers.data(), numbers.data(), numbers.size(), STRETTO_INT32,
                                   STRETTO_MIN);
  });
  return numbers;
}

/// Returns a function that makes a group by a Python function; empty for None.
template <typename... Arguments>
std::function<c10::intrusive_ptr<Base>(Arguments...)> function_of(const pybind11::object& make) {
  if (make.is_none()) return {};
  const std::shared_ptr<pybind11::object> shared(new pybind11::object(make), [](pybind11::object* one) {
    if (Py_IsInitialized() == 0) return;  // the object can no longer be freed
    const pybind11::gil_scoped_acquire lock;
    delete one;
  });
  return [shared](Arguments... arguments) {
    const pybind11::gil_scoped_acquire lock;
    return (*shared)(arguments...).template cast<c10::intrusive_ptr<Base>>();
  };
}

}  // namespace
}  // namespace stretto_torch

PYBIND11_MODULE(STRETTO_TORCH_MODULE, module) {
  using namespace stretto_torch;
  namespace python = pybind11;
  // torch.distributed registers the base class with Python.
  python::module_::import("torch.distributed");
  const auto released = python::call_guard<python::gil_scoped_release>();

  module.def("load", [](std::uintptr_t object) { return load_interface(reinterpret_cast<void*>(object)); });
  module.def("begin", [] {
    const stretto_place place = [] {
      const python::gil_scoped_release release;
      return begin();
    }();
    return python::make_tuple(place.rank, place.ranks, place.local_rank, place.local_ranks);
  });
  module.def("broadcast_bytes", [](const python::bytes& bytes) {
    std::string text = bytes;
    {
      const python::gil_scoped_release release;
      text = broadcast_bytes(std::move(text));
    }
    return python::bytes(text);
  });
  module.def("agree", &agree, released);
  module.def("abort", [](int status) { stretto.abort(status); });
  module.def("has_given_up", &has_given_up);
  module.def("recorded_calls", [](bool with_frames, bool only_active) {
    return flight_recorder().dump(with_frames, only_active);
  });
  module.def("begin_by_store", [](int rank, int ranks, const c10::intrusive_ptr<c10d::Store>& store,
                                  const std::optional<std::string>& host, const python::bytes& secret,
                                  std::chrono::milliseconds timeout) {
    const std::string text = secret;
    const python::gil_scoped_release release;
    begin_by_store(rank, ranks, store, host, text, timeout);
  });
  module.def("end_with_process", &end_with_process);
  module.def("note_exception", &note_exception);
  module.def("is_in_store_job", &is_in_store_job);
  module.def("may_join_store_job", &may_join_store_job);
  module.def(
      "stop",
      [] {
        stop_completing();
        // Python ends other threads when they come back to it. mpi4py may finalize MPI soon.
        keep_others_out_of_mpi();
      },
      released);
  // Python gets the object with this class wherever torch returns it.
  python::class_<ProcessGroup, c10::intrusive_ptr<ProcessGroup>, Base> group(module, "ProcessGroup");
#if TORCH_VERSION_MAJOR >= 2
  group.def_property_readonly("options", &ProcessGroup::getBackendOptions);
  group.def("shrink_to_those_left", [](ProcessGroup& of, std::chrono::milliseconds timeout) {
    auto left = [&] {
      const python::gil_scoped_release release;
      return of.shrink_to_those_left(timeout);
    }();
    return python::make_tuple(std::move(left.group), std::move(left.ranks));
  });
#endif
  module.def("make_group", [](const std::vector<int>& ranks, int rank, std::chrono::milliseconds timeout,
                              const std::string& name, int tag, const c10::intrusive_ptr<c10d::Store>& store,
                              const python::object& make_part, const python::object& make_other) {
    using Store = c10::intrusive_ptr<c10d::Store>;
    using std::chrono::milliseconds;
    const ProcessGroup::Makers makers{
        function_of<Store, std::vector<int>, milliseconds, std::string>(make_part),
        function_of<Store, int, int, milliseconds>(make_other)};
    const python::gil_scoped_release release;
    return c10::intrusive_ptr<Base>(
        c10::make_intrusive<ProcessGroup>(ranks, rank, timeout, name, tag, store, makers));
  });
}
