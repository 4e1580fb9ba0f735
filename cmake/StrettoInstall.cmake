# SPDX-License-Identifier: Apache-2.0
# Where the C interface is installed, and what other builds find it by: CMake's find_package(Stretto), pkg-config. And
# the source of Slurm's plugin, which is compiled where the cluster's Slurm is.
#
# STRETTO_INSTALL_LIBDIR, _INCLUDEDIR, _DATADIR        below the prefix, or below the Python package in a wheel
# stretto_install_c_interface()                        all of it; the target stretto must exist

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

if(building_wheel)
  # The wheel's prefix is site-packages.
  set(STRETTO_INSTALL_LIBDIR stretto/lib)
  set(STRETTO_INSTALL_INCLUDEDIR stretto/include)
  set(STRETTO_INSTALL_DATADIR stretto/share)
else()
  set(STRETTO_INSTALL_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
  set(STRETTO_INSTALL_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
  set(STRETTO_INSTALL_DATADIR "${CMAKE_INSTALL_DATADIR}/stretto")
endif()

function(stretto_install_c_interface)
  set(source_dir "${PROJECT_SOURCE_DIR}/cmake")
  set(made "${PROJECT_BINARY_DIR}/install")
  set(config_dir "${STRETTO_INSTALL_LIBDIR}/cmake/Stretto")
  set(pkgconfig_dir "${STRETTO_INSTALL_LIBDIR}/pkgconfig")

  # What is installed may be moved, unless it was told to lie outside of the prefix.
  file(RELATIVE_PATH to_prefix "/${pkgconfig_dir}" "/.")
  string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
  set(pc_prefix "\${pcfiledir}/${to_prefix}")
  foreach(kind IN ITEMS LIBDIR INCLUDEDIR)
    set(pc_${kind} "\${prefix}/${STRETTO_INSTALL_${kind}}")
    if(IS_ABSOLUTE "${STRETTO_INSTALL_${kind}}")
      set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
      set(pc_${kind} "${STRETTO_INSTALL_${kind}}")
    endif()
  endforeach()

  install(TARGETS stretto EXPORT Stretto LIBRARY DESTINATION "${STRETTO_INSTALL_LIBDIR}" COMPONENT stretto
          INCLUDES DESTINATION "${STRETTO_INSTALL_INCLUDEDIR}")
  install(TARGETS stretto-core stretto-audit LIBRARY DESTINATION "${STRETTO_INSTALL_LIBDIR}" COMPONENT stretto)
  configure_file("${source_dir}/stretto.pc.in" "${made}/stretto.pc" @ONLY)
  install(FILES "${made}/stretto.pc" DESTINATION "${pkgconfig_dir}" COMPONENT stretto)

  install(FILES "${PROJECT_SOURCE_DIR}/include/stretto/stretto.h" "${PROJECT_SOURCE_DIR}/include/stretto/group.h"
          DESTINATION "${STRETTO_INSTALL_INCLUDEDIR}/stretto" COMPONENT stretto)
  # Slurm's plugin is one file, so that a cluster can compile it anywhere.
  set(plugin "${PROJECT_SOURCE_DIR}/src/slurm/spank_stretto.c")
  set(variables "${PROJECT_SOURCE_DIR}/src/exec/rank_environment.h")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${plugin}" "${variables}")
  file(READ "${variables}" text)
  string(REPLACE "#pragma once\n" "" text "${text}")
  file(READ "${plugin}" plugin_text)
  string(REPLACE "#include \"exec/rank_environment.h\"\n" "${text}" plugin_text "${plugin_text}")
  file(WRITE "${made}/spank_stretto.c" "${plugin_text}")
  install(FILES "${made}/spank_stretto.c" DESTINATION "${STRETTO_INSTALL_DATADIR}" COMPONENT stretto)
  install(EXPORT Stretto NAMESPACE Stretto:: FILE StrettoTargets.cmake DESTINATION "${config_dir}" COMPONENT stretto)
  # Before 1.0 the second number is the one that breaks programs.
  write_basic_package_version_file("${made}/StrettoConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${source_dir}/StrettoConfig.cmake" "${made}/StrettoConfigVersion.cmake" DESTINATION "${config_dir}"
          COMPONENT stretto)
endfunction()
