# What `cmake --install` lays down: the library, its headers, and the two ways to find them (find_package, pkg-config);
# and what programs of the earlier runtime look for: its header names and its link name, libcamp_ops.so.
include(CMakePackageConfigHelpers)

install(TARGETS oprt EXPORT oprt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development
        COMPONENT runtime)
add_custom_command(TARGET oprt POST_BUILD
                   COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_LINKER_FILE_NAME:oprt> libcamp_ops.so
                   WORKING_DIRECTORY $<TARGET_FILE_DIR:oprt>)
install(FILES $<TARGET_FILE_DIR:oprt>/libcamp_ops.so DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

# Public: C in oprt.h, api/ and one header per operator; C++ in oprt.hpp, tensor/, the classes of runtime/, and the element
# types of core/, with DLPack's header beside. The rest of oprt/ is internal.
install(DIRECTORY oprt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "oprt/oprt.h" PATTERN "oprt/oprt.hpp" PATTERN "oprt/api/*.h" PATTERN "oprt/tensor/*.h"
        PATTERN "oprt/core" EXCLUDE PATTERN "oprt/runtime" EXCLUDE PATTERN "oprt/device" EXCLUDE
        PATTERN "oprt/ops" EXCLUDE)
foreach(header core/dtype core/half runtime/buffer runtime/device runtime/error runtime/event runtime/memory_pool
               runtime/stream)
  get_filename_component(folder oprt/${header} DIRECTORY)
  install(FILES oprt/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()
install(DIRECTORY third_party/dlpack DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/oprt/third_party COMPONENT development)
foreach(op ${OPRT_OPERATORS})
  install(FILES oprt/ops/${op}/${op}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/oprt/ops/${op} COMPONENT development)
endforeach()
install(DIRECTORY ${OPRT_GENERATED}/oprt ${OPRT_GENERATED}/operator_runtime
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/oprt)
install(EXPORT oprt FILE oprtConfig.cmake NAMESPACE oprt:: DESTINATION ${cmake_dir} COMPONENT development)
write_basic_package_version_file(oprtConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/oprtConfigVersion.cmake DESTINATION ${cmake_dir} COMPONENT development)

file(RELATIVE_PATH OPRT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" OPRT_PREFIX_FROM_PC ${OPRT_PREFIX_FROM_PC})
configure_file(cmake/oprt.pc.in oprt.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/oprt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
