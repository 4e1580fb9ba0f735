// SPDX-License-Identifier: Apache-2.0
#include "interpose/operations/staged_library_call.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/data/element.hpp"
#include "engine/packing/data_runs.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/operations/requested_call.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "mpi/status.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {
namespace {

std::byte* begin_of(const TouchedBytes& touched) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(touched.buffer) + touched.first);
}

/// Returns the runs of bytes that are touched, from the first one on.
std::vector<Range> runs_of(const TouchedBytes& touched) {
  std::vector<Range> runs;
  std::vector<Range> of_one;
  MPI_Datatype datatype = mpi.datatype_null;
  for (const TouchedElements& elements : touched.data) {
    if (elements.datatype != datatype) of_one = runs_of_element(datatype = elements.datatype);
    add_runs(runs, of_one, elements.place + elements.true_lower_bound - touched.first,
             static_cast<std::size_t>(elements.count), elements.extent);
  }
  return runs;
}

bool is_on_device(const TouchedBytes& touched) {
  return touched.bytes > 0 && is_in_device_memory(begin_of(touched));
}

/// One buffer in device memory, and its copy in host memory.
class StagedBuffer {
 public:
  /// `is_read`: the library gets a copy of its contents. `is_written`: the library's output is copied back.
  StagedBuffer(const TouchedBytes& touched, bool is_read, bool is_written)
      : is_staged_(is_on_device(touched)), is_read_(is_read), is_written_(is_written) {
    if (!is_staged_) return;
    users_ = begin_of(touched);
    bytes_ = touched.bytes;
    first_ = touched.first;
    if (is_written && !touched.data.empty()) written_ = runs_of(touched);
  }

  StagedBuffer(const StagedBuffer&) = delete;
  StagedBuffer& operator=(const StagedBuffer&) = delete;
  /// Waits for copies that are under way, because the program may free its memory after an error.
  ~StagedBuffer() {
    while (!is_abandoned_ && !has_ended()) sched_yield();
  }

  /// Finds its place in host memory. All calls of fetch() use the same place. Throws std::bad_alloc, and
  /// std::runtime_error if the driver cannot wait for the device's earlier work.
  void place() {
    if (!is_staged_) return;
    Call call = note();
    library_gets_ = find_place(call, true);
  }
  /// Waits until the device has done the work that the program has given it, and begins to copy the library's
  /// input. Throws as place() does.
  void fetch() {
    if (!is_staged_) return;
    Call call = note();
    wait_until([&] { return staging_.may_begin(); });
    void* const place = find_place(call, false);
    if (library_gets_ == nullptr) library_gets_ = place;
    if (library_gets_ != place)
      throw std::runtime_error(
          "a persistent call cannot be started again: a buffer has left device memory, or an earlier start "
          "has "
          "failed in the MPI library");
  }
  /// Waits until the library's input has arrived.
  void wait_for_input() {
    wait_until([&] { return !is_staged_ || staging_.arrived() > 0; });
  }
  /// Returns the buffer that the library gets in its place; nullptr: it gets the program's buffer.
  [[nodiscard]] void* library_gets() const { return library_gets_; }

  /// Limits the copy back to the first `bytes` bytes, because the library has written no more.
  void shorten(std::size_t bytes) { written_.emplace({Range{0, bytes}}); }
  /// Begins to copy the library's output back.
  void put_back() {
    if (!is_written_) return;
    if (written_) {
      staging_.finish(*written_);
    } else {
      staging_.finish();
    }
  }
  /// Whether all copies have ended. Does not wait.
  bool has_ended() { return !is_staged_ || staging_.has_ended(); }
  /// Keeps the copy, because the library may still use it.
  void abandon() {
    is_abandoned_ = true;
    staging_.abandon();
  }
  /// Returns a description of the failure; an empty text if nothing failed.
  [[nodiscard]] std::string error() const {
    return is_staged_ && staging_.has_failed() ? staging_.describe_error() : "";
  }

