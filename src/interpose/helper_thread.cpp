// SPDX-License-Identifier: Apache-2.0
#include "interpose/helper_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace stretto {

namespace {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_helper_thread(const char* name, std::function<void()> body) {
  const SignalsBlocked blocked;  // a new thread inherits that
  std::thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace stretto
