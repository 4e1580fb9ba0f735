// SPDX-License-Identifier: Apache-2.0
#include "text/file_writer.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <streambuf>
#include <system_error>
#include <utility>

namespace stretto {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 32;  // about the limit of the kernel
constexpr int most_names = 100;
// A full disk can still hold empty files.
constexpr std::size_t probed_bytes = 4096;

std::string text_of(int error) {
  return std::generic_category().message(error);
}

/// A file that is open for writing. It is closed when this object goes.
class Output : public std::streambuf {
 public:
  explicit Output(int file) : file_(file) { setp(room_.data(), room_.data() + room_.size()); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() override {
    if (file_ >= 0) ::close(file_);
  }

  /// Returns the first error of all that was written, or 0.
  int close() {
    pass_on();
    if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
    return error_;
  }

 protected:
  int_type overflow(int_type letter) override {
    if (!pass_on()) return traits_type::eof();
    if (!traits_type::eq_int_type(letter, traits_type::eof())) sputc(traits_type::to_char_type(letter));
    return traits_type::not_eof(letter);
  }
  int sync() override { return pass_on() ? 0 : -1; }

 private:
  bool pass_on() {
    for (const char* next = pbase(); next < pptr() && error_ == 0;) {
      const ssize_t bytes = ::write(file_, next, static_cast<std::size_t>(pptr() - next));
      if (bytes >= 0) {
        next += bytes;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(room_.data(), room_.data() + room_.size());
    return error_ == 0;
  }

  std::array<char, std::size_t{16} << 10> room_{};
  int file_;
  int error_ = 0;
};

std::string write_into(int file, const std::function<void(std::ostream&)>& write) {
  Output output(file);
  std::ostream stream(&output);
  write(stream);
  const int error = output.close();
  return error == 0 ? "" : text_of(error);
}

/// The place to which a path leads.
struct Destination {
  fs::path target;         // behind all links; need not exist yet
  bool is_stream = false;  // a device or a pipe
  std::string error;
};

Destination find_destination(const std::string& path) {
  Destination destination;
  destination.target = path;
  std::error_code failed;
  const auto kind = fs::status(path, failed).type();
  destination.is_stream =
      kind == fs::file_type::character || kind == fs::file_type::fifo || kind == fs::file_type::socket;
  for (int links = 0; links < most_links; ++links) {
    struct stat status {};
    if (lstat(destination.target.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) break;
    if (status.st_uid != geteuid() && status.st_uid != 0) {
      destination.error = destination.target.string() + " is a link of another user";
      break;
    }
    const fs::path next = fs::read_symlink(destination.target, failed);
    if (failed) break;
    destination.target = destination.target.parent_path() / next;
  }
  return destination;
}

/// Opens a device or a pipe. Never creates or truncates a file: the path may lead elsewhere by now.
int open_stream(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || (fstat(file, &status) == 0 && !S_ISREG(status.st_mode))) return file;
  close(file);
  errno = EAGAIN;
  return -1;
}

/// Returns a random number. If the kernel has none yet, or refuses, the number can be guessed; O_EXCL still
/// keeps others' files and links out then.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) * 1099511628211U + static_cast<std::uint64_t>(getpid());
}

/// A new file beside the target.
struct Beside {
  explicit Beside(const fs::path& target) {
    for (int names = 0; names < most_names; ++names) {
      std::array<char, 32> end{};
      std::snprintf(end.data(), end.size(), ".%016llx.tmp", static_cast<unsigned long long>(random_number()));
      path = target.string() + end.data();
      file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (file >= 0 || errno != EEXIST) return;
    }
  }
  void take_away() const {
    std::error_code ignored;
    fs::remove(path, ignored);
  }

  fs::path path;
  int file = -1;  // errno says why
};

}  // namespace

std::string replace_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  const Destination destination = find_destination(path);
  if (!destination.error.empty()) return destination.error;
  if (destination.is_stream) {
    const int file = open_stream(path);
    return file < 0 ? text_of(errno) : write_into(file, write);
  }
  const Beside made(destination.target);
  if (made.file < 0) return text_of(errno);
  std::string error = write_into(made.file, write);
  if (error.empty()) {
    std::error_code failed;
    fs::rename(made.path, destination.target, failed);
    if (failed) error = failed.message();
  }
  if (!error.empty()) made.take_away();
  return error;
}

std::string replace_file(const std::string& path, const std::string& text) {
  return replace_file(path, [&](std::ostream& stream) { stream << text; });
}

std::string find_obstacle(const std::string& path) {
  const Destination destination = find_destination(path);
  if (!destination.error.empty()) return destination.error;
  if (destination.is_stream) return access(path.c_str(), W_OK) == 0 ? "" : text_of(errno);
  std::error_code failed;
  if (fs::is_directory(path, failed)) return text_of(EISDIR);
  const Beside made(destination.target);
  if (made.file < 0) return text_of(errno);
  std::string error =
      write_into(made.file, [](std::ostream& stream) { stream << std::string(probed_bytes, ' '); });
  made.take_away();
  return error;
}

}  // namespace stretto
