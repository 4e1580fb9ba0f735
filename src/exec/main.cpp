// SPDX-License-Identifier: Apache-2.0
// The command `stretto`, a small static program. It carries out `stretto exec` itself: users write that
// behind a launcher, so it starts once for each rank. stretto-tool, beside this program, carries out all
// other commands.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"
#include "elf/inside.hpp"
#include "exec/installation.hpp"
#include "exec/launcher.hpp"
#include "exec/rank_environment.h"
#include "exec/target.hpp"
#include "select/spec.hpp"
#include "text/known_names.hpp"
#include "text/rank_variables.hpp"

namespace stretto {
namespace {

using Variables = std::map<std::string, std::string>;

// The exit statuses of shells.
constexpr int usage_error = 2;
constexpr int cannot_start = 126;
constexpr int not_found = 127;

constexpr const char* help =
    "Usage: stretto exec [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Run one rank of a program with Stretto under it. A launcher starts it once a rank:\n"
    "\n"
    "  srun -n 8 stretto exec ./solver\n"
    "  mpirun -np 8 stretto exec python train.py\n"
    "\n"
    "Options:\n"
    "  --check             Start nothing; print whether Stretto can be preloaded into the program.\n"
    "  --list              Start nothing; print the variables that the program would get, each with a zero\n"
    "                      byte behind it, as env -0 does.\n"
    "  --launcher MPI:DIR  The launcher, if it is not above this process: openmpi:/usr, mpich:/opt/mpich.\n"
    "  --spec SPEC         The spec of allreduce, such as ring:segments=4, or of another: bcast/chain.\n"
    "  --replace BACKEND   Take the place of this backend of torch.distributed: gloo.\n"
    "  --stats FILE        Write what was called into this JSON file.\n"
    "  --strict            End the job if a spec or a STRETTO_ variable is wrong or does not fit.\n"
    "  --summary           Print one line at the end.\n"
    "  --set NAME=VALUE    Set a variable of Stretto, such as STRETTO_TABLE=table.json.\n"
    "  -h, --help          Print this.\n"
    "\n"
    "Exit status: the program's; 2 wrong options; 126 it cannot be started; 127 it is not there. With "
    "--check:\n"
    "0 if Stretto can be preloaded, 1 if not.\n";

void say(const std::string& line) {
  std::fprintf(stderr, "stretto: %s\n", line.c_str());
}

int refuse(const std::string& line) {
  say("exec: " + line + "; use: stretto exec ./program");
  return usage_error;
}

void set(const std::string& name, const std::string& value) {
  setenv(name.c_str(), value.c_str(), 1);
}

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}

/// Returns an absolute path, because ranks may run in another folder.
std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  char* folder = getcwd(nullptr, 0);
  std::string result = folder == nullptr ? path : std::string(folder) + "/" + path;
  std::free(folder);
  return result;
}

/// Forces a spec: `ring:segments=4` for allreduce, `bcast/chain` for bcast. Returns why the text is wrong, or
/// "".
std::string force(const std::string& text, std::set<Collective>& forced) {
  const std::size_t slash = text.find('/');
  const std::string name = slash == std::string::npos ? "allreduce" : text.substr(0, slash);
  const std::string spec = text.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::optional<Collective> collective = find_collective(name);
  if (!collective) {
    return "--spec " + text + ": there is no such collective" + known_names_text(name, collective_names);
  }
  const std::string variable = "STRETTO_" + upper(name);
  if (!forced.insert(*collective).second)
    return "--spec " + text + ": a spec for " + name + " is given already: " + value_of(variable.c_str());
  if (spec != "auto") {
    try {
      parse_spec(*collective, spec);
    } catch (const SpecError& error) {
      return error.what();
    }
  }
  set(variable, spec);
  return {};
}

bool is_this_program(const std::string& path) {
  struct stat of_path {};
  struct stat own {};
  return stat(path.c_str(), &of_path) == 0 && stat("/proc/self/exe", &own) == 0 &&
         of_path.st_dev == own.st_dev && of_path.st_ino == own.st_ino;
}

