// SPDX-License-Identifier: Apache-2.0
#include "exec/launcher.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "exec/installation.hpp"

namespace stretto {
namespace {

namespace fs = std::filesystem;

/// The programs of launchers that start ranks.
constexpr std::array starters{"hydra_pmi_proxy", "orterun", "orted", "prterun", "prted", "prte"};

pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name in parentheses may contain anything. A letter for the state follows.
  const std::size_t end = text.rfind(") ");
  return end == std::string::npos || end + 4 >= text.size() ? 0 : std::atoi(text.c_str() + end + 4);
}

/// Returns the folder that holds bin/ and lib/ of the launcher above this process; empty if there is none.
fs::path find_prefix() {
  for (pid_t process = getppid(); process > 1; process = parent_of(process)) {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/" + std::to_string(process) + "/exe", failed);
    for (const std::string_view name : starters) {
      if (!failed && program.filename() == name) return program.parent_path().parent_path();
    }
  }
  return {};
}

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

fs::path find_library_below(const fs::path& prefix, const std::string& name) {
  for (const char* folder :
       {"lib", "lib/release", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    if (is_file(prefix / folder / name)) return prefix / folder / name;
  }
  return {};
}

/// Returns whether a folder has Debian's libmpich.so.12 under its usual name.
bool is_alias(const fs::path& folder) {
  std::error_code failed;
  const fs::path library = fs::canonical(folder / "libmpi.so.12", failed);
  return !failed && library.filename().string().starts_with("libmpich.");
}

/// Returns the folder with Debian's MPICH under its usual name, if somebody made one (`make build` does). It
/// is in STRETTO_MPI_PREFIXES, or in .mpi/ of the clone that is around the current folder or this program.
fs::path find_alias() {
  const char* prefixes = std::getenv("STRETTO_MPI_PREFIXES");
  std::string_view rest = prefixes == nullptr ? "" : prefixes;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const fs::path folder = fs::path(rest.substr(0, end)) / "lib";
    if (is_alias(folder)) return fs::absolute(folder);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::error_code failed;
  for (fs::path above : {fs::current_path(failed), fs::path(own_path()).parent_path()}) {
    for (; !above.empty(); above = above.parent_path()) {
      fs::path folder = above / ".mpi" / "mpich4" / "lib";
      if (is_alias(folder)) return folder;
      if (above == above.root_path()) break;
    }
  }
  return {};
}

}  // namespace

std::optional<Launcher> find_launcher() {
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  const bool is_hydra = std::getenv("PMI_SIZE") != nullptr && std::getenv("SLURM_JOB_ID") == nullptr;
  if (!is_open_mpi && !is_hydra) return std::nullopt;
  return Launcher{is_open_mpi, find_prefix()};
}

std::optional<Launcher> parse_launcher(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string abi = text.substr(0, colon);
  if (colon == std::string::npos || (abi != "openmpi" && abi != "mpich")) return std::nullopt;
  return Launcher{abi == "openmpi", text.substr(colon + 1)};
}

std::map<std::string, std::string> mpi4py_variables(const Launcher& launcher) {
  const auto& [is_open_mpi, prefix] = launcher;
  if (std::getenv("MPI4PY_LIBMPI") != nullptr || std::getenv("MPI4PY_MPIABI") != nullptr) return {};
  const fs::path library =
      prefix.empty() ? prefix : find_library_below(prefix, is_open_mpi ? "libmpi.so.40" : "libmpi.so.12");
  // It must be set alone: with MPI4PY_MPIABI, the wheel opens what the loader finds, not that file.
  if (!library.empty()) return {{"MPI4PY_LIBMPI", library.string()}};
  // Debian's MPICH has no libmpi.so.12, which the wheel needs: without an alias it cannot be used. If nothing
  // were set, it would load Open MPI, and each rank would be a job of its own. An error is better.
  std::map<std::string, std::string> variables{{"MPI4PY_MPIABI", is_open_mpi ? "openmpi" : "mpich"}};
  const fs::path alias = prefix == "/usr" && !is_open_mpi ? find_alias() : fs::path();
  if (!alias.empty()) {
    // The folder comes behind the user's, because programs that bring their own MPICH are started here, too.
    const char* existing = std::getenv("LD_LIBRARY_PATH");
    const bool has_folders = existing != nullptr && *existing != '\0';
    variables["LD_LIBRARY_PATH"] = (has_folders ? std::string(existing) + ":" : "") + alias.string();
  }
  return variables;
}

}  // namespace stretto
