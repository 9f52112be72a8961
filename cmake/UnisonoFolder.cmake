# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# One target per folder under src/, and the dependency graph enforced by the compiler:
# folder F is reached through its own include directory, which holds nothing but F, so a file that
# includes another folder's header compiles only if its target names that folder in DEPENDS.
#
#   unisono_folder(order DEPENDS model base [LIBRARIES external...] [TEST_DEPENDS ...])
#
# Takes every *.cpp below the folder; *_test.cpp become the GoogleTest binary <folder>_test.
function(unisono_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;TEST_DEPENDS" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/src/${name})
  if(NOT IS_DIRECTORY ${folder})
    set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  endif()
  set(seam ${PROJECT_BINARY_DIR}/seams/${name})
  file(MAKE_DIRECTORY ${seam})
  file(CREATE_LINK ${folder} ${seam}/${name} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  if(sources)
    add_library(unisono_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(unisono_${name} PRIVATE unisono_flags)
  else()
    add_library(unisono_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(unisono_${name} ${scope} ${seam} ${PROJECT_SOURCE_DIR}/include)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(unisono_${name} ${scope} unisono_${dependency})
  endforeach()
  target_link_libraries(unisono_${name} ${scope} Threads::Threads ${ARG_LIBRARIES})

  if(UNISONO_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE unisono_${name} unisono_flags GTest::gmock
                          GTest::gtest GTest::gtest_main)
    foreach(dependency IN LISTS ARG_TEST_DEPENDS)
      target_link_libraries(${name}_test PRIVATE unisono_${dependency})
    endforeach()
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 300 LABELS "unit")
  endif()
endfunction()
