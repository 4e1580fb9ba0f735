// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <functional>

namespace stretto {

/// A thread of Stretto. It handles none of the program's signals. Its stack is at least as large as that of a
/// thread of the program, because an MPI library may run a function of the program in any thread that is in
/// MPI: as large as the main thread's may become, but from 8 to 64 MiB, and 8 MiB without a limit.
class HelperThread {
 public:
  HelperThread() = default;
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;
  ~HelperThread() = default;

  /// Throws std::system_error if the process may have no more threads.
  void start(const char* name, std::function<void()> body);
  [[nodiscard]] bool is_running() const { return is_running_; }
  void join();

 private:
  pthread_t thread_{};
  bool is_running_ = false;
};

}  // namespace stretto
