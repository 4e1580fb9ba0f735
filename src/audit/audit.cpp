// SPDX-License-Identifier: Apache-2.0
// libstretto-audit.so, which LD_AUDIT names. It brings calls to Stretto that look past a preload, and it
// hides functions of Stretto that the process's MPI library lacks.
//
// A function that is found shows a program that MPI has it: a weak reference is then not null, and dlsym
// returns an address. So Stretto's functions of MPI are there only as far as the MPI library has them, and
// none is there before the process has loaded an MPI library. The linker tells the auditor about each object
// before it binds the object's symbols, also at the start of the process. The auditor then makes the symbols
// of Stretto that may not be found local ones, in memory: the linker passes over these.
//
// A preload comes first where the linker searches the whole process. But for an object that is opened with
// RTLD_DEEPBIND, the linker searches the object's own libraries first, and dlsym with a handle searches one
// library alone. The linker tells an auditor about each binding (rtld-audit(7)), and the auditor may name
// another function. This auditor names Stretto's function if the linker has found a function of the process's
// MPI library that Stretto takes over.
//
// From glibc 2.35 on, the auditor costs nothing once a function is bound: the linker leaves calls alone if
// the auditor does not ask for them. An older linker reports an older version, and gets no auditor. The
// auditor uses nothing of a C library, which would be loaded a second time for it.
#include <link.h>

#include <cstdint>
#include <initializer_list>

#include "audit/process.hpp"
#include "elf/loaded.hpp"
#include "elf/objects.hpp"
#include "front/audited.hpp"
#include "text/rank_variables.hpp"

namespace stretto {
namespace {

/// The first version of the linker's interface under which an audited call costs nothing.
constexpr unsigned first_version = 2;

/// A loaded object. The linker identifies it by a cookie, which is its link_map unless an auditor says
/// otherwise.
struct Object {
  std::uintptr_t cookie = 0;  // 0: not loaded
  Symbols symbols;
};

constinit Object preloaded;        // libstretto.so
constinit Object core;             // libstretto-core.so, which the former loads
constinit Object library;          // the first MPI library of the process, as mpi/find_library.cpp has it
constinit bool is_served = false;  // some calls of it come to Stretto
/// A library that has MPI's functions in a binary interface of its own, and carries them out by calling
/// another MPI library (MPItrampoline).
constinit Object translator;

/// Tells the preload what it would have to find out itself (front/audited.hpp).
void tell_preload() {
  if (const std::uintptr_t place = preloaded.symbols.find("stretto_front_audit")) {
    *reinterpret_cast<Audit*>(place) =
        library.cookie == 0 && translator.cookie == 0 ? Audit::no_mpi : Audit::has_mpi;
  }
}

/// Lets the linker find those of Stretto's functions of MPI that the process's MPI library has.
void offer_functions() {
  if (preloaded.cookie == 0) return;
  const Object& offered = library.cookie != 0 ? library : translator;
  const Symbols::Range symbols = preloaded.symbols.defined();
  if (!protect(symbols.begin(), symbols.end(), PROT_READ | PROT_WRITE)) return;
  for (ElfW(Sym) & symbol : symbols) {
    const char* const name = preloaded.symbols.text(symbol.st_name);
    if (!is_of_mpi(name)) continue;
    const bool is_found = offered.symbols.find(name) != 0;
    symbol.st_info = static_cast<unsigned char>(
        ELF64_ST_INFO(is_found ? STB_GLOBAL : STB_LOCAL, ELF64_ST_TYPE(symbol.st_info)));
  }
  protect(symbols.begin(), symbols.end(), PROT_READ);
  tell_preload();
}

/// The functions of which an object holds addresses. The value is in the lowest bits of the object's cookie.
enum class Holds : std::uintptr_t { unknown, ours, others };
constexpr std::uintptr_t all_of_holds = 3;

const link_map* object_of(std::uintptr_t cookie) {
  return reinterpret_cast<const link_map*>(cookie & ~all_of_holds);
}

bool is(std::uintptr_t cookie, const Object& object) {
  return object.cookie != 0 && object_of(cookie) == object_of(object.cookie);
}

/// Whether an object holds the address of an MPI function that Stretto takes over, and the address is not
/// that of Stretto's function. It may be in a table of functions, or serve all calls (-fno-plt). The linker
/// asks no auditor about such addresses. Calls of such an object must not come to Stretto, since the object
/// may hand requests that Stretto made to functions of the library.
bool holds_others(std::uintptr_t& cookie) {
  auto known = static_cast<Holds>(cookie & all_of_holds);
  if (known == Holds::unknown) {
    const bool are_ours =
        Symbols(*object_of(cookie)).for_each_address([](const char* name, std::uintptr_t held) {
          const std::uintptr_t ours = is_of_mpi(name) ? preloaded.symbols.find(name) : 0;
          return ours == 0 || held == ours;
        });
    known = are_ours ? Holds::ours : Holds::others;
    cookie |= static_cast<std::uintptr_t>(known);
  }
  return known == Holds::others;
}

/// Whether an object is linked with another one.
bool needs(std::uintptr_t one, std::uintptr_t other) {
  const link_map* const object = object_of(one);
  const char* const name = base_name(object_of(other)->l_name);
  const Symbols symbols(*object);
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && starts_with(name, base_name(symbols.text(entry->d_un.d_val))))
      return true;
  }
  return false;
}

/// Whether an object is a tool, which has functions MPI_X. Its calls of the library are meant to go on there:
/// from Stretto they would come back to the tool.
bool is_tool(std::uintptr_t cookie, const char* function) {
  const Symbols symbols(*object_of(cookie));
  for (const char* name : {*function == 'P' ? function + 1 : function, "MPI_Init", "MPI_Init_thread"}) {
    if (symbols.find(name) != 0) return true;
  }
  return false;
}

