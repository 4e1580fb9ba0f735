// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Another process of this machine, as one that may end before its time.
class PeerProcess {
 public:
  PeerProcess() = default;
  /// `pid`: in the PID namespace of this process. It must live now.
  explicit PeerProcess(int pid) : pid_(pid) {}

  /// Whether it has ended, however it did. False if that cannot be found out. Takes some ten microseconds. No
  /// descriptor of the process is kept for it: a program may close or replace files that it does not know.
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_ = 0;
};

}  // namespace stretto
