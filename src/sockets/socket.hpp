// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace stretto {

/// A file descriptor that is closed when this object goes. A program may close all files, as those do that go
/// to the background, and open others under the same numbers. These stay open.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file), inode_(inode_of(file)) {}
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)), inode_(other.inode_) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(); }

  void close() {
    if (is_there()) ::close(file_);
    file_ = -1;
  }
  /// Whether the number still stands for this file.
  [[nodiscard]] bool is_there() const { return file_ >= 0 && inode_of(file_) == inode_; }
  [[nodiscard]] int file() const { return file_; }
  explicit operator bool() const { return file_ >= 0; }

 private:
  struct Inode {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const Inode&) const = default;
  };
  static Inode inode_of(int file) {
    struct stat found {};
    return file >= 0 && fstat(file, &found) == 0 ? Inode{found.st_dev, found.st_ino} : Inode{};
  }

  int file_ = -1;
  Inode inode_;
};

}  // namespace stretto
