// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

namespace stretto {

/// The process that made something. A child by fork has a copy of it, which it must not free: what was left
/// out of the child (MADV_DONTFORK) is a hole where memory of its own may lie by then, and numbers of files
/// may be those of others.
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
