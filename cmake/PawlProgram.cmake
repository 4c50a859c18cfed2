# The program `pawl`: agent files and verbs over the library, in one executable that exports the library's names to
# plug-ins. Its sources but main.c are also a library, pawl_program, for the tests.
pkg_check_modules(PAWL_YAML QUIET IMPORTED_TARGET GLOBAL yaml-0.1)
find_path(PAWL_JQ_INCLUDE jq.h)
# The archives of libuv and llhttp where there are some: a shared library more is opened at each start, and most verbs serve nothing.
find_path(PAWL_UV_INCLUDE uv.h)
find_library(PAWL_UV NAMES libuv_a.a uv)
find_path(PAWL_LLHTTP_INCLUDE llhttp.h)
find_library(PAWL_LLHTTP NAMES libllhttp.a llhttp)
if(NOT PAWL_YAML_FOUND OR NOT PAWL_JQ_INCLUDE OR NOT PAWL_UV_INCLUDE OR NOT PAWL_UV OR NOT PAWL_LLHTTP_INCLUDE OR NOT PAWL_LLHTTP)
    message(FATAL_ERROR
        "the program needs libyaml, libuv, llhttp and the headers of libjq; script/setup installs them, -DPAWL_PROGRAM=OFF leaves it out")
endif()

set(PAWL_PROGRAM_SOURCES "")
foreach(folder file proof app a2a effect/jq net/http telemetry observe serve cli)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
    list(APPEND PAWL_PROGRAM_SOURCES ${found})
endforeach()
list(REMOVE_ITEM PAWL_PROGRAM_SOURCES ${PROJECT_SOURCE_DIR}/src/cli/main.c)
set_source_files_properties(${PAWL_PROGRAM_SOURCES} ${PROJECT_SOURCE_DIR}/src/cli/main.c PROPERTIES COMPILE_DEFINITIONS _POSIX_C_SOURCE=200809L)

# The schema that `pawl schema` prints.
set(PAWL_SCHEMA ${PROJECT_SOURCE_DIR}/src/file/agent.schema.json)
set(PAWL_SCHEMA_C ${PROJECT_BINARY_DIR}/agent_schema.c)
add_custom_command(OUTPUT ${PAWL_SCHEMA_C} DEPENDS ${PAWL_SCHEMA} ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
    COMMAND ${CMAKE_COMMAND} -DFILE=${PAWL_SCHEMA} -DOUTPUT=${PAWL_SCHEMA_C} -DNAME=agent_schema -DHEADER=file/schema.h
        -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake COMMENT "Embedding agent.schema.json" VERBATIM)

add_library(pawl_program STATIC ${PAWL_PROGRAM_SOURCES} ${PAWL_SCHEMA_C})
target_include_directories(pawl_program PRIVATE include src)
# not linked to libjq: the child process that evaluates expressions opens it
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/effect/jq/jq_child.c ${PROJECT_SOURCE_DIR}/src/effect/jq/jq_big.c APPEND PROPERTY INCLUDE_DIRECTORIES ${PAWL_JQ_INCLUDE})
set(PAWL_SERVES ${PAWL_UV} ${PAWL_LLHTTP} Threads::Threads ${CMAKE_DL_LIBS})
file(GLOB PAWL_HTTP_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/net/http/*.c)
set_property(SOURCE ${PAWL_HTTP_SOURCES} APPEND PROPERTY INCLUDE_DIRECTORIES ${PAWL_UV_INCLUDE} ${PAWL_LLHTTP_INCLUDE})
target_link_libraries(pawl_program PUBLIC ${PAWL_SERVES} PkgConfig::PAWL_YAML pawl_deps::yyjson pawl_deps::nettle pawl_deps::sqlite3 Threads::Threads
    ${CMAKE_DL_LIBS} m)
pawl_flags(pawl_program)

# All of the library, not only what the verbs call: a plug-in may call the rest.
add_executable(pawl ${PROJECT_SOURCE_DIR}/src/cli/main.c $<TARGET_OBJECTS:pawl_program> $<TARGET_OBJECTS:pawl_objects>)
# A package may contain libraries that its release lacks: cmake/PawlPackage.cmake.
set_target_properties(pawl PROPERTIES ENABLE_EXPORTS ON INSTALL_RPATH "$ORIGIN/../lib/pawl/carried" BUILD_WITH_INSTALL_RPATH ON)
target_include_directories(pawl PRIVATE include src)
target_link_libraries(pawl PRIVATE ${PAWL_SERVES} PkgConfig::PAWL_YAML pawl_deps::yyjson pawl_deps::nettle pawl_deps::sqlite3 Threads::Threads ${CMAKE_DL_LIBS} m)
pawl_flags(pawl)

# Completions, and the manual if scdoc is installed; the program prints both.
set(PAWL_SAID "")
if(NOT CMAKE_CROSSCOMPILING AND NOT PAWL_SANITIZE)
    find_program(PAWL_SCDOC scdoc)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions)
    function(pawl_said file from)   # COMMAND...: its output
        add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${file} DEPENDS ${from}
            COMMAND ${ARGN} > ${PROJECT_BINARY_DIR}/${file} COMMENT "Writing ${file}" VERBATIM)
        set(PAWL_SAID ${PAWL_SAID} ${PROJECT_BINARY_DIR}/${file} PARENT_SCOPE)
    endfunction()
    pawl_said(completions/pawl pawl $<TARGET_FILE:pawl> completions bash)
    pawl_said(completions/_pawl pawl $<TARGET_FILE:pawl> completions zsh)
    pawl_said(completions/pawl.fish pawl $<TARGET_FILE:pawl> completions fish)
    if(PAWL_SCDOC)
        pawl_said(pawl.1.scd pawl $<TARGET_FILE:pawl> @man)
        pawl_said(pawl.1 ${PROJECT_BINARY_DIR}/pawl.1.scd ${PAWL_SCDOC} < ${PROJECT_BINARY_DIR}/pawl.1.scd)
    endif()
    add_custom_target(pawl_said ALL DEPENDS ${PAWL_SAID})
endif()
