// SPDX-License-Identifier: Apache-2.0
// A file in memory. Needs no C++ library, since src/front has none.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

namespace stretto {

/// A file in memory, for reading.
class FileBytes {
 public:
  explicit FileBytes(const char* path) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0) {
      void* memory =
          mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (memory != MAP_FAILED) {
        bytes_ = {static_cast<const char*>(memory), static_cast<std::size_t>(status.st_size)};
      }
    }
    if (descriptor >= 0) close(descriptor);
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  /// Returns the value at `offset`, or nothing if the file does not hold all of it.
  template <typename T>
  [[nodiscard]] std::optional<T> read(std::size_t offset) const {
    T result;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    std::memcpy(&result, bytes_.data() + offset, sizeof(T));
    return result;
  }
  /// Returns the text from `offset` up to a zero; empty if there is no zero.
  [[nodiscard]] std::string_view text(std::size_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest(bytes_.data() + offset, bytes_.size() - offset);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : std::string_view(rest.data(), end);
  }

 private:
  std::string_view bytes_;
};

}  // namespace stretto
