// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/calls.hpp"

#include <dlfcn.h>

#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "bench/library/library.hpp"

namespace stretto::bench {
namespace {

/// Found at run time: libraries differ in what they have, and a program whose symbols include non-blocking
/// collectives is initialized in another way (interpose/session/thread_level.hpp), whose cost blocking
/// calls should not pay.
void* find_function(Collective collective, const std::string& spec, bool is_native, Form form) {
  std::string name(names_of(collective).name);
  if (form == Form::non_blocking) name = "i" + name;
  if (form == Form::persistent) name += "_init";
  const std::string by_spec = "stretto_" + name;
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  void* found = nullptr;
  if (is_native) {
    found = find_in_library(("PMPI_" + name).c_str());
    if (found == nullptr) found = find_in_library(("PMPIX_" + name).c_str());  // before MPI 4
  } else {
    found = dlsym(RTLD_DEFAULT, (spec == "auto" ? "MPI_" + name : by_spec).c_str());
  }
  if (found == nullptr) {
    throw std::invalid_argument("--forms " + std::string(name_of(form)) + ", spec " + spec +
                                ": this MPI library has no MPI_" + name);
  }
  return found;
}

}  // namespace

std::string failure(const std::string& what, int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  return "spec " + what + ": " + std::string(text.data(), static_cast<std::size_t>(length));
}

void fail(const std::string& what, int code) {
  throw std::runtime_error(failure(what, code));
}

Call::Call(const Role& role, Element element, std::string spec, Form form, Buffers& buffers,
           const LibraryAlgorithm* algorithm)
    : role_(role),
      element_(std::move(element)),
      spec_(std::move(spec)),
      form_(form),
      buffers_(buffers),
      algorithm_(algorithm),
      is_native_(algorithm != nullptr || spec_ == "native"),
      by_name_(is_native_ || spec_ == "auto"),
      function_(find_function(role.collective, spec_, is_native_, form)),
      start_(is_native_ ? LIBRARY(PMPI_Start) : &MPI_Start),
      test_(is_native_ ? LIBRARY(PMPI_Test) : &MPI_Test),
      wait_(is_native_ ? LIBRARY(PMPI_Wait) : &MPI_Wait),
      free_(is_native_ ? LIBRARY(PMPI_Request_free) : &MPI_Request_free),
      requests_(buffers.pairs(), MPI_REQUEST_NULL) {
  for (int rank = 0; rank < role.ranks; ++rank) {
    block_counts_.push_back(static_cast<int>(role.block_count(rank)));
    block_begins_.push_back(static_cast<int>(role.block_begin(rank)));
  }
}

Call::~Call() {
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) free_(&request);
  }
}

void Call::prepare(std::size_t pair) {
  if (form_ != Form::persistent || requests_[pair] != MPI_REQUEST_NULL) return;
  check(make(pair));
  start(pair);
  wait(pair);
}

void Call::start(std::size_t pair) {
  check(form_ == Form::persistent ? start_(&requests_[pair]) : make(pair));
}

bool Call::test(std::size_t pair) {
  int done = 0;
  check(test_(&requests_[pair], &done, MPI_STATUS_IGNORE));
  return done != 0;
}

void Call::wait(std::size_t pair) {
  if (form_ != Form::blocking) check(wait_(&requests_[pair], MPI_STATUS_IGNORE));
}

void Call::check(int code) const {
  if (code == MPI_SUCCESS) return;
  const std::string what = failure(spec_ + " (" + std::string(name_of(form_)) + ")", code);
  // For example, an algorithm that does not work for this many ranks. All ranks see that before anything is
  // sent.
  if (algorithm_ != nullptr) throw std::invalid_argument(what);
  throw std::runtime_error(what);
}

/// Passes the arguments of the blocking call on, with those that the form adds.
template <typename... Arguments>
int Call::pass(MPI_Request* request, Arguments... arguments) const {
  const auto call = [this](auto... all) {
    return reinterpret_cast<int (*)(decltype(all)...)>(function_)(all...);
  };
  const char* const spec = spec_.c_str();
  switch (form_) {
    case Form::blocking:
      return by_name_ ? call(arguments...) : call(arguments..., spec);
    case Form::non_blocking:
      return by_name_ ? call(arguments..., request) : call(arguments..., spec, request);
    case Form::persistent:
      return by_name_ ? call(arguments..., MPI_INFO_NULL, request)
                      : call(arguments..., MPI_INFO_NULL, spec, request);
  }
  return MPI_ERR_INTERN;
}

int Call::make(std::size_t pair) {
  const void* const from = role_.calls_in_place() ? MPI_IN_PLACE : buffers_.input(pair);
  void* const output = buffers_.output(pair);
  MPI_Request* const request = &requests_[pair];
  const MPI_Datatype type = element_.datatype;
  const int count = static_cast<int>(role_.count);
  const MPI_Comm comm = algorithm_ != nullptr ? algorithm_->communicator : MPI_COMM_WORLD;
  const int block_count = block_counts_[static_cast<std::size_t>(role_.rank)];
  switch (role_.collective) {
    case Collective::allreduce:
      return pass(request, from, output, count, type, MPI_SUM, comm);
    case Collective::bcast:
      return pass(request, output, count, type, role_.root, comm);
    case Collective::reduce:
      return pass(request, from, output, count, type, MPI_SUM, role_.root, comm);
    case Collective::reduce_scatter:
      return pass(request, from, output, block_counts_.data(), type, MPI_SUM, comm);
    case Collective::reduce_scatter_block:
      return pass(request, from, output, block_count, type, MPI_SUM, comm);
    case Collective::allgather:
      return pass(request, from, block_count, type, output, block_count, type, comm);
    case Collective::scatter:
      return pass(request, from, block_count, type, output, block_count, type, role_.root, comm);
    case Collective::scatterv:
      return pass(request, from, block_counts_.data(), block_begins_.data(), type, output, block_count, type,
                  role_.root, comm);
    case Collective::gather:
      return pass(request, from, block_count, type, output, block_count, type, role_.root, comm);
    case Collective::alltoall:
      return pass(request, from, block_count, type, output, block_count, type, comm);
  }
  return MPI_ERR_INTERN;
}

}  // namespace stretto::bench
