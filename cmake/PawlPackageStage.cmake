# Prepares the installed program for a Debian package: adds the libraries that this release lacks, with their licences, and sets dependencies and modes.
#
# Each library that the program is linked to belongs to a package. If the archives of apt have that package, ours depends on it. If not (it was
# installed from elsewhere), ours contains the library and its licence, in a folder so deep that CPack does not take it for a public library and
# adds no call of ldconfig. Libraries that are opened at run time are recommended, by the names that they have on this system.
set(stage ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${stage}/share/doc/pawl)

function(must_run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE said)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "${ARGN}: ${said}")
    endif()
endfunction()

# The package that has the file `path`; "": none. With a merged /usr a file has two names, of which dpkg knows one.
function(package_of path out)
    string(REGEX REPLACE "^/usr" "" bare "${path}")
    execute_process(COMMAND dpkg-query -S /usr${bare} ${bare} OUTPUT_VARIABLE said ERROR_QUIET)
    string(REGEX MATCH "^[^:, ]+" package "${said}")
    set(${out} "${package}" PARENT_SCOPE)
endfunction()

# Whether the archives of this system have `package`. With empty lists of apt that is unknown, and counts as no.
function(is_offered package out)
    execute_process(COMMAND apt-cache madison ${package} OUTPUT_VARIABLE said ERROR_QUIET)
    string(STRIP "${said}" said)
    if(said)
        set(${out} ON PARENT_SCOPE)
    else()
        set(${out} OFF PARENT_SCOPE)
    endif()
endfunction()

# ---- libraries in the package ------------------------------------------------------------------

set(carried "")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${stage}/bin/pawl RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR lost)
if(lost)
    message(FATAL_ERROR "the program needs ${lost}, which was not found")
endif()
foreach(library IN LISTS libraries)
    package_of(${library} package)
    if(NOT package)
        message(FATAL_ERROR "${library} belongs to no package, so its licence is unknown: install it from a package")
    endif()
    is_offered(${package} offered)
    if(offered)
        continue()
    endif()
    get_filename_component(name ${library} NAME)
    file(REAL_PATH ${library} real)
    if(NOT EXISTS /usr/share/doc/${package}/copyright)
        message(FATAL_ERROR "${name} would be part of the package, but its licence, /usr/share/doc/${package}/copyright, is missing")
    endif()
    file(MAKE_DIRECTORY ${stage}/lib/pawl/carried)
    file(COPY_FILE ${real} ${stage}/lib/pawl/carried/${name})
    file(COPY_FILE /usr/share/doc/${package}/copyright ${doc}/${package}.copyright)
    string(APPEND carried "\n${CPACK_PACKAGING_INSTALL_PREFIX}/lib/pawl/carried/${name} is a copy of what the package ${package} has, "
        "unchanged;\nits licence is in ${package}.copyright.\n")
endforeach()
if(NOT carried)
    file(RPATH_REMOVE FILE ${stage}/bin/pawl)
endif()

# ---- libraries that are opened at run time ----------------------------------------------------

set(recommended ca-certificates)
list(TRANSFORM libraries REPLACE "/[^/]*$" "" OUTPUT_VARIABLE folders)
list(REMOVE_DUPLICATES folders)
foreach(name libjq.so.1 libcurl.so.4)
    foreach(folder IN LISTS folders)
        if(EXISTS ${folder}/${name})
            package_of(${folder}/${name} package)
            list(APPEND recommended ${package})
            break()
        endif()
    endforeach()
endforeach()
list(JOIN recommended ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS)

# ---- modes and files that Debian requires --------------------------------------------------------------------

file(WRITE ${doc}/copyright "Pawl: ${CPACK_PACKAGE_DESCRIPTION_SUMMARY}.
Copyright 2026 the contributors to Pawl.
Licence: Apache-2.0, whose text is in /usr/share/common-licenses/Apache-2.0.
${carried}")
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "pawl (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed is in CHANGELOG.md beside this file.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
file(COPY_FILE ${CPACK_PAWL_SOURCE_DIR}/CHANGELOG.md ${doc}/CHANGELOG.md)
file(GLOB pages ${stage}/share/man/man1/*.1)
must_run(gzip -9nf ${doc}/changelog ${pages})
must_run(find ${stage} -type f -perm -u=x -exec chmod 755 "{}" +)
must_run(find ${stage} -type f ! -perm -u=x -exec chmod 644 "{}" +)
