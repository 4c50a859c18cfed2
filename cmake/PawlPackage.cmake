# A Debian package of the program: cmake --build build --target package. PawlPackageStage.cmake decides what it contains.
if(CMAKE_VERSION VERSION_LESS 3.21) # before that dpkg-shlibdeps is not told where the package begins
    return()
endif()

set(who "Pawl maintainers <maintainers@pawl.invalid>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
    set(who "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(PAWL_MAINTAINER "${who}" CACHE STRING "Who answers for a package: NAME <ADDRESS>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pawl)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${PAWL_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "durable agent state machines")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Pawl runs agents as durable state machines: completed steps are never lost
or repeated, through crashes, restarts and weeks of waiting for a person.
.
An agent file is a graph of nodes: commands, requests, expressions, questions.
Each step is persisted in a SQLite file before its side effects run, so that a
run can be resumed, answered, read, verified and forked at any step.")

# The program alone: libraries and headers are installed from the sources.
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};pawl;program;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/PawlPackageStage.cmake)
set(CPACK_PAWL_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "graphviz, bubblewrap")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
