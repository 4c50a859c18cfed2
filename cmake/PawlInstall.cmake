# What `cmake --install` puts where: headers, both libraries, pawl.pc, the CMake package.
install(TARGETS pawl_static pawl_shared EXPORT pawl
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

set(PAWL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(EXPORT pawl NAMESPACE pawl:: FILE pawl-targets.cmake DESTINATION ${PAWL_CMAKE_DIR})
configure_package_config_file(cmake/pawl-config.cmake.in pawl-config.cmake
    INSTALL_DESTINATION ${PAWL_CMAKE_DIR})
write_basic_package_version_file(pawl-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pawl-config.cmake ${PROJECT_BINARY_DIR}/pawl-config-version.cmake
    cmake/PawlDependencies.cmake DESTINATION ${PAWL_CMAKE_DIR})

# pawl.pc says where it is by where it lies, so that a tree can be moved after the build.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(PAWL_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
    set(PAWL_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
    set(PAWL_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
    file(RELATIVE_PATH PAWL_PC_UP /r/${CMAKE_INSTALL_LIBDIR}/pkgconfig /r)
    string(REGEX REPLACE "/$" "" PAWL_PC_UP "${PAWL_PC_UP}")
    set(PAWL_PC_PREFIX "\${pcfiledir}/${PAWL_PC_UP}")
    set(PAWL_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(PAWL_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(PAWL_PC_DL "")
if(CMAKE_DL_LIBS)
    set(PAWL_PC_DL " -l${CMAKE_DL_LIBS}")
endif()
if(PAWL_YYJSON_PC)
    set(PAWL_PC_REQUIRES "yyjson, nettle, sqlite3")
    set(PAWL_PC_LIBS "${CMAKE_THREAD_LIBS_INIT}${PAWL_PC_DL}")
else()
    set(PAWL_PC_REQUIRES "nettle, sqlite3")
    set(PAWL_PC_LIBS "-lyyjson ${CMAKE_THREAD_LIBS_INIT}${PAWL_PC_DL}")
endif()
configure_file(cmake/pawl.pc.in pawl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
