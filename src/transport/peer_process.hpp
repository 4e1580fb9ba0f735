// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Another process of this machine, as one that may end before its time.
class PeerProcess {
 public:
  PeerProcess() = default;
  /// `pid`: in the PID namespace of this process. It must live now.
  explicit PeerProcess(int pid);
  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&& other) noexcept;
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess();

  /// Whether it has ended, however it did. False if that cannot be found out. Takes a microsecond or, where
  /// the kernel gives no descriptor of processes, some ten.
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_ = 0;
  int file_ = -1;  // by pidfd_open; -1: there is none
};

}  // namespace stretto
