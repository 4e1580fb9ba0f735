# SPDX-License-Identifier: Apache-2.0
# cmake -D folder=DIR -D list=FILE -D output=FILE -P write_build_mark.cmake
# Writes the C++ file with the mark of a build: a hash of the names and the contents of the files of the list, which are
# relative to the folder. Neither times nor places count, so a wheel and a build in a checkout have the same mark.

file(STRINGS "${list}" names)
set(all "")
foreach(name IN LISTS names)
  file(SHA256 "${folder}/${name}" hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 mark "${all}")
string(SUBSTRING "${mark}" 0 16 mark)
file(WRITE "${output}" "// Made by cmake/write_build_mark.cmake.
#include \"interpose/start/build_mark.hpp\"

namespace stretto {

extern const char build_mark[] = \"stretto build ${mark}\";

}  // namespace stretto
")