 private:
  Call note() {
    // A buffer that is both read and written makes a call in place.
    Call call;
    call.element = byte_element();
    call.count = bytes_;
    call.in_place = is_read_ && is_written_;
    if (is_read_) call.input = users_;
    if (is_written_) call.output = users_;
    if (is_read_ && !call.in_place) call.input_holds = {0, bytes_};
    if (is_written_) call.output_holds = {0, bytes_};
    staging_.note(call);
    return call;
  }
  /// With `by_segments`, nothing is copied yet, because no segment is ever asked for.
  void* find_place(Call& call, bool by_segments) {
    staging_.stage(call, by_segments);
    const void* host = is_written_ ? call.output : call.input;
    return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(host) - first_);
  }

  DeviceStaging staging_;
  std::byte* users_ = nullptr;
  std::size_t bytes_ = 0;
  std::ptrdiff_t first_ = 0;  // bytes from the buffer's address to `users_`
  void* library_gets_ = nullptr;
  std::optional<std::vector<Range>> written_;  // empty: all of it
  bool is_staged_;
  bool is_read_;
  bool is_written_;
  bool is_abandoned_ = false;
};

class StagedLibraryCall final : public RequestedCall {
 public:
  StagedLibraryCall(const LibraryBuffers& buffers, MPI_Comm comm)
      : input_(buffers.input, true, false),
        output_(buffers.output, buffers.reads_output, true),
        is_message_(buffers.is_message),
        bytes_(std::max(buffers.input.bytes, buffers.output.bytes)) {
    find_communicator(comm, state_);
  }
  StagedLibraryCall(const StagedLibraryCall&) = delete;
  StagedLibraryCall& operator=(const StagedLibraryCall&) = delete;
  ~StagedLibraryCall() override {
    if (!is_persistent_) return;
    forget_persistent_of_library(request_);
    mpi.Request_free(&request_);
  }

  /// Finds the places of the buffers of a persistent call, which the library will start again and again.
  void place() {
    input_.place();
    output_.place();
  }
  /// Copies all that the library reads, and waits until it has arrived.
  void fetch() {
    input_.fetch();
    output_.fetch();
    input_.wait_for_input();
    output_.wait_for_input();
  }

  [[nodiscard]] StagedBuffer& input() { return input_; }
  [[nodiscard]] StagedBuffer& output() { return output_; }

  /// Follows a call that the library has started. If `request` is mpi.request_null, the library has carried
  /// the call out.
  void follow(MPI_Request request) {
    request_ = request;
    note_start();
    if (request_ == mpi.request_null) put_back();
  }

  /// Keeps the persistent request that the library has made for the call.
  void keep(MPI_Request request) {
    request_ = request;
    is_persistent_ = true;
    library_must_wait_ = must_library_wait_for(request);
  }
  void abandon() {
    input_.abandon();
    output_.abandon();
  }

  /// Says what failed, and returns whether anything did.
  bool complain_of_failure() {
    std::string error = input_.error();
    if (error.empty()) error = output_.error();
    if (!error.empty()) complain(this_rank() + ": " + error + ", in a call that the MPI library carries out");
    return !error.empty();
  }

