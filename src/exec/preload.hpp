// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stretto {

/// Returns the path of this program, symbolic links resolved.
std::string own_path();

/// Returns the path of this installation's libstretto.so, or "" if there is none. STRETTO_LIB_DIR names the
/// folder of another one.
std::string find_library();

/// Returns the value of LD_PRELOAD: what is preloaded already, such as a PMPI tool, and behind it Stretto's
/// library. A tool in front sees each call of the program once; a tool behind would miss the calls that
/// Stretto handles.
std::string preload_value(const std::string& library, const char* existing);

/// Returns the value of LD_AUDIT: the auditors that are there already, and then the one beside `library`
/// (src/audit), if it exists. It redirects calls to `library` that would bypass a preload.
std::string audit_value(const std::string& library, const char* existing);

/// Returns the value of ASAN_OPTIONS with which the address sanitizer starts although libraries are preloaded
/// before it. This works, because the sanitizer still comes before the libraries whose functions it replaces.
std::string sanitizer_options(const char* existing);

}  // namespace stretto
