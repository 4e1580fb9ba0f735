// SPDX-License-Identifier: Apache-2.0
#include "interpose/session/thread_level.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mpi/mpi.hpp"

namespace stretto {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

/// Returns the part after MPI_ of a function of MPI or Stretto in C or Fortran spelling, in lower case:
/// "ibcast" for MPI_Ibcast, "ibcast_" for mpi_ibcast_, "ibcast_f08ts_", "bcast_init" for MPIX_Bcast_init.
std::string find_stem(std::string_view symbol) {
  if (symbol.empty() || std::string_view("mMpPs").find(symbol.front()) == std::string_view::npos) return {};
  std::string name(symbol);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.starts_with("pmpi")) name.erase(0, 1);
  for (const std::string_view prefix : {"mpi_", "mpix_", "stretto_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

/// Whether it is a non-blocking or persistent collective that Stretto handles. Barriers alone are not worth
/// another thread level.
bool is_in_background(std::string_view stem) {
  const auto starts_with_collective = [](std::string_view text) {
    constexpr std::array<std::string_view, 9> names{"allreduce", "bcast",   "reduce", "allgather", "alltoall",
                                                    "gather",    "scatter", "scan",   "exscan"};
    return std::any_of(names.begin(), names.end(), [&](auto one) { return text.starts_with(one); });
  };
  if (stem.starts_with('i')) return starts_with_collective(stem.substr(1));
  return starts_with_collective(stem) && stem.find("_init") != std::string_view::npos;
}

/// Whether it gives MPI a function of the program that the library may run in any thread that is in MPI.
bool gives_functions(std::string_view stem) {
  constexpr std::array<std::string_view, 3> names{"op_create", "async_start", "t_event_register_callback"};
  return std::any_of(names.begin(), names.end(), [&](auto name) { return stem.starts_with(name); });
}

/// Whether it makes a window that need not be in memory shared by all ranks.
bool makes_windows(std::string_view stem) {
  if (!stem.starts_with("win_create") && !stem.starts_with("win_allocate")) return false;
  constexpr std::array<std::string_view, 3> others{"_keyval", "_errhandler", "_shared"};
  return std::none_of(others.begin(), others.end(),
                      [&](auto other) { return stem.find(other) != std::string_view::npos; });
}

using Predicate = bool (*)(std::string_view stem);

/// The undefined symbols of an object.
class Symbols {
 public:
  explicit Symbols(const dl_phdr_info& object) : base_(object.dlpi_addr) {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
      const auto& header = object.dlpi_phdr[i];
      if (header.p_type == PT_DYNAMIC) {
        read(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr));
      }
    }
  }

  [[nodiscard]] bool refer_to(Predicate is_wanted) const {
    if (symbols_ == nullptr || strings_ == nullptr) return false;
    for (std::size_t i = 0; i < count_; ++i) {
      if (symbols_[i].st_shndx == SHN_UNDEF && is_wanted(find_stem(strings_ + symbols_[i].st_name)))
        return true;
    }
    return false;
  }

 private:
  /// Each undefined symbol that is used has a relocation. (The hash tables need not say how many
  /// symbols there are: GNU's is empty in a program that defines none.)
  void count_relocations(std::uintptr_t address, std::size_t bytes) {
    const auto* relocations = reinterpret_cast<const ElfW(Rela)*>(address);
    for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
      count_ = std::max<std::size_t>(count_, (relocations[i].r_info >> symbol_shift) + 1);
    }
  }

