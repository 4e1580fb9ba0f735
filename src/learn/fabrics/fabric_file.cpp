// SPDX-License-Identifier: Apache-2.0
#include "learn/fabrics/fabric_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "select/library_name.hpp"
#include "text/file_writer.hpp"
#include "text/hash.hpp"
#include "text/home_folder.hpp"
#include "text/json_reader.hpp"
#include "text/read_text.hpp"

namespace stretto {
namespace {

namespace fs = std::filesystem;

/// A job that ends waits at most this long for another one that writes. After that, its findings may be lost.
constexpr std::chrono::seconds longest_wait{1};

std::string folder_in(const char* variable, const std::string& below) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value + below : "";
}

/// Holds a lock for a file. A second file beside it has the lock, because the file itself is replaced. Where
/// locks do not work, as on some network file systems, nothing is locked. Then one of two jobs that end at
/// once may lose its findings.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : descriptor_(open((path + ".lock").c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600)) {
    const auto until = std::chrono::steady_clock::now() + longest_wait;
    while (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace

std::string fabric_path(const FabricIdentity& identity) {
  std::string folder = folder_in("STRETTO_CACHE", "");
  if (folder.empty()) folder = folder_in("XDG_CACHE_HOME", "/stretto");
  if (folder.empty()) {
    folder = home_folder();
    if (folder.empty()) return {};
    folder += "/.cache/stretto";
  }
  const auto library = parse_library_name(identity.mpi);
  std::array<char, 17> number{};
  std::snprintf(number.data(), number.size(), "%016llx",
                static_cast<unsigned long long>(hash_of(identity.mpi + '\n' + identity.network + '\n' +
                                                        identity.processor + '\n' + identity.hosts)));
  return folder + "/fabrics/" + std::string(library ? library->family : "other") + "-" + number.data() +
         ".json";
}

Fabric read_fabric(const std::string& path, const FabricIdentity& identity, std::string& error) {
  std::error_code failed;
  const auto kind = fs::status(path, failed).type();
  if (kind == fs::file_type::not_found) return Fabric(identity);
  if (kind != fs::file_type::regular) {
    error = failed ? failed.message() : "is not a file";  // a pipe might never end
    return Fabric(identity);
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string text = read_text(stream, JsonText::most_text + 1);
  if (!stream.is_open() || stream.bad()) {
    error = "cannot be read";
    return Fabric(identity);
  }
  try {
    return {text, identity};
  } catch (const FormatError& wrong) {
    error = wrong.what();
    return Fabric(identity);
  }
}

std::string add_to_fabric(const std::string& path, const Fabric& found) {
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed) return failed.message();
  // Opening a pipe may take for ever.
  const auto kind = fs::status(path, failed).type();
  if (kind != fs::file_type::not_found && kind != fs::file_type::regular) return "is not a file";
  const FileLock lock(path);
  std::string ignored;
  Fabric fabric = read_fabric(path, found.identity(), ignored);
  for (const Decision& decision : found.decisions()) fabric.keep(decision);
  if (found.measured()) fabric.keep(*found.measured());
  return replace_file(path, fabric.text());
}

}  // namespace stretto