/// What the options ask for.
struct Request {
  bool checks = false;
  bool lists = false;
  /// The launcher that starts the program, if an option names it. The one above this process counts
  /// otherwise.
  std::optional<Launcher> launcher;
  std::set<Collective> forced;
};

/// Whether PyTorch loads Stretto by itself, and no MPI launcher starts the program.
bool is_loaded_by_pytorch(const Request& request) {
  return !request.launcher && !has_launcher(std::getenv, false) && !value_of("STRETTO_REPLACE").empty();
}

/// Returns why calls of the program do not reach Stretto, or "" if no reason is known. This reads much of the
/// program's file.
std::string find_reason(const Target& target) {
  std::string obstacle = find_obstacle(target);
  if (!obstacle.empty()) return obstacle;
  if (find_library_folder().empty())
    return "libstretto.so was not found; install Stretto again, or set STRETTO_LIB_DIR to its folder";
  return has_mpi_inside(target.binary.c_str())
             ? "an MPI library is linked into it; link it with the shared library"
             : "";
}

/// Returns the variables that put the library of a folder under a program.
Variables preload_variables(const std::string& folder) {
  Variables variables;
  for (const StrettoVariable& one : stretto_variables) {
    const bool is_file = one.entry[0] == '/';
    const std::string entry = (is_file ? folder : "") + one.entry;
    if (is_file && access(entry.c_str(), R_OK) != 0) continue;
    const std::string before = value_of(one.name);
    std::string after(before.size() + entry.size() + 2, '\0');
    stretto_change_list(after.data(), before.c_str(), one.separators, entry.c_str(), true);
    after.resize(std::strlen(after.data()));
    variables[one.name] = after;
  }
  return variables;
}

/// Returns the variables of a program that the library of a folder serves; "": no library can.
Variables find_variables(const Request& request, const std::string& folder) {
  const bool is_preloaded = !folder.empty() && !is_loaded_by_pytorch(request);
  Variables variables = is_preloaded ? preload_variables(folder) : Variables();
  if (const auto launcher = request.launcher ? request.launcher : find_launcher())
    variables.merge(mpi4py_variables(*launcher));
  for (const char* const* one = environ; *one != nullptr; ++one) {
    const std::string_view line(*one);
    const std::string name(line.substr(0, line.find('=')));
    if (!name.starts_with("STRETTO_")) continue;
    const std::string value = value_of(name.c_str());
    const bool is_path =
        name == "STRETTO_STATS" || name == "STRETTO_TRACE" || (name == "STRETTO_TABLE" && value != "none");
    variables[name] = is_path ? absolute(value) : value;
  }
  return variables;
}

/// Prints the variables that a program would get, each with a zero byte behind it. `stretto run` hands them
/// over to the ranks by options of the launcher.
int list(const Request& request) {
  for (const auto& [name, value] : find_variables(request, find_library_folder()))
    std::printf("%s=%s%c", name.c_str(), value.c_str(), '\0');
  return EXIT_SUCCESS;
}

