# SPDX-License-Identifier: Apache-2.0
# The header-only libraries: targets stretto_highway and stretto_json. A shared object that is preloaded into foreign
# programs must not bring a library along.

# stretto_find_headers(NAME FILE WHAT PACKAGE): the target stretto_NAME with the folder that has FILE
function(stretto_find_headers name file what package)
  string(TOUPPER "STRETTO_${name}_INCLUDE_DIR" variable)
  find_path(${variable} "${file}" DOC "Folder that has ${file}")
  if(NOT ${variable})
    message(FATAL_ERROR "${what} (${file}) was not found: install ${package} (Debian, Ubuntu) or set ${variable}")
  endif()
  add_library(stretto_${name} INTERFACE)
  target_include_directories(stretto_${name} SYSTEM INTERFACE "${${variable}}")
endfunction()

stretto_find_headers(highway hwy/highway.h "Highway" libhwy-dev)
stretto_find_headers(json nlohmann/json.hpp "nlohmann's JSON library" nlohmann-json3-dev)
