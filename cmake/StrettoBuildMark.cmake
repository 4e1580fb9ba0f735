# SPDX-License-Identifier: Apache-2.0
# Makes stretto_build_mark, a library of one small file: what src/interpose/start/build_mark.hpp declares. It is made
# again when a source of what ranks run changes, of which it holds a hash; nothing else depends on that hash.

file(GLOB_RECURSE marked_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     src/*.cpp src/*.hpp src/*.txt src/*.map include/*.h cmake/classify_functions.py)
list(FILTER marked_sources EXCLUDE REGEX "^src/(bench|bindings|exec|simulate)/")
list(JOIN marked_sources "\n" marked_text)
set(mark_folder "${PROJECT_BINARY_DIR}/generated")
file(CONFIGURE OUTPUT "${mark_folder}/marked_sources.txt" CONTENT "${marked_text}\n" @ONLY)
list(TRANSFORM marked_sources PREPEND "${PROJECT_SOURCE_DIR}/")
add_custom_command(
  OUTPUT "${mark_folder}/build_mark.cpp"
  COMMAND "${CMAKE_COMMAND}" -D "folder=${PROJECT_SOURCE_DIR}" -D "list=${mark_folder}/marked_sources.txt"
          -D "output=${mark_folder}/build_mark.cpp" -P "${PROJECT_SOURCE_DIR}/cmake/write_build_mark.cmake"
  DEPENDS ${marked_sources} "${mark_folder}/marked_sources.txt" "${PROJECT_SOURCE_DIR}/cmake/write_build_mark.cmake"
  COMMENT "Hashing the sources" VERBATIM)
stretto_static_library(stretto_build_mark "${mark_folder}/build_mark.cpp")
