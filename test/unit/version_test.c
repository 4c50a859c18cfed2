/* version_test.c - one version: of the project, of the headers, of the library. */
#include "lib/check.h"
#include "pawl/kernel.h"

#include <stdio.h>
#include <string.h>

PAWL_TEST(test_the_headers_and_the_library_have_the_version_of_the_project)
{
    FILE *f = fopen(PAWL_SOURCE_DIR "/CMakeLists.txt", "r");
    char text[2000] = "", due[40];
    const char *at;
    size_t n;

    CHECK(f != NULL);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    CHECK((at = strstr(text, "project(pawl VERSION ")) != NULL);
    at += strlen("project(pawl VERSION ");
    CHECK_BYTES(at, strcspn(at, " "), PAWL_VERSION, strlen(PAWL_VERSION));
    snprintf(due, sizeof due, "%d.%d.%d", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH);
    CHECK_STR(due, PAWL_VERSION);
    CHECK_STR(pawl_version(), PAWL_VERSION);
    CHECK_INT(PAWL_VERSION_NUMBER, PAWL_VERSION_MAJOR * 10000 + PAWL_VERSION_MINOR * 100 + PAWL_VERSION_PATCH);
}
