# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# What goes into the wheel: the extension, libunisono.so, the shared libraries it needs that a
# machine may lack, and the unisono command. Each finds its neighbours relative to itself.
# The same objects as the rest of the build, linked with the property UNISONO_PACKED
# (src/CMakeLists.txt). Nothing here is part of a plain cmake --install.
#
# A wheel has no symbolic links, so the library carries no version in its file name.
unisono_shared_library(unisono_packed)
set_target_properties(unisono_packed PROPERTIES OUTPUT_NAME unisono UNISONO_PACKED ON
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/library)
set_target_properties(unisono_packed unisono_python unisono_opt_python PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS unisono_packed unisono_python unisono_opt_python LIBRARY DESTINATION unisono
        COMPONENT python EXCLUDE_FROM_ALL)

# libhwy has no static build in Debian, and static libsodium is not always fit for shared objects.
foreach(dependency sodium xxhash highway)
  get_target_property(files PkgConfig::${dependency} INTERFACE_LINK_LIBRARIES)
  foreach(file IN LISTS files)
    if(file MATCHES "\\.so$")
      file(REAL_PATH ${file} real)
      execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${real} OUTPUT_VARIABLE headers
                      COMMAND_ERROR_IS_FATAL ANY)
      string(REGEX MATCH "SONAME +([^ \n]+)" found "${headers}")
      install(FILES ${real} DESTINATION unisono RENAME ${CMAKE_MATCH_1} COMPONENT python
              EXCLUDE_FROM_ALL)
      # The command lies in another folder than these, so it has them inside where that can be.
      string(REGEX REPLACE "\\.so$" ".a" archive ${file})
      if(EXISTS ${archive})
        set(packed $<BOOL:$<TARGET_PROPERTY:UNISONO_PACKED>>)
        set(program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
        set_target_properties(PkgConfig::${dependency} PROPERTIES INTERFACE_LINK_LIBRARIES
          "$<IF:$<AND:${packed},${program}>,${archive},${file}>")
      endif()
    endif()
  endforeach()
endforeach()

# libcrypto goes inside the library and the command, unseen. Beside them it would answer under the name
# of the system's own to whatever the program loads later, such as Python's ssl, which may need a newer
# one.
get_target_property(files PkgConfig::crypto INTERFACE_LINK_LIBRARIES)
set(choices "")
foreach(file IN LISTS files)
  string(REGEX REPLACE "libcrypto\\.so$" "libcrypto.a" archive ${file})
  if(file MATCHES "libcrypto" AND NOT EXISTS ${archive})
    message(FATAL_ERROR "the wheel needs the static libcrypto; ${archive} is not there. "
                        "Debian or Ubuntu: apt-get install libssl-dev")
  endif()
  list(APPEND choices "$<IF:$<BOOL:$<TARGET_PROPERTY:UNISONO_PACKED>>,${archive},${file}>")
endforeach()
set_target_properties(PkgConfig::crypto PROPERTIES INTERFACE_LINK_LIBRARIES "${choices}")
target_link_options(unisono_packed PRIVATE LINKER:--exclude-libs,libcrypto.a)

# zlib goes inside the command for the same reason.
if(UNISONO_ZLIB)
  get_target_property(files PkgConfig::zlib INTERFACE_LINK_LIBRARIES)
  set(choices "")
  foreach(file IN LISTS files)
    string(REGEX REPLACE "libz\\.so$" "libz.a" archive ${file})
    if(NOT EXISTS ${archive})
      message(FATAL_ERROR "the wheel needs the static zlib; ${archive} is not there. "
                          "Debian or Ubuntu: apt-get install zlib1g-dev")
    endif()
    list(APPEND choices "$<IF:$<BOOL:$<TARGET_PROPERTY:UNISONO_PACKED>>,${archive},${file}>")
  endforeach()
  set_target_properties(PkgConfig::zlib PROPERTIES INTERFACE_LINK_LIBRARIES "${choices}")
endif()

set(parts unisono_packed unisono_python unisono_opt_python)
if(TARGET unisono_command)
  add_executable(unisono_packed_command $<TARGET_OBJECTS:unisono_command>)
  get_target_property(libraries unisono_command LINK_LIBRARIES)
  target_link_libraries(unisono_packed_command PRIVATE ${libraries})
  set(version ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
  # venv, user and system installs; Debian's own pip; pip install --target; the wheel itself when it
  # is unpacked, where those who judge what it needs look (no static libhwy: see above).
  set_target_properties(unisono_packed_command PROPERTIES OUTPUT_NAME unisono UNISONO_PACKED ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/command INSTALL_RPATH
    "$ORIGIN/../lib/python${version}/site-packages/unisono:$ORIGIN/../lib/python${version}/dist-packages/unisono:$ORIGIN/../unisono:$ORIGIN/../../unisono")
  set(scripts bin)
  if(SKBUILD)
    set(scripts ${SKBUILD_SCRIPTS_DIR})
  endif()
  install(TARGETS unisono_packed_command RUNTIME DESTINATION ${scripts} COMPONENT python
          EXCLUDE_FROM_ALL)
  list(APPEND parts unisono_packed_command)
endif()
add_custom_target(unisono_wheel DEPENDS ${parts})
