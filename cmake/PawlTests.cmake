# Each test/{unit,trace,fault}/NAME.c and test/{agent,effect,host,policy,sim,store}/NAME_test.c is one program and one ctest
# test, FOLDER/NAME. Its last line is `N passed, N failed, N skipped`; it exits with 0 when
# nothing failed. PAWL_SOURCE_DIR is the top of the tree, for journals and other fixtures.

file(GLOB check_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/lib/*.c)
if(check_sources)
    add_library(check STATIC ${check_sources})
    target_include_directories(check PRIVATE test src)
    target_link_libraries(check PUBLIC pawl_deps::yyjson pawl_deps::nettle Threads::Threads)
    target_include_directories(check PRIVATE include)
    target_compile_definitions(check PRIVATE _POSIX_C_SOURCE=200809L PAWL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    pawl_flags(check)
else()
    add_library(check INTERFACE)
endif()

# The contract of a store, for each store to be put through.
file(GLOB contract_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/store/contract*.c)
add_library(contract STATIC ${contract_sources})
target_include_directories(contract PRIVATE test src)
target_link_libraries(contract PUBLIC check pawl_static)
target_compile_definitions(contract PRIVATE _POSIX_C_SOURCE=200809L)
pawl_flags(contract)

# The library once more, with rules that can be broken: for the one test that shows that the simulator finds them.
add_library(pawl_breakable STATIC EXCLUDE_FROM_ALL ${PAWL_SOURCES})
add_dependencies(pawl_breakable pawl_inside_c)
target_compile_definitions(pawl_breakable PRIVATE PAWL_BREAK)
target_include_directories(pawl_breakable PRIVATE src PUBLIC include)
target_link_libraries(pawl_breakable PRIVATE pawl_deps::yyjson pawl_deps::nettle pawl_deps::sqlite3 Threads::Threads ${CMAKE_DL_LIBS})
pawl_flags(pawl_breakable)

# A program of `file` named FOLDER/NAME, on `library`.
function(pawl_test folder file library)
    get_filename_component(name ${file} NAME_WE)
    set(target ${folder}-${name})
    add_executable(${target} ${file})
    target_include_directories(${target} PRIVATE test src)
    if(folder STREQUAL "store")
        target_link_libraries(${target} PRIVATE contract)
    endif()
    # check calls the library and the other way round never, so check comes first
    target_link_libraries(${target} PRIVATE check ${library} pawl_deps::yyjson pawl_deps::nettle Threads::Threads)
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L PAWL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/${folder})
    pawl_flags(${target})
    add_test(NAME ${folder}/${name} COMMAND ${target})
endfunction()

# Only these are worth a build with the thread sanitizer.
add_custom_target(threaded_tests)
foreach(pattern unit/*.c trace/*.c fault/*.c agent/*_test.c effect/*_test.c host/*_test.c policy/*_test.c sim/*_test.c store/*_test.c)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/${pattern})
    get_filename_component(folder ${pattern} DIRECTORY)
    foreach(file IN LISTS files)
        get_filename_component(name ${file} NAME_WE)
        if(name MATCHES "^sqlite_" AND NOT EXISTS ${PROJECT_SOURCE_DIR}/src/store/sqlite)
            continue()
        endif()
        if(name STREQUAL "sim_broken_test")
            pawl_test(${folder} ${file} pawl_breakable)
            target_compile_definitions(${folder}-${name} PRIVATE PAWL_BREAK)
            continue()
        endif()
        pawl_test(${folder} ${file} pawl_static)
        if(folder STREQUAL "effect" AND name MATCHES "^(command|command_stop|http|tls|sandbox|llm_anthropic|llm_fail|llm_openai)_test$")
            # The same tests, with every job answered later: by the loop thread.
            add_test(NAME ${folder}/${name}_later COMMAND ${CMAKE_COMMAND} -E env PAWL_TEST_LATER=1 $<TARGET_FILE:${folder}-${name}>)
        endif()
        if(folder STREQUAL "effect" OR folder STREQUAL "host" OR name MATCHES "^(engine|store|sqlite|stream|effect|peer)_")
            add_dependencies(threaded_tests ${folder}-${name})
        endif()
    endforeach()
endforeach()

# Of the program: test/file/NAME_test.c and test/cli/NAME_test.c on its sources, and test/e2e/NAME_test, which is run with the program
# in $PAWL and the top of the tree in $PAWL_SOURCE_DIR, and ends with a tally as every test does.
if(PAWL_PROGRAM)
    foreach(folder file cli)
        file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/${folder}/*_test.c)
        foreach(file IN LISTS files)
            pawl_test(${folder} ${file} pawl_program)
            get_filename_component(name ${file} NAME_WE)
            target_link_libraries(${folder}-${name} PRIVATE pawl_static)
            if(folder STREQUAL "cli")   # those of files run nothing
                target_compile_definitions(${folder}-${name} PRIVATE PAWL_PROGRAM="$<TARGET_FILE:pawl>")
                add_dependencies(${folder}-${name} pawl)
            endif()
        endforeach()
    endforeach()
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/e2e/*_test)
    foreach(file IN LISTS files)
        get_filename_component(name ${file} NAME)
        add_test(NAME e2e/${name} COMMAND ${file})
        set_tests_properties(e2e/${name} PROPERTIES
            ENVIRONMENT "PAWL=$<TARGET_FILE:pawl>;PAWL_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
    endforeach()
endif()

# The pure layers as one pair of files, and their unit tests on it.
if(PAWL_AMALGAMATION)
    set(out ${PROJECT_BINARY_DIR}/amalgamation)
    set(parts ${PROJECT_SOURCE_DIR}/tools/amalgamate ${PROJECT_SOURCE_DIR}/CMakeLists.txt)
    foreach(folder include/pawl src/base src/json src/kernel src/graph src/flow src/shell src/policy src/agent)
        file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.[ch])
        list(APPEND parts ${found})
    endforeach()
    add_custom_command(OUTPUT ${out}/pawl.c ${out}/pawl.h DEPENDS ${parts}
        COMMAND ${PROJECT_SOURCE_DIR}/tools/amalgamate ${out} COMMENT "Amalgamating pawl.c and pawl.h" VERBATIM)
    add_library(pawl_amalgamation STATIC ${out}/pawl.c ${out}/pawl.h)
    target_link_libraries(pawl_amalgamation PRIVATE pawl_deps::yyjson)
    pawl_flags(pawl_amalgamation)
    # the program around it, as far as it is asked for
    add_library(host_sha256 STATIC test/tools/host_sha256.c)
    target_include_directories(host_sha256 PRIVATE ${out})
    target_link_libraries(host_sha256 PRIVATE pawl_deps::nettle)
    add_dependencies(host_sha256 pawl_amalgamation)
    target_link_libraries(pawl_amalgamation INTERFACE host_sha256)
    pawl_flags(host_sha256)

    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/unit/*.c)
    foreach(file IN LISTS files)
        file(STRINGS ${file} above REGEX "#include.*(engine|store|effect)[./]")
        if(NOT above)
            pawl_test(amalgamation ${file} pawl_amalgamation)
            get_filename_component(name ${file} NAME_WE)
            # pawl.h first: the guards in it then silence the headers that it was made from
            target_compile_options(amalgamation-${name} PRIVATE -include ${out}/pawl.h)
            target_include_directories(amalgamation-${name} PRIVATE include)
        endif()
    endforeach()
endif()
