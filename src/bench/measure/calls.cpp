// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/calls.hpp"

#include <dlfcn.h>

#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "bench/library/program.hpp"
#include "mpi/mpi.hpp"

namespace stretto::bench {
namespace {

/// Finds the function at run time. MPI libraries have different functions, and a program whose symbols
/// include non-blocking collectives is initialized in another way (interpose/session/thread_level.hpp), at a
/// cost that blocking calls should not pay.
void* find_function(Collective collective, const std::string& spec, bool is_native, Form form) {
  std::string name(name_of(collective));
  if (form == Form::non_blocking) name = "i" + name;
  if (form == Form::persistent) name += "_init";
  const std::string by_spec = "stretto_" + name;
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  if (!mpi.has_library() && (is_native || form != Form::non_blocking)) {
    throw std::invalid_argument(is_native ? "spec " + spec + ": a job without MPI has no MPI library"
                                          : "--forms " + std::string(name_of(form)) +
                                                ": a job without MPI has non-blocking calls only");
  }
  void* found = nullptr;
  if (is_native) {
    found = mpi_symbol(("PMPI_" + name).c_str());
    if (found == nullptr) found = mpi_symbol(("PMPIX_" + name).c_str());  // before MPI 4
  } else {
    found = spec == "auto" ? program_function(name) : dlsym(RTLD_DEFAULT, by_spec.c_str());
  }
  if (found == nullptr) {
    throw std::invalid_argument("--forms " + std::string(name_of(form)) + ", spec " + spec +
                                ": this MPI library has no MPI_" + name);
  }
  return found;
}

/// Returns MPI_`name`: the MPI library's own function, or the one that a program calls.
template <typename Function>
Function* find(bool is_native, const char* name) {
  void* const found = is_native ? mpi_symbol((std::string("PMPI_") + name).c_str()) : program_function(name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

std::string failure(const std::string& what, int code) {
  MpiText text{};
  int length = 0;
  mpi.Error_string(code, text.data(), &length);
  return "spec " + what + ": " + std::string(text.data(), static_cast<std::size_t>(length));
}

void fail(const std::string& what, int code) {
  throw std::runtime_error(failure(what, code));
}

Call::Call(const Role& role, const Element& element, std::string spec, Form form, Buffers& buffers,
           const LibraryAlgorithm* algorithm)
    : arguments_(role, element),
      spec_(std::move(spec)),
      form_(form),
      buffers_(buffers),
      algorithm_(algorithm),
      is_native_(algorithm != nullptr || spec_ == "native"),
      by_name_(is_native_ || spec_ == "auto"),
      function_(find_function(role.collective, spec_, is_native_, form)),
      start_(find<decltype(MPI_Start)>(is_native_, "Start")),
      test_(find<decltype(MPI_Test)>(is_native_, "Test")),
      wait_(find<decltype(MPI_Wait)>(is_native_, "Wait")),
      free_(find<decltype(MPI_Request_free)>(is_native_, "Request_free")),
      requests_(buffers.pairs(), ProgramHandle<MPI_Request>(mpi.request_null)) {}

Call::~Call() {
  for (auto& request : requests_) {
    if (request.load() != mpi.request_null) free_(request.address());
  }
}

void Call::prepare(std::size_t pair) {
  if (form_ != Form::persistent || requests_[pair].load() != mpi.request_null) return;
  check(make(pair));
  start(pair);
  wait(pair);
}

void Call::start(std::size_t pair) {
  check(form_ == Form::persistent ? start_(requests_[pair].address()) : make(pair));
}

bool Call::test(std::size_t pair) {
  int done = 0;
  check(test_(requests_[pair].address(), &done, mpi.status_ignore));
  return done != 0;
}

void Call::wait(std::size_t pair) {
  if (form_ != Form::blocking) check(wait_(requests_[pair].address(), mpi.status_ignore));
}

void Call::check(int code) const {
  if (code == MPI_SUCCESS) return;
  const std::string what = failure(spec_ + " (" + std::string(name_of(form_)) + ")", code);
  // For example, an algorithm that does not work for this many ranks. All ranks see that before anything is
  // sent.
  if (algorithm_ != nullptr) throw std::invalid_argument(what);
  throw std::runtime_error(what);
}

/// Passes on the arguments of the blocking call, with those that the form adds.
template <typename... Given>
int Call::pass(void* request, Given... arguments) const {
  const auto call = [this](auto... all) {
    return reinterpret_cast<int (*)(decltype(all)...)>(function_)(all...);
  };
  const char* const spec = spec_.c_str();
  const MPI_Info info = mpi.info_null;
  switch (form_) {
    case Form::blocking:
      return by_name_ ? call(arguments...) : call(arguments..., spec);
    case Form::non_blocking:
      return by_name_ ? call(arguments..., request) : call(arguments..., spec, request);
    case Form::persistent:
      return by_name_ ? call(arguments..., info, request) : call(arguments..., info, spec, request);
  }
  return mpi.err_intern;
}

int Call::make(std::size_t pair) {
  const MPI_Comm comm = algorithm_ != nullptr ? algorithm_->communicator : MPI_Comm{mpi.comm_world};
  return arguments_.give(buffers_.input(pair), buffers_.output(pair), mpi.sum, comm,
                         [&](auto... given) { return pass(requests_[pair].address(), given...); });
}

}  // namespace stretto::bench