  void start() override {
    note_start();
    is_copying_back_ = false;
    is_awaited_.store(false, std::memory_order_relaxed);
    error_ = own_error_ = MPI_SUCCESS;
    try {
      fetch();
      // As in stage_for_library(), a rank without its input does not start, and the others wait for it.
      if (complain_of_failure()) own_error_ = mpi.err_other;
    } catch (const std::bad_alloc&) {
      own_error_ = mpi.err_no_mem;
    } catch (const std::exception& failure) {
      complain(this_rank() + ": " + failure.what());
      own_error_ = mpi.err_other;
    }
    error_ = own_error_ != MPI_SUCCESS ? own_error_ : mpi.Start(&request_);
    // A copy may be under way nevertheless.
    if (error_ != MPI_SUCCESS) is_copying_back_ = true;
  }
  void note_asked() override { is_awaited_.store(true, std::memory_order_relaxed); }
  bool progress() override {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock() || ended()) return false;
    if (!is_copying_back_) {
      int done = 0;
      // With such a library, the program's test waits: the library's own test would never succeed.
      if (library_must_wait_) {
        if (!is_awaited_.load(std::memory_order_relaxed)) return false;
        error_ = mpi.Waitall(1, &request_, status_);
        if (error_ == mpi.err_in_status) error_ = error_of(status_);
        done = 1;
      } else {
        error_ = mpi.Test(&request_, &done, status_);
      }
      if (error_ != MPI_SUCCESS) {
        abandon();
        note_end();
        return true;
      }
      if (done == 0) return false;
      if (is_message_) shorten_to_message();
      put_back();
      return true;
    }
    if (!input_.has_ended() || !output_.has_ended()) return false;
    if (error_ == MPI_SUCCESS && complain_of_failure()) error_ = own_error_ = mpi.err_other;
    note_end();
    return true;
  }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

  [[nodiscard]] int report_error() const override {
    if (own_error_ != MPI_SUCCESS && state_ != nullptr) state_->call_error_handler(own_error_);
    return error_;
  }
  void set_status(MPI_Status* status) const override {
    if (status == mpi.status_ignore) return;
    const int error = error_of(status);
    copy_status(status, status_);
    set_error(status, error);
  }
  bool try_describe_state(std::string& text) override {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock() || ended()) return false;
    text = is_copying_back_ ? "it waits for the CUDA driver's copies" : "it is in the MPI library";
    return true;
  }

 private:
  void put_back() {
    is_copying_back_ = true;
    output_.put_back();
  }

  void shorten_to_message() {
    MPI_Count bytes = 0;
    if (mpi.Get_elements_x(status_, mpi.byte, &bytes) == MPI_SUCCESS && bytes >= 0)
      output_.shorten(static_cast<std::size_t>(bytes));
  }

  StagedBuffer input_;
  StagedBuffer output_;
  bool is_message_;
  std::size_t bytes_;
  std::shared_ptr<Communicator> state_;  // nullptr: unknown
  SpinLock lock_;                        // of all members below
  MPI_Request request_{};
  OwnStatus status_;
  bool is_persistent_ = false;
  bool library_must_wait_ = false;
  std::atomic<bool> is_awaited_{false};  // by the program, since it was started
  bool is_copying_back_ = false;
  int error_ = MPI_SUCCESS;
  int own_error_ = MPI_SUCCESS;  // an error that the library has not reported
};

}  // namespace

std::optional<int> stage_for_library(const LibraryBuffers& buffers, Form form, Place<MPI_Request> request,
                                     MPI_Comm comm,
                                     const std::function<int(const void* input, void* output)>& call) {
  if (!is_on_device(buffers.input) && !is_on_device(buffers.output)) return {};
  try {
    const auto staged = std::make_shared<StagedLibraryCall>(buffers, comm);
    const bool is_persistent = form == Form::persistent;
    if (is_persistent) {
      staged->place();
    } else {
      staged->fetch();
    }
    // Without its input, this rank does not make the call: the others would get a wrong result.
    if (staged->complain_of_failure()) return report(comm, mpi.err_other);
    const int error = call(staged->input().library_gets(), staged->output().library_gets());
    if (error != MPI_SUCCESS) {
      staged->abandon();
      return error;
    }
    if (is_persistent) {
      staged->keep(request);
      request.store(make_request(staged, true));
      return MPI_SUCCESS;
    }
    staged->follow(form == Form::blocking ? MPI_Request{mpi.request_null} : request.load());
    if (form == Form::blocking) {
      wait_for(*staged);
      return staged->report_error();
    }
    add_outstanding(staged);
    request.store(make_request(staged, false));
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return report_exception(comm);
  }
}

}  // namespace stretto