constinit const std::uintptr_t* const* start_of_stack = nullptr;

/// Reports a program that binds MPI_Init without Stretto's preload, though the preload was set along with
/// this auditor.
void tell_of_removed_preload() {
  static constinit bool was_told = false;
  if (was_told || start_of_stack == nullptr) return;
  was_told = true;
  const Arguments process(*start_of_stack);
  const char* const disabled = process.variable("STRETTO_DISABLE");
  const auto value_of = [&](const char* name) { return process.variable(name); };
  if ((disabled != nullptr && is_equal(disabled, "1")) || !may_be_rank_0(value_of)) return;
  write_error("stretto: ");
  write_error(process.program());
  write_error(
      " runs without Stretto: LD_PRELOAD was changed before it was started; put stretto exec after "
      "the command that changes it\n");
}

/// Returns the function that an object gets in place of the one that was found in another object; 0: it gets
/// the one that was found.
std::uintptr_t replace(std::uintptr_t& from, std::uintptr_t to, const char* function) {
  if (is(from, library)) return 0;
  if (is(to, library) && preloaded.cookie == 0) {
    if (is_equal(function, "MPI_Init") || is_equal(function, "MPI_Init_thread")) tell_of_removed_preload();
    return 0;
  }
  if (is(from, preloaded) || is(from, core)) {
    // Calls go on to the library for which they were meant. If the linker searches the whole process, it may
    // have found another library, or a translator.
    const bool is_ours = is(to, library) || is(to, core);
    const bool is_others = is_served && !is_ours && Symbols(*object_of(to)).find("PMPI_Init") != 0;
    return is_others ? library.symbols.find(function) : 0;
  }
  if (is(to, library)) {
    const bool is_left = is_tool(from, function) || holds_others(from);
    const std::uintptr_t ours = is_left ? 0 : preloaded.symbols.find(function);
    is_served = is_served || ours != 0;
    return ours;
  }
  // Handles of a translator are not those of the library that it calls. Stretto gets the translator's calls
  // of that library, so calls of the translator go past Stretto.
  const bool is_translated = is(to, preloaded) && translator.cookie != 0 && needs(from, translator.cookie);
  return is_translated ? translator.symbols.find(function) : 0;
}

}  // namespace
}  // namespace stretto

using stretto::core;
using stretto::library;
using stretto::preloaded;
using stretto::translator;

// The signatures are the linker's.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name, readability-non-const-parameter)
#define STRETTO_OF_AUDITOR extern "C" __attribute__((visibility("default")))

STRETTO_OF_AUDITOR unsigned la_version(unsigned of_linker) {
  return of_linker < stretto::first_version ? 0 : stretto::first_version;
}

/// Says which bindings of an object the linker reports. (It reports each dlsym to such an object or from
/// one.)
STRETTO_OF_AUDITOR unsigned la_objopen(link_map* object, Lmid_t space, std::uintptr_t* cookie) {
  if (space != LM_ID_BASE) return 0;  // dlmopen: Stretto is not in there
  const char* const name = stretto::base_name(object->l_name);
  const stretto::Object opened{*cookie, stretto::Symbols(*object)};
  if (const std::uintptr_t stack = opened.symbols.find("__libc_stack_end")) {  // of the linker itself
    stretto::start_of_stack = reinterpret_cast<const std::uintptr_t* const*>(stack);
  }
  // Bindings from Stretto are its own concern.
  if (stretto::starts_with(name, "libstretto.so")) {
    if (preloaded.cookie == 0) {
      preloaded = opened;
      stretto::offer_functions();
    }
    return LA_FLG_BINDTO;
  }
  if (stretto::starts_with(name, "libstretto-core.so")) {
    if (core.cookie == 0) core = opened;
    return LA_FLG_BINDTO;
  }
  switch (stretto::kind_of(name, opened.symbols)) {
    case stretto::Kind::mpi_library:
      // A process may load several MPI libraries, but Stretto serves one. A library of the standard ABI that
      // translates loads another library behind it, whose functions must not come to Stretto as well.
      if (library.cookie == 0) {
        library = opened;
        stretto::offer_functions();
      }
      return LA_FLG_BINDTO;
    case stretto::Kind::translates:
      if (translator.cookie == 0) {
        translator = opened;
        if (library.cookie == 0) stretto::offer_functions();
      }
      return LA_FLG_BINDTO | LA_FLG_BINDFROM;
    case stretto::Kind::none:
      break;
  }
  return LA_FLG_BINDFROM;
}

STRETTO_OF_AUDITOR unsigned la_objclose(std::uintptr_t* cookie) {
  bool is_changed = false;
  for (stretto::Object* object : {&preloaded, &core, &library, &translator}) {
    if (!stretto::is(*cookie, *object)) continue;
    *object = {};
    is_changed = true;
  }
  if (library.cookie == 0) stretto::is_served = false;
  if (is_changed) stretto::offer_functions();
  return 0;
}

/// Returns the function to which `name` is bound.
STRETTO_OF_AUDITOR std::uintptr_t la_symbind64(ElfW(Sym) * found, unsigned /*index*/, std::uintptr_t* from,
                                               std::uintptr_t* to, unsigned* flags, const char* name) {
  *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
  if (!stretto::is_of_mpi(name)) return found->st_value;
  const std::uintptr_t instead = stretto::replace(*from, *to, name);
  return instead == 0 ? found->st_value : instead;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name, readability-non-const-parameter)
