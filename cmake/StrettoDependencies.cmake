# SPDX-License-Identifier: Apache-2.0
# The header-only libraries: targets stretto_highway and nlohmann_json::nlohmann_json.

find_path(STRETTO_HIGHWAY_INCLUDE_DIR hwy/highway.h)
if(NOT STRETTO_HIGHWAY_INCLUDE_DIR)
  message(FATAL_ERROR "Highway's headers (hwy/highway.h) were not found: install libhwy-dev (Debian, Ubuntu) "
                      "or set STRETTO_HIGHWAY_INCLUDE_DIR")
endif()
# Headers only: a shared object that is preloaded into foreign programs must not bring libhwy along.
add_library(stretto_highway INTERFACE)
target_include_directories(stretto_highway SYSTEM INTERFACE "${STRETTO_HIGHWAY_INCLUDE_DIR}")

find_package(nlohmann_json 3 QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "nlohmann's JSON library was not found: install nlohmann-json3-dev (Debian, Ubuntu) "
                      "or set nlohmann_json_DIR")
endif()
