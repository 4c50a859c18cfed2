/* tool_seen_test.c - read before write: an existing file is changed only with the version that the run has seen (A5). */
#define _XOPEN_SOURCE 700
#include "effect/tooling.h"

#define UNREAD "File has not been read yet. Read it first before writing to it."
#define OTHER "File has been modified since read. Read it again before attempting to write it."

typedef struct seen_kit { kit k; char more[200], version[SEEN_BYTES]; } seen_kit;

/* The next call is of a run that has seen this version; NULL: none. */
static void saw(seen_kit *s, const char *version)
{
    snprintf(s->more, sizeof s->more, version != NULL ? ",\"seen\":\"%s\"" : ",\"seen\":null", version);
    s->k.more = s->more;
}

/* Keeps what the last call told that the run has seen. */
static const char *seen(seen_kit *s)
{
    const char *version = said(&s->k.h, "/seen/version");

    if (version == NULL)
        CHECK_FAIL("it told nothing: %s", content(&s->k));
    snprintf(s->version, sizeof s->version, "%s", version);
    return s->version;
}

PAWL_TEST(test_A5_a_file_that_was_not_read_is_not_changed)
{
    seen_kit s;

    kit_open(&s.k);
    put(&s.k, "a", "one\n");
    put(&s.k, "empty", "");
    saw(&s, NULL);
    REFUSES(&s.k, "write_file", "{\"file_path\":\"a\",\"content\":\"x\"}", UNREAD);
    REFUSES(&s.k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"x\"}", UNREAD);
    REFUSES(&s.k, "write_file", "{\"file_path\":\"empty\",\"content\":\"x\"}", UNREAD);
    HOLDS(&s.k, "a", "one\n");
    CHECK_INT(use(&s.k, "edit_file", "{\"file_path\":\"none\",\"old_string\":\"one\",\"new_string\":\"x\"}"), PAWL_OK);
    CHECK(strncmp(content(&s.k), "File not found: ", 16) == 0);
    GIVES(&s.k, "write_file", "{\"file_path\":\"new\",\"content\":\"x\"}", "Created new: 1 bytes");
    saw(&s, seen(&s));          /* what it has written it knows */
    GIVES(&s.k, "edit_file", "{\"file_path\":\"new\",\"old_string\":\"x\",\"new_string\":\"y\"}", "Edited new: 1 place");
    saw(&s, seen(&s));
    GIVES(&s.k, "write_file", "{\"file_path\":\"new\",\"content\":\"z\"}", "Wrote new: 1 bytes");
    s.k.more = NULL;            /* a node, whose author wrote it */
    GIVES(&s.k, "write_file", "{\"file_path\":\"a\",\"content\":\"x\"}", "Wrote a: 1 bytes");
    CHECK(said(&s.k.h, "/seen/version") == NULL);
    kit_close(&s.k);
}

PAWL_TEST(test_A5_a_file_that_has_changed_since_it_was_read_is_not_changed)
{
    seen_kit s;

    kit_open(&s.k);
    put(&s.k, "a", "one\ntwo\n");
    saw(&s, NULL);
    GIVES(&s.k, "read_file", "{\"file_path\":\"a\",\"offset\":2,\"limit\":1}", "     2\ttwo\n");     /* a part counts */
    saw(&s, seen(&s));
    put(&s.k, "a", "one\nother\n");
    REFUSES(&s.k, "write_file", "{\"file_path\":\"a\",\"content\":\"x\"}", OTHER);
    REFUSES(&s.k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"x\"}", OTHER);
    HOLDS(&s.k, "a", "one\nother\n");
    put(&s.k, "a", "one\ntwo\n");       /* the same content at another time */
    GIVES(&s.k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"x\"}", "Edited a: 1 place");
    HOLDS(&s.k, "a", "x\ntwo\n");
    kit_close(&s.k);
}

/* The version is that of the file that is opened, whichever way leads there. */
PAWL_TEST(test_A5_the_version_is_of_what_is_opened)
{
    char path[200];
    seen_kit s;

    kit_open(&s.k);
    put(&s.k, "a", "one\n");
    put(&s.k, "b", "two\n");
    link_in(&s.k, "a", "way");
    saw(&s, NULL);
    CHECK_INT(use(&s.k, "read_file", "{\"file_path\":\"way\"}"), PAWL_OK);
    snprintf(path, sizeof path, "%s/a", s.k.work);
    CHECK_STR(said(&s.k.h, "/seen/path"), path);
    saw(&s, seen(&s));
    snprintf(path, sizeof path, "%s/way", s.k.work);
    CHECK_INT(unlink(path), 0);
    link_in(&s.k, "b", "way");          /* it leads elsewhere now */
    REFUSES(&s.k, "write_file", "{\"file_path\":\"way\",\"content\":\"x\"}", OTHER);
    HOLDS(&s.k, "b", "two\n");
    kit_close(&s.k);
}

PAWL_TEST(test_X2_a_file_too_large_to_edit_is_known_by_its_size_and_times)
{
    char *text = malloc(FILE_BYTES_MAX + 2);
    seen_kit s;

    CHECK(text != NULL);
    memset(text, 'x', FILE_BYTES_MAX + 1);
    kit_open(&s.k);
    put_bytes(&s.k, "a", text, FILE_BYTES_MAX + 1);
    saw(&s, NULL);
    CHECK_INT(use(&s.k, "read_file", "{\"file_path\":\"a\",\"limit\":1}"), PAWL_OK);
    saw(&s, seen(&s));
    CHECK(strncmp(s.version, "size:16777217,", 14) == 0);
    put_bytes(&s.k, "b", text, FILE_BYTES_MAX + 1);
    REFUSES(&s.k, "write_file", "{\"file_path\":\"b\",\"content\":\"x\"}", OTHER);
    CHECK_INT(use(&s.k, "read_file", "{\"file_path\":\"b\",\"limit\":1}"), PAWL_OK);
    saw(&s, seen(&s));
    GIVES(&s.k, "write_file", "{\"file_path\":\"b\",\"content\":\"x\"}", "Wrote b: 1 bytes");
    free(text);
    kit_close(&s.k);
}

/* An error tells no version, and so does a file that is no text. */
PAWL_TEST(test_A5_what_was_not_shown_was_not_seen)
{
    seen_kit s;

    kit_open(&s.k);
    put_bytes(&s.k, "a", "\0\1\2", 3);
    put(&s.k, "b", "one\n");
    saw(&s, NULL);
    CHECK_INT(use(&s.k, "read_file", "{\"file_path\":\"a\"}"), PAWL_OK);
    CHECK(is_error(&s.k) && said(&s.k.h, "/seen/version") == NULL);
    CHECK_INT(use(&s.k, "read_file", "{\"file_path\":\"b\",\"offset\":9}"), PAWL_OK);
    CHECK(is_error(&s.k) && said(&s.k.h, "/seen/version") == NULL);
    kit_close(&s.k);
}
