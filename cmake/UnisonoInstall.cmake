# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# cmake --install: headers, libunisono.so, and how to find them again with find_package(unisono) or
# pkg-config. What the library is made of stays private to it. tools/ installs its command itself.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS unisono EXPORT unisonoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/unisono DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/unisono)
install(EXPORT unisonoTargets NAMESPACE unisono:: DESTINATION ${package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/unisonoConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/unisonoConfig.cmake
                              INSTALL_DESTINATION ${package})
# Before 1.0 a new minor version may change the C++ API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/unisonoConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/unisonoConfig.cmake
              ${PROJECT_BINARY_DIR}/unisonoConfigVersion.cmake DESTINATION ${package})

# Relative to where the file lies, so that a prefix chosen at installation, or moved later, works.
file(RELATIVE_PATH to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/unisono.pc.in ${PROJECT_BINARY_DIR}/unisono.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/unisono.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
