# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# What goes into the wheel: the extension, libunisono.so, the shared libraries it needs that a
# machine may lack, and the unisono command. Each finds its neighbours relative to itself.
#
# A wheel has no symbolic links, so the library carries no version in its file name.
set_property(TARGET unisono PROPERTY VERSION)
set_property(TARGET unisono PROPERTY SOVERSION)
set_target_properties(unisono unisono_python PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS unisono unisono_python LIBRARY DESTINATION unisono COMPONENT python)

# libhwy has no static build in Debian, and static libsodium is not always fit for shared objects.
foreach(dependency sodium xxhash highway)
  get_target_property(files PkgConfig::${dependency} INTERFACE_LINK_LIBRARIES)
  foreach(file IN LISTS files)
    if(file MATCHES "\\.so$")
      file(REAL_PATH ${file} real)
      execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${real} OUTPUT_VARIABLE headers
                      COMMAND_ERROR_IS_FATAL ANY)
      string(REGEX MATCH "SONAME +([^ \n]+)" found "${headers}")
      install(FILES ${real} DESTINATION unisono RENAME ${CMAKE_MATCH_1} COMPONENT python)
      # The command lies in another folder than these, so it has them inside where that can be.
      string(REGEX REPLACE "\\.so$" ".a" archive ${file})
      if(EXISTS ${archive})
        set_target_properties(PkgConfig::${dependency} PROPERTIES INTERFACE_LINK_LIBRARIES
          "$<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,${archive},${file}>")
      endif()
    endif()
  endforeach()
endforeach()

if(TARGET unisono_command)
  set(version ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
  # venv, user and system installs; Debian's own pip; pip install --target.
  set_target_properties(unisono_command PROPERTIES INSTALL_RPATH
    "$ORIGIN/../lib/python${version}/site-packages/unisono:$ORIGIN/../lib/python${version}/dist-packages/unisono:$ORIGIN/../unisono")
  install(TARGETS unisono_command RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()

add_custom_target(unisono_wheel DEPENDS unisono unisono_python)
if(TARGET unisono_command)
  add_dependencies(unisono_wheel unisono_command)
endif()
