// SPDX-License-Identifier: Apache-2.0
#include "sockets/files.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <mutex>

namespace stretto {
namespace {

/// While it exists, the limit of open files is the hard one. Only one exists at a time.
class RaisedLimit {
 public:
  explicit RaisedLimit(const rlimit& usual) : guard_(mutex), usual_(usual) {
    const rlimit raised{.rlim_cur = usual.rlim_max, .rlim_max = usual.rlim_max};
    is_raised_ = usual.rlim_cur < usual.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0;
  }
  RaisedLimit(const RaisedLimit&) = delete;
  RaisedLimit& operator=(const RaisedLimit&) = delete;
  ~RaisedLimit() {
    const int error = errno;
    if (is_raised_) setrlimit(RLIMIT_NOFILE, &usual_);
    errno = error;
  }
  explicit operator bool() const { return is_raised_; }

 private:
  static constinit std::mutex mutex;
  std::lock_guard<std::mutex> guard_;
  rlimit usual_;
  bool is_raised_ = false;
};
constinit std::mutex RaisedLimit::mutex;

}  // namespace

Socket open_file(const std::function<int()>& open) {
  int file = open();
  if (file < 0 && errno != EMFILE) return {};
  const int error = errno;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Socket(file);
  if (file >= 0 && static_cast<rlim_t>(file) < limit.rlim_cur / 2) return Socket(file);
  const RaisedLimit raised(limit);
  if (!raised) {
    errno = error;
    return Socket(file);
  }
  if (file < 0) file = open();
  if (file < 0 || static_cast<rlim_t>(file) >= limit.rlim_cur) return Socket(file);
  const int above = fcntl(file, F_DUPFD_CLOEXEC, static_cast<int>(limit.rlim_cur));
  if (above < 0) return Socket(file);
  close(file);
  return Socket(above);
}

std::size_t limit_of_files() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
}

}  // namespace stretto