/// Says whether Stretto can be under a program, and starts nothing.
int check(const char* name) {
  const Target target = find_target(name);
  const std::string reason = target.error != 0 ? std::strerror(target.error) : find_reason(target);
  std::printf("%s: %s\n", target.path.c_str(), reason.empty() ? "Stretto can be preloaded" : reason.c_str());
  if (target.error != 0) return target.error == ENOENT ? not_found : cannot_start;
  return reason.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int start(std::span<char*> words, const Request& request) {
  const Target target = find_target(words.front());
  if (target.error == 0) {
    const bool is_inner = is_this_program(target.binary);  // which does all this itself
    const bool may_complain = !is_inner && !is_loaded_by_pytorch(request) && may_be_rank_0(std::getenv);
    if (const std::string reason = may_complain ? find_reason(target) : ""; !reason.empty()) {
      say(target.path + " runs without Stretto: " + reason);
    }
    const bool cannot = is_inner || !find_obstacle(target).empty();
    for (const auto& [name, value] : find_variables(request, cannot ? "" : find_library_folder()))
      set(name, value);
    execv(target.path.c_str(), words.data());
  }
  int error = target.error != 0 ? target.error : errno;
  if (error == ENOEXEC && may_be_script(target.path)) {
    // A script without `#!`: does what execvp does.
    std::vector<char*> line{const_cast<char*>("/bin/sh"), const_cast<char*>(target.path.c_str())};
    line.insert(line.end(), words.begin() + 1, words.end());
    execv(line.front(), line.data());
    error = errno;
  }
  say("exec: " + std::string(words.front()) + " cannot be started: " + std::strerror(error));
  return error == ENOENT ? not_found : cannot_start;
}

/// Sets the variables of an option. Returns why the option is wrong, or "".
std::string follow(const std::string& option, const std::string& value, Request& request) {
  if (option == "--spec") return force(value, request.forced);
  if (option == "--launcher") {
    request.launcher = parse_launcher(value);
    return request.launcher ? "" : option + " " + value + ": expected openmpi:FOLDER or mpich:FOLDER";
  }
  if (option == "--replace") {
    if (value != "gloo") return option + " " + value + ": it can only replace gloo";
    set("STRETTO_REPLACE", value);
    return {};
  }
  if (option == "--stats") {
    set("STRETTO_STATS", value);
  } else {
    const std::size_t equals = value.find('=');
    if (!value.starts_with("STRETTO_") || equals == std::string::npos) {
      return option + " " + value + ": expected STRETTO_NAME=VALUE";
    }
    set(value.substr(0, equals), value.substr(equals + 1));
  }
  return {};
}

/// `words`: the words after `exec`, and a null pointer.
int exec(std::span<char*> words) {
  Request request;
  const auto take = [&] {
    std::string word = words.front();
    words = words.subspan(1);
    return word;
  };
  while (words.front() != nullptr && words.front()[0] == '-') {
    const std::string word = take();
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (option == "-h" || option == "--help") {
      std::fputs(help, stdout);
      return EXIT_SUCCESS;
    }
    if (option == "--check" || option == "--list") {
      (option == "--check" ? request.checks : request.lists) = true;
      continue;
    }
    if (option == "--strict" || option == "--summary") {
      set("STRETTO_" + upper(option.substr(2)), "1");
      continue;
    }
    constexpr std::array with_value{"--launcher", "--replace", "--set", "--spec", "--stats"};
    if (std::ranges::find(with_value, option) == with_value.end()) {
      return refuse("there is no option " + option);
    }
    const bool has_value = equals != std::string::npos;
    if (!has_value && words.front() == nullptr) return refuse(option + " needs a value");
    const std::string wrong = follow(option, has_value ? word.substr(equals + 1) : take(), request);
    if (!wrong.empty() && (option == "--spec" || option == "--replace")) {
      say("exec: " + wrong);
      return usage_error;
    }
    if (!wrong.empty()) return refuse(wrong);
  }
  if (request.lists) return list(request);
  if (words.front() == nullptr) return refuse("no program given");
  return request.checks ? check(words.front()) : start(words, request);
}

/// Becomes the Python program that has all other commands.
int become_tool(std::span<char*> words) {
  const std::string own = own_path();
  const std::string path = own.substr(0, own.rfind('/') + 1) + "stretto-tool";
  // While Python starts, it would answer a Ctrl-C with pages of text. The tool handles the signal as soon as
  // it can.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  execv(path.c_str(), words.data());
  say(path + " cannot be started: " + std::strerror(errno) +
      "; Stretto's wheel has it, and python -m stretto does the same");
  return not_found;
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc) + 1);
  if (argc > 1 && std::string_view(argv[1]) == "exec") return stretto::exec(words.subspan(2));
  return stretto::become_tool(words);
}
