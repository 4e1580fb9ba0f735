// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stretto {

/// Returns the path of this program, symbolic links resolved.
std::string own_path();

/// Returns the path of the library of this installation; empty if there is none. STRETTO_LIB_DIR names the
/// folder of another one.
std::string find_library();

/// Returns the value of LD_PRELOAD: what is preloaded already, such as a PMPI tool, and behind it the
/// library. A tool in front sees each call of the program once; from behind it would miss those that Stretto
/// handles.
std::string preload_value(const std::string& library, const char* existing);

/// Returns the value of LD_AUDIT: what audits already, and then the library beside `library` that brings
/// calls to it which look past a preload (src/audit), if it is there.
std::string audit_value(const std::string& library, const char* existing);

/// Returns the value of ASAN_OPTIONS by which the address sanitizer starts though libraries are preloaded
/// before it. It works there: it still comes before the libraries whose functions it replaces.
std::string sanitizer_options(const char* existing);

}  // namespace stretto
