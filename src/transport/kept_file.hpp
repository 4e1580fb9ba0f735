// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace stretto {

/// A file that stays open while the program runs. The program may close or replace files that it does not
/// know, so number() checks that the file is still this one. Only for files with an inode of their own, such
/// as sockets and pipes, but not for other descriptors of the kernel.
class KeptFile {
 public:
  KeptFile() = default;
  /// Takes over the file; a negative number means that there is none.
  explicit KeptFile(int number) : number_(number) {
    if (number_ >= 0 && fstat(number_, &status_) != 0) number_ = -1;
  }
  KeptFile(KeptFile&& other) noexcept : number_(std::exchange(other.number_, -1)), status_(other.status_) {}
  KeptFile& operator=(KeptFile&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(status_, other.status_);
    return *this;
  }
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() {
    if (const int file = number(); file >= 0) ::close(file);
  }

  /// Returns the file's number, or -1 if that number belongs to another file by now.
  [[nodiscard]] int number() const {
    struct stat now {};
    const bool is_it = number_ >= 0 && fstat(number_, &now) == 0 && now.st_dev == status_.st_dev &&
                       now.st_ino == status_.st_ino;
    return is_it ? number_ : -1;
  }

 private:
  int number_ = -1;
  struct stat status_ {};
};

}  // namespace stretto
