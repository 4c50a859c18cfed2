# Run PROGRAM in an empty FOLDER; it must exit with 0 and, where the file EXPECTED exists,
# print to stdout exactly its content. Prints one tally line, as every test does.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code
    OUTPUT_FILE ${FOLDER}/stdout ERROR_FILE ${FOLDER}/stderr INPUT_FILE /dev/null TIMEOUT 300)

set(why "")
if(NOT code EQUAL 0)
    set(why "exit: ${code}")
elseif(EXISTS ${EXPECTED})
    execute_process(COMMAND diff -u ${EXPECTED} ${FOLDER}/stdout RESULT_VARIABLE differs OUTPUT_VARIABLE diff)
    if(NOT differs EQUAL 0)
        set(why "stdout differs from ${EXPECTED}:\n${diff}")
    endif()
endif()

if(why)
    file(READ ${FOLDER}/stderr err)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${why}\n${err}")
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "0 passed, 1 failed, 0 skipped")
    message(FATAL_ERROR "example failed")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "1 passed, 0 failed, 0 skipped")
