// SPDX-License-Identifier: Apache-2.0
#include "threads/helper_thread.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

#include "threads/signals_blocked.hpp"

namespace stretto {
namespace {

/// Returns the size of a helper's stack. Only the part that is used takes memory, except in programs that
/// lock all of theirs. Without a limit, the C library gives 2 MiB to a thread of the program.
std::size_t stack_bytes() {
  constexpr std::size_t usual = std::size_t{8} << 20;
  constexpr std::size_t most = std::size_t{64} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return std::clamp<std::size_t>(limit.rlim_cur, usual, most);
}

void* run_body(void* argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

}  // namespace

void HelperThread::start(const char* name, std::function<void()> body) {
  const SignalsBlocked blocked;  // a new thread inherits the mask
  auto its_body = std::make_unique<std::function<void()>>(std::move(body));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes());
  int error = pthread_create(&thread_, &attributes, &run_body, its_body.get());
  pthread_attr_destroy(&attributes);
  // A limit of address space may leave no room for such a stack.
  if (error != 0) error = pthread_create(&thread_, nullptr, &run_body, its_body.get());
  if (error != 0) throw std::system_error(error, std::generic_category());
  static_cast<void>(its_body.release());
  is_running_ = true;
  pthread_setname_np(thread_, name);
}

void HelperThread::join() {
  if (!is_running_) return;
  pthread_join(thread_, nullptr);
  is_running_ = false;
}

}  // namespace stretto
