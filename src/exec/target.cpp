// SPDX-License-Identifier: Apache-2.0
#include "exec/target.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace stretto {
namespace {

/// Searches PATH as execvp does: the error says that a file may not be started, if there was one, else that
/// none was found.
Target search_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  Target target{.path = name, .error = ENOENT, .binary = {}, .elf = {}};
  for (;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string file = (folder.empty() ? std::string(".") : std::string(folder)) + "/" + name;
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      if (access(file.c_str(), X_OK) == 0) return {.path = file, .error = 0, .binary = {}, .elf = {}};
      target.error = EACCES;
    }
    if (colon == std::string_view::npos) return target;
    rest.remove_prefix(colon + 1);
  }
}

Target look_up(const std::string& name) {
  if (name.find('/') == std::string::npos) return search_path(name);
  Target target{.path = name, .error = 0, .binary = {}, .elf = {}};
  struct stat status {};
  if (stat(name.c_str(), &status) != 0) {
    target.error = errno;
  } else if (!S_ISREG(status.st_mode) || access(name.c_str(), X_OK) != 0) {
    target.error = EACCES;
  }
  return target;
}

/// Returns the interpreter of a script, or "" if the file is not a script.
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

bool has_capabilities(const std::string& path) {
  return getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

Target find_target(const std::string& name) {
  Target target = look_up(name);
  if (target.error != 0) return target;
  target.binary = target.path;
  // The kernel follows the same number of interpreters (BINPRM_MAX_RECURSION).
  for (int depth = 0; depth < 5; ++depth) {
    target.elf = read_elf(target.binary);
    const std::string interpreter = target.elf ? std::string() : interpreter_of(target.binary);
    if (interpreter.empty()) break;
    target.binary = interpreter;
  }
  return target;
}

bool may_be_script(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return !line.starts_with("\177ELF") && line.find('\0') == std::string::npos;
}

std::string find_obstacle(const Target& target) {
  if (!target.elf) return {};  // the kernel or a shell handles it
  if (!target.elf->is_of_this_machine) return "it is for another processor";
  if (target.elf->loader.empty()) return "it is linked statically; link libstretto into it";
  if (target.elf->loader.find("ld-musl") != std::string::npos) return "it is built for musl, not glibc";
  struct stat status {};
  const bool is_special = stat(target.binary.c_str(), &status) == 0 &&
                          (((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
                           ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()));
  // The loader refuses preloads if the program gets other rights than this process.
  if (is_special || (geteuid() != 0 && has_capabilities(target.binary))) {
    return "it runs with more rights than its user (set-user-ID or capabilities)";
  }
  return {};
}

}  // namespace stretto