  void read(const ElfW(Dyn) * entry) {
    std::uintptr_t plt_relocations = 0;
    std::uintptr_t relocations = 0;
    std::size_t plt_bytes = 0;
    std::size_t bytes = 0;
    for (; entry->d_tag != DT_NULL; ++entry) {
      // The loader has replaced some entries by addresses, and left others (in the kernel's own
      // object) unchanged.
      const auto value = static_cast<std::uintptr_t>(entry->d_un.d_ptr);
      const std::uintptr_t address = value < base_ ? base_ + value : value;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          strings_ = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          plt_relocations = address;
          break;
        case DT_PLTRELSZ:
          plt_bytes = entry->d_un.d_val;
          break;
        case DT_RELA:
          relocations = address;
          break;
        case DT_RELASZ:
          bytes = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
    count_relocations(plt_relocations, plt_bytes);
    count_relocations(relocations, bytes);
  }

  static constexpr int symbol_shift = sizeof(void*) == 8 ? 32 : 8;

  std::uintptr_t base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  std::size_t count_ = 0;
};

/// Whether an object belongs to MPI or Stretto. Such objects refer to all of MPI.
bool is_of_mpi(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::array<std::string_view, 8> stems{"libmpi.",    "libmpi_", "libmpich",   "libmpifort",
                                                  "libmpicxx.", "libpmpi", "libstretto", "linux-vdso"};
  return std::any_of(stems.begin(), stems.end(), [&](auto stem) { return name.starts_with(stem); });
}

bool some_object_refers_to(Predicate is_wanted) {
  return dl_iterate_phdr(
             [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
               const bool is_looked_at = object->dlpi_name == nullptr || !is_of_mpi(object->dlpi_name);
               return is_looked_at && Symbols(*object).refer_to(*static_cast<Predicate*>(data)) ? 1 : 0;
             },
             static_cast<void*>(&is_wanted)) != 0;
}

/// Open MPI 4 cannot make windows over TCP under MPI_THREAD_MULTIPLE ("The OSC pt2pt component does not
/// support MPI_THREAD_MULTIPLE in this release").
bool may_refuse_windows() {
  using GetLibraryVersion = int(char*, int*);
  auto* const get_version = reinterpret_cast<GetLibraryVersion*>(any_mpi_symbol("PMPI_Get_library_version"));
  if (get_version == nullptr) return false;
  MpiText text{};
  int length = 0;
  get_version(text.data(), &length);
  constexpr std::string_view open_mpi = "Open MPI v";
  return std::string_view(text.data()).starts_with(open_mpi) && std::atoi(&text[open_mpi.size()]) < 5;
}

}  // namespace

Background plan_background(int required) {
  if (is_set("STRETTO_DISABLE")) return Background::not_expected;
  if (is_set("STRETTO_PROGRESS_THREAD") || required == mpi.thread_multiple) return Background::own;
  // MPI_Init asks more than once, and a process may have hundreds of objects.
  static const Background seen = [] {
    if (!some_object_refers_to(is_in_background)) return Background::not_expected;
    if (some_object_refers_to(gives_functions)) return Background::calls_the_program;
    if (may_refuse_windows() && some_object_refers_to(makes_windows)) return Background::makes_windows;
    return Background::own;
  }();
  return seen;
}

Background settle_background(Background planned, int given) {
  if (given == mpi.thread_multiple) {
    return planned == Background::calls_the_program ? planned : Background::own;
  }
  return planned == Background::own ? Background::not_given : planned;
}

const char* reason_of(Background background) {
  switch (background) {
    case Background::own:
      break;
    case Background::not_expected:
      return "nothing that was loaded in MPI_Init refers to such calls; set "
             "STRETTO_PROGRESS_THREAD=1";
    case Background::calls_the_program:
      return "the program may make operations of its own (it refers to MPI_Op_create or the like), which no "
             "other thread may run; ask for MPI_THREAD_MULTIPLE, or set STRETTO_PROGRESS_THREAD=1 if any "
             "thread may run them";
    case Background::makes_windows:
      return "the program refers to MPI_Win_create or MPI_Win_allocate, which Open MPI 4 may refuse at "
             "MPI_THREAD_MULTIPLE; set STRETTO_PROGRESS_THREAD=1 if it makes no windows between nodes";
    case Background::not_given:
      return "it does not provide MPI_THREAD_MULTIPLE on all ranks";
    case Background::no_thread:
      return "the system refused a thread on a rank; raise the limit of processes there (ulimit -u)";
  }
  return "";
}

}  // namespace stretto
