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

template <typename Value>
const Value* as_given(const std::vector<Value>& values) {
  return values.data();
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
  const MPI_Datatype type = element_.datatype;
  // MPI_Alltoallw counts bytes to where parts begin.
  const std::size_t unit = role.collective == Collective::alltoallw ? element_.size : 1;
  for (int rank = 0; rank < role.ranks; ++rank) {
    blocks_.add(role.block_count(rank), role.block_begin(rank), type);
    if (!is_alltoall(role.collective)) continue;
    sent_.add(role.part_count(role.rank, rank), unit * role.part_begin_in_input(role.rank, rank), type);
    received_.add(role.part_count(rank, role.rank), unit * role.part_begin_in_output(rank, role.rank), type);
  }
}

void Call::Lengths::add(std::size_t count, std::size_t begin, MPI_Datatype type) {
  counts.push_back(static_cast<int>(count));
  begins.push_back(static_cast<int>(begin));
  types.push_back(type);
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
  // In place, the root of a scatter passes that for its output.
  const bool in_place = role_.calls_in_place();
  const bool keeps_input = is_scatter(role_.collective);
  const void* const from = in_place && !keeps_input ? MPI_IN_PLACE : buffers_.input(pair);
  void* const output = in_place && keeps_input ? MPI_IN_PLACE : buffers_.output(pair);
  MPI_Request* const request = &requests_[pair];
  const MPI_Datatype type = element_.datatype;
  const int count = static_cast<int>(role_.count);
  const MPI_Comm comm = algorithm_ != nullptr ? algorithm_->communicator : MPI_COMM_WORLD;
  const int* const counts = blocks_.counts.data();
  const int* const begins = blocks_.begins.data();
  const int block_count = counts[role_.rank];
  switch (role_.collective) {
    case Collective::allreduce:
      return pass(request, from, output, count, type, MPI_SUM, comm);
    case Collective::bcast:
      return pass(request, output, count, type, role_.root, comm);
    case Collective::reduce:
      return pass(request, from, output, count, type, MPI_SUM, role_.root, comm);
    case Collective::reduce_scatter:
      return pass(request, from, output, counts, type, MPI_SUM, comm);
    case Collective::reduce_scatter_block:
      return pass(request, from, output, block_count, type, MPI_SUM, comm);
    case Collective::allgather:
      return pass(request, from, block_count, type, output, block_count, type, comm);
    case Collective::allgatherv:
      return pass(request, from, block_count, type, output, counts, begins, type, comm);
    case Collective::alltoall:
      return pass(request, from, block_count, type, output, block_count, type, comm);
    case Collective::alltoallv:
      return pass(request, from, as_given(sent_.counts), as_given(sent_.begins), type, output,
                  as_given(received_.counts), as_given(received_.begins), type, comm);
    case Collective::alltoallw:
      return pass(request, from, as_given(sent_.counts), as_given(sent_.begins), as_given(sent_.types),
                  output, as_given(received_.counts), as_given(received_.begins), as_given(received_.types),
                  comm);
    case Collective::gather:
    case Collective::scatter:
      return pass(request, from, block_count, type, output, block_count, type, role_.root, comm);
    case Collective::gatherv:
      return pass(request, from, block_count, type, output, counts, begins, type, role_.root, comm);
    case Collective::scatterv:
      return pass(request, from, counts, begins, type, output, block_count, type, role_.root, comm);
    case Collective::scan:
    case Collective::exscan:
      return pass(request, from, output, count, type, MPI_SUM, comm);
    case Collective::barrier:
      return pass(request, comm);
  }
  return MPI_ERR_INTERN;
}

}  // namespace stretto::bench
