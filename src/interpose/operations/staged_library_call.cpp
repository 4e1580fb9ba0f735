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
  /// `is_read`: what it holds reaches the library. `is_written`: what the library writes goes back.
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
  /// The program may free its memory after an error: no copy may be under way then.
  ~StagedBuffer() {
    while (!is_abandoned_ && !has_ended()) sched_yield();
  }

  /// Finds its place in host memory. It stays the same as often as it is fetched. Throws std::bad_alloc, and
  /// std::runtime_error if the driver cannot await what the device should do before.
  void place() {
    if (!is_staged_) return;
    Call call = note();
    library_gets_ = find_place(call, true);
  }
  /// Begins to copy what the library reads, when the device has done what the program has asked it to. Throws
  /// as place() does.
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
  /// Waits until that is there.
  void wait_for_input() {
    wait_until([&] { return !is_staged_ || staging_.arrived() > 0; });
  }
  /// Returns what the library gets in its place; nullptr: it gets the program's buffer.
  [[nodiscard]] void* library_gets() const { return library_gets_; }

  /// The library has written no more than that, from the first byte on.
  void shorten(std::size_t bytes) { written_.emplace({Range{0, bytes}}); }
  /// Begins to copy what the library has written.
  void put_back() {
    if (!is_written_) return;
    if (written_) {
      staging_.finish(*written_);
    } else {
      staging_.finish();
    }
  }
  /// Whether that has ended. Does not wait.
  bool has_ended() { return !is_staged_ || staging_.has_ended(); }
  /// The library may still use the copy.
  void abandon() {
    is_abandoned_ = true;
    staging_.abandon();
  }
  /// Returns what failed, for people; an empty text if nothing did.
  [[nodiscard]] std::string error() const {
    return is_staged_ && staging_.has_failed() ? staging_.describe_error() : "";
  }

 private:
  Call note() {
    // What is read and written is a call in place.
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
  /// By segments, which nobody asks for, nothing is copied yet.
  void* find_place(Call& call, bool by_segments) {
    staging_.stage(call, by_segments);
    const void* host = is_written_ ? call.output : call.input;
    return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(host) - first_);
  }

  DeviceStaging staging_;
  std::byte* users_ = nullptr;
  std::size_t bytes_ = 0;
  std::ptrdiff_t first_ = 0;  // bytes from the buffer's address to there
  void* library_gets_ = nullptr;
  std::optional<std::vector<Range>> written_;  // nothing: all of it
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

  /// Of a call that the library will start again and again.
  void place() {
    input_.place();
    output_.place();
  }
  /// Waits until the library has all that it reads.
  void fetch() {
    input_.fetch();
    output_.fetch();
    input_.wait_for_input();
    output_.wait_for_input();
  }

  [[nodiscard]] StagedBuffer& input() { return input_; }
  [[nodiscard]] StagedBuffer& output() { return output_; }

  /// The library has started it. mpi.request_null: it has carried it out.
  void follow(MPI_Request request) {
    request_ = request;
    note_start();
    if (request_ == mpi.request_null) put_back();
  }

  /// The library has made a persistent request for it.
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
      // As where the call is made, others wait for this rank.
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
      // There a test of the program waits: the library's own would never end.
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
  std::shared_ptr<Communicator> state_;  // nullptr: not known
  SpinLock lock_;                        // of all below
  MPI_Request request_{};
  OwnStatus status_;
  bool is_persistent_ = false;
  bool library_must_wait_ = false;
  std::atomic<bool> is_awaited_{false};  // by the program, since it was started
  bool is_copying_back_ = false;
  int error_ = MPI_SUCCESS;
  int own_error_ = MPI_SUCCESS;  // that the library has not reported
};

}  // namespace

std::optional<int> stage_for_library(const LibraryBuffers& buffers, Form form, Place<MPI_Request> request,
                                     MPI_Comm comm,
                                     const std::function<int(const void* input, void* output)>& call) {
  if (!is_on_device(buffers.input) && !is_on_device(buffers.output)) return {};
  return report_exceptions(comm, [&]() -> int {
    const auto staged = std::make_shared<StagedLibraryCall>(buffers, comm);
    const bool is_persistent = form == Form::persistent;
    if (is_persistent) {
      staged->place();
    } else {
      staged->fetch();
    }
    // Without what it should send, this rank does not make the call: others would get a wrong result.
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
  });
}

}  // namespace stretto
