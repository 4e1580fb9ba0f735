// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

namespace stretto {

/// The process that made something. A child of fork() has a copy of the thing, which it must not free: memory
/// that was left out of the child (MADV_DONTFORK) is a hole where other memory of the child may be by then,
/// and file descriptors may be those of other files.
class Maker {
 public:
  static Maker this_process() {
    Maker maker;
    maker.process_ = getpid();
    return maker;
  }
  [[nodiscard]] bool is_this_process() const { return process_ == getpid(); }

 private:
  pid_t process_ = 0;  // none
};

}  // namespace stretto
