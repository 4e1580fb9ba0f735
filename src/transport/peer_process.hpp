// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Another process of this machine, which may end before its time.
class PeerProcess {
 public:
  PeerProcess() = default;
  /// `pid` is its number in the PID namespace of this process. The process must be alive.
  explicit PeerProcess(int pid) : pid_(pid) {}

  /// Whether the process has ended in any way. Returns false if that cannot be found out. Takes some ten
  /// microseconds. No descriptor of the process is kept for this, since a program may close or replace files
  /// that it does not know.
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_ = 0;
};

}  // namespace stretto
