// SPDX-License-Identifier: Apache-2.0
#include "text/file_writer.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace stretto {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 32;  // about the limit of the kernel
// A full disk can still hold empty files.
constexpr std::size_t probed_bytes = 4096;

std::string write(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (stream) return {};
  return errno != 0 ? std::generic_category().message(errno) : "cannot be written";
}

bool is_stream(const fs::path& path) {
  std::error_code failed;
  const auto kind = fs::status(path, failed).type();
  return kind == fs::file_type::character || kind == fs::file_type::fifo || kind == fs::file_type::socket;
}

/// The target of the path, also if it does not exist yet.
fs::path behind_links(fs::path path) {
  std::error_code failed;
  for (int links = 0; links < most_links && fs::is_symlink(path, failed); ++links) {
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) break;
    path = path.parent_path() / next;
  }
  return path;
}

fs::path beside(const fs::path& target) {
  return target.string() + "." + std::to_string(getpid()) + ".tmp";
}

void take_away(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

std::string replace_file(const std::string& path, const std::string& text) {
  if (is_stream(path)) return write(path, text);
  const fs::path target = behind_links(path);
  const fs::path made = beside(target);
  std::string error = write(made, text);
  if (error.empty()) {
    std::error_code failed;
    fs::rename(made, target, failed);
    if (failed) error = failed.message();
  }
  if (!error.empty()) take_away(made);
  return error;
}

std::string find_obstacle(const std::string& path) {
  if (is_stream(path)) {
    return access(path.c_str(), W_OK) == 0 ? "" : std::generic_category().message(errno);
  }
  std::error_code failed;
  if (fs::is_directory(path, failed)) return std::generic_category().message(EISDIR);
  const fs::path made = beside(behind_links(path));
  std::string error = write(made, std::string(probed_bytes, ' '));
  take_away(made);
  return error;
}

}  // namespace stretto
