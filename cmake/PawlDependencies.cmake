# The libraries that Pawl needs, as global targets: pawl_deps::yyjson, pawl_deps::nettle and
# pawl_deps::sqlite3.
# Used by the build and by the installed package. Sets PAWL_MISSING to the names of those that were not found,
# and PAWL_YYJSON_PC to ON when pkg-config knows yyjson.
set(PAWL_MISSING "")

# For script/release: libraries are taken as archives where there are some. What is opened at run time (libjq, libcurl) is not.
if(PAWL_ARCHIVES)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# An imported target is visible only in its own folder unless it is made global.
macro(pawl_dependency name target)
    if(NOT TARGET pawl_deps::${name})
        add_library(pawl_deps::${name} INTERFACE IMPORTED GLOBAL)
        set_target_properties(pawl_deps::${name} PROPERTIES INTERFACE_LINK_LIBRARIES ${target})
    endif()
endmacro()

if(NOT TARGET pawl_deps::yyjson)
    if(TARGET yyjson) # the program that embeds Pawl builds it itself
        pawl_dependency(yyjson yyjson)
    else()
        if(NOT TARGET yyjson::yyjson)
            find_package(yyjson CONFIG QUIET)
            if(TARGET yyjson::yyjson)
                set_target_properties(yyjson::yyjson PROPERTIES IMPORTED_GLOBAL TRUE)
            endif()
        endif()
        pkg_check_modules(PAWL_YYJSON QUIET IMPORTED_TARGET GLOBAL yyjson)
        if(TARGET yyjson::yyjson)
            pawl_dependency(yyjson yyjson::yyjson)
        elseif(PAWL_YYJSON_FOUND)
            pawl_dependency(yyjson PkgConfig::PAWL_YYJSON)
        else()
            list(APPEND PAWL_MISSING yyjson)
        endif()
    endif()
endif()
set(PAWL_YYJSON_PC ${PAWL_YYJSON_FOUND})

if(NOT TARGET pawl_deps::nettle)
    pkg_check_modules(PAWL_NETTLE QUIET IMPORTED_TARGET GLOBAL hogweed nettle)
    if(PAWL_NETTLE_FOUND)
        pawl_dependency(nettle PkgConfig::PAWL_NETTLE)
        if(PAWL_ARCHIVES)   # the archive of hogweed does not name what it needs
            find_library(PAWL_GMP gmp)
            set_property(TARGET pawl_deps::nettle APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${PAWL_GMP})
        endif()
    else()
        list(APPEND PAWL_MISSING nettle)
    endif()
endif()

if(NOT TARGET pawl_deps::sqlite3)
    pkg_check_modules(PAWL_SQLITE QUIET IMPORTED_TARGET GLOBAL sqlite3)
    if(PAWL_SQLITE_FOUND)
        pawl_dependency(sqlite3 PkgConfig::PAWL_SQLITE)
    else()
        list(APPEND PAWL_MISSING sqlite3)
    endif()
endif()
