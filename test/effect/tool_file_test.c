/* tool_file_test.c - read_file, list_files, edit_file and write_file: what they give, what they refuse, and that no way leads out. */
#define _XOPEN_SOURCE 700
#include "effect/tooling.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* ---- read_file ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_read_file_numbers_lines)
{
    kit k;

    kit_open(&k);
    put(&k, "a.txt", "one\ntwo\r\n\nfour");
    GIVES(&k, "read_file", "{\"file_path\":\"a.txt\"}", "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n");
    GIVES(&k, "read_file", "{\"file_path\":\"a.txt\",\"offset\":4}", "     4\tfour\n");
    GIVES(&k, "read_file", "{\"file_path\":\"./a.txt\",\"offset\":2,\"limit\":1}",
          "     2\ttwo\n\n[truncated: lines 2 to 2 of 14 bytes; go on with offset 3]");
    GIVES(&k, "read_file", "{\"file_path\":\"a.txt\",\"offset\":3,\"limit\":2}", "     3\t\n     4\tfour\n");
    REFUSES(&k, "read_file", "{\"file_path\":\"a.txt\",\"offset\":5}", "Invalid arguments: a.txt: it has 4 lines, and none from 5 on");
    put(&k, "empty", "");
    GIVES(&k, "read_file", "{\"file_path\":\"empty\"}", "(the file is empty)");
    kit_close(&k);
}

PAWL_TEST(test_A5_read_file_tells_what_is_no_utf8_and_refuses_what_is_no_text)
{
    kit k;

    kit_open(&k);
    put(&k, "latin", "caf\xe9 \xc3\xa9\n");
    GIVES(&k, "read_file", "{\"file_path\":\"latin\"}", "     1\tcaf\xef\xbf\xbd \xc3\xa9\n");
    put_bytes(&k, "elf", "\x7f" "ELF\0\0\0", 7);
    REFUSES(&k, "read_file", "{\"file_path\":\"elf\"}", "Invalid arguments: elf: it is no text, and no image that can be shown (7 bytes)");
    kit_close(&k);
}

PAWL_TEST(test_A5_images_are_blocks)
{
    static const struct { const char *bytes; size_t size; const char *type; } images[] = {
        { "\x89PNG\r\n\x1a\n rest", 13, "image/png" }, { "\xff\xd8\xff\xe0 rest", 9, "image/jpeg" }, { "GIF89a rest", 11, "image/gif" },
        { "RIFF\1\2\3\4WEBP", 12, "image/webp" },
    };
    kit k;

    kit_open(&k);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        put_bytes(&k, "image", images[i].bytes, images[i].size);
        CHECK_INT(use(&k, "read_file", "{\"file_path\":\"image\"}"), PAWL_OK);
        CHECK_STR(said(&k.h, "/content/0/type"), "image");
        CHECK_STR(said(&k.h, "/content/0/media_type"), images[i].type);
        CHECK_INT(strlen(said(&k.h, "/content/0/data")), (images[i].size + 2) / 3 * 4);
    }
    CHECK_STR(said(&k.h, "/content/0/data"), "UklGRgECAwRXRUJQ");
    kit_close(&k);
}

PAWL_TEST(test_X2_a_file_of_10_mb_is_read_in_pieces)
{
    enum { LINES = 200000 };
    const char *last;
    char input[80];
    long long next = 0;
    buf b;
    kit k;

    kit_open(&k);
    buf_init(&b, NULL);
    for (unsigned i = 1; i <= LINES; i++)
        buf_fmt(&b, "line %06u of a file that is large, 10 MB or so...\n", i);
    put_bytes(&k, "large", b.data, b.size);
    buf_free(&b);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"large\",\"limit\":100000}"), PAWL_OK);
    CHECK(!is_error(&k) && strlen(content(&k)) <= 100000 && pawl_value_get(k.h.value, "cut") == NULL);
    CHECK((last = strstr(content(&k), "go on with offset ")) != NULL && sscanf(last, "go on with offset %lld", &next) == 1);
    snprintf(input, sizeof input, "{\"file_path\":\"large\",\"offset\":%lld,\"limit\":1}", next);
    CHECK_INT(use(&k, "read_file", input), PAWL_OK);
    snprintf(input, sizeof input, "%6lld\tline %06lld of", next, next);
    CHECK(strncmp(content(&k), input, strlen(input)) == 0);
    GIVES(&k, "read_file", "{\"file_path\":\"large\",\"offset\":200000}", "200000\tline 200000 of a file that is large, 10 MB or so...\n");
    kit_close(&k);
}

PAWL_TEST(test_X2_a_line_without_end_is_cut_between_characters)
{
    char *text = malloc(10 << 20);
    kit k;

    kit_open(&k);
    CHECK(text != NULL);
    for (size_t i = 0; i + 3 <= 10 << 20; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    put_bytes(&k, "long", text, (10 << 20) - 1);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"long\"}"), PAWL_OK);
    CHECK(!is_error(&k) && strstr(content(&k), " bytes more in this line]") != NULL && strstr(content(&k), "\xef\xbf\xbd") == NULL);
    CHECK(strlen(content(&k)) < 2100);
    free(text);
    kit_close(&k);
}

PAWL_TEST(test_X3_what_is_no_file_is_refused_and_waits_for_nobody)
{
    char path[512];
    kit k;

    kit_open(&k);
    path_in(&k, "pipe", path);
    CHECK_INT(mkfifo(path, 0600), 0);
    folder_in(&k, "sub");
    REFUSES(&k, "read_file", "{\"file_path\":\"pipe\"}", "Invalid arguments: pipe: it is a pipe, not a file");
    REFUSES(&k, "write_file", "{\"file_path\":\"pipe\",\"content\":\"x\"}", "Invalid arguments: pipe: it is a pipe, not a file");
    REFUSES(&k, "edit_file", "{\"file_path\":\"pipe\",\"old_string\":\"x\",\"new_string\":\"y\"}", "Invalid arguments: pipe: it is a pipe, not a file");
    REFUSES(&k, "read_file", "{\"file_path\":\"sub\"}", "Invalid arguments: sub: it is a folder, not a file");
    REFUSES(&k, "write_file", "{\"file_path\":\"sub\",\"content\":\"x\"}", "Invalid arguments: sub: it is a folder, not a file");
    REFUSES(&k, "read_file", "{\"file_path\":\".\"}", "Invalid arguments: .: it is a folder, not a file");
    REFUSES(&k, "read_file", "{\"file_path\":\"none\"}", "File not found: none");
    REFUSES(&k, "read_file", "{\"file_path\":\"none/none\"}", "File not found: none/none");
    k.more = ",\"directories\":[\"/dev\"]";
    REFUSES(&k, "read_file", "{\"file_path\":\"/dev/zero\"}", "Invalid arguments: /dev/zero: it is a device, not a file");
    kit_close(&k);
}

/* ---- arguments -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_wrong_arguments_are_told_to_the_model)
{
    kit k;

    kit_open(&k);
    REFUSES(&k, "read_file", "{}", "Invalid arguments: input: \"file_path\" is missing");
    CHECK_INT(use(&k, "read_file", "{\"file_path\":7}"), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "Invalid arguments: input", 24) == 0);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"a\",\"path\":\"b\"}"), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "Invalid arguments: input", 24) == 0);
    CHECK_INT(use(&k, "read_file", "null"), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "Invalid arguments: input", 24) == 0);
    REFUSES(&k, "read_file", "{\"file_path\":\"a\\u0000b\"}", "Invalid arguments: input: \"file_path\" holds NUL");
    k.work[0] = 'x';
    REFUSES(&k, "read_file", "{\"file_path\":\"a\"}", "Invalid arguments: \"cwd\" is no absolute path");
    k.work[0] = '/';
    k.more = ",\"directories\":[\"here\"]";
    REFUSES(&k, "read_file", "{\"file_path\":\"a\"}", "Invalid arguments: \"directories\" are no absolute paths");
    kit_close(&k);
}

/* ---- list_files --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_list_files_by_name_with_kinds)
{
    char name[32];
    kit k;

    kit_open(&k);
    GIVES(&k, "list_files", "{}", "(the folder is empty)\n");
    put(&k, "b.c", "");
    put(&k, ".hidden", "");
    folder_in(&k, "a");
    link_in(&k, "/etc", "c");
    GIVES(&k, "list_files", "{}", ".hidden\na/\nb.c\nc@\n");
    GIVES(&k, "list_files", "{\"path\":\"a\"}", "(the folder is empty)\n");
    REFUSES(&k, "list_files", "{\"path\":\"b.c\"}", "Invalid arguments: b.c: it is no folder");
    REFUSES(&k, "list_files", "{\"path\":\"c\"}", "Path outside workspace: c");
    for (int i = 0; i < 1003; i++) {
        snprintf(name, sizeof name, "a/%04d", i);
        put(&k, name, "");
    }
    CHECK_INT(use(&k, "list_files", "{\"path\":\"a\"}"), PAWL_OK);
    CHECK(strncmp(content(&k), "0000\n0001\n", 10) == 0 && strstr(content(&k), "0999\n[truncated: 1000 of 1003 are shown]\n") != NULL);
    kit_close(&k);
}

/* ---- edit_file ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_A5_an_edit_fits_exactly_once)
{
    struct stat st;
    char path[512];
    kit k;

    kit_open(&k);
    put(&k, "a", "one two one\n");
    path_in(&k, "a", path);
    CHECK_INT(chmod(path, 0750), 0);
    GIVES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"two\",\"new_string\":\"2\"}", "Edited a: 1 place");
    HOLDS(&k, "a", "one 2 one\n");
    CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0750);
    REFUSES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"1\"}",
            "Invalid arguments: old_string fits 2 times in a; give more of what is around it, or replace_all");
    REFUSES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"six\",\"new_string\":\"6\"}", "Target not found: old_string does not occur in a");
    REFUSES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"one\"}",
            "Invalid arguments: old_string and new_string are the same");
    HOLDS(&k, "a", "one 2 one\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"\",\"replace_all\":true}", "Edited a: 2 places");
    HOLDS(&k, "a", " 2 \n");
    REFUSES(&k, "edit_file", "{\"file_path\":\"b\",\"old_string\":\"one\",\"new_string\":\"\"}", "File not found: b");
    put(&k, "a", "}\n}\n}\n");
    REFUSES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"}\\n}\\n\",\"new_string\":\"}\\n\"}",
            "Invalid arguments: old_string fits in a more than once, one over the other; give more of what is around it");
    HOLDS(&k, "a", "}\n}\n}\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"}\\n}\\n\",\"new_string\":\"]\\n\",\"replace_all\":true}", "Edited a: 1 place");
    HOLDS(&k, "a", "]\n}\n");
    put_bytes(&k, "bin", "one\0two", 7);
    REFUSES(&k, "edit_file", "{\"file_path\":\"bin\",\"old_string\":\"one\",\"new_string\":\"1\"}", "Invalid arguments: bin: it is no text (7 bytes)");
    CHECK_INT(names_in(&k, "."), 2);
    kit_close(&k);
}

PAWL_TEST(test_A5_an_edit_keeps_the_ends_of_lines)
{
    kit k;

    kit_open(&k);
    put(&k, "dos", "a\r\nb\r\nc\r\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"dos\",\"old_string\":\"a\\nb\\n\",\"new_string\":\"x\\ny\\nz\\n\"}", "Edited dos: 1 place");
    HOLDS(&k, "dos", "x\r\ny\r\nz\r\nc\r\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"dos\",\"old_string\":\"z\\r\\n\",\"new_string\":\"\"}", "Edited dos: 1 place");
    HOLDS(&k, "dos", "x\r\ny\r\nc\r\n");
    put(&k, "mixed", "a\r\nb\nc\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"mixed\",\"old_string\":\"b\\nc\",\"new_string\":\"d\\ne\"}", "Edited mixed: 1 place");
    HOLDS(&k, "mixed", "a\r\nd\ne\n");
    put(&k, "unix", "a\nb\n");
    put(&k, "mixed", "a\nb\r\nc\r\nd\n");      /* the other way round */
    GIVES(&k, "edit_file", "{\"file_path\":\"mixed\",\"old_string\":\"b\\nc\\n\",\"new_string\":\"x\\ny\\nz\\n\"}", "Edited mixed: 1 place");
    HOLDS(&k, "mixed", "a\nx\r\ny\r\nz\r\nd\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"unix\",\"old_string\":\"a\\n\",\"new_string\":\"a\\nx\\n\"}", "Edited unix: 1 place");
    HOLDS(&k, "unix", "a\nx\nb\n");
    kit_close(&k);
}

PAWL_TEST(test_A5_an_edit_of_10_mb_and_what_is_more_is_refused)
{
    char *text = malloc(17 << 20), path[512];
    struct stat st;
    kit k;

    kit_open(&k);
    CHECK(text != NULL);
    memset(text, 'x', 17 << 20);
    text[5 << 20] = 'y';
    put_bytes(&k, "a", text, 10 << 20);
    path_in(&k, "a", path);
    GIVES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"xyx\",\"new_string\":\"-\"}", "Edited a: 1 place");
    CHECK(stat(path, &st) == 0 && st.st_size == (10 << 20) - 2);
    REFUSES(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"xxx\",\"replace_all\":true}",
            "Invalid arguments: a: it would have more than 16777216 bytes");
    put_bytes(&k, "b", text, 17 << 20);
    REFUSES(&k, "edit_file", "{\"file_path\":\"b\",\"old_string\":\"y\",\"new_string\":\"z\"}", "Invalid arguments: b: it has more than 16777216 bytes");
    free(text);
    kit_close(&k);
}

/* ---- write_file ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_a_file_is_written_whole)
{
    char path[512];
    struct stat st;
    kit k;

    kit_open(&k);
    GIVES(&k, "write_file", "{\"file_path\":\"a\",\"content\":\"one\\n\"}", "Created a: 4 bytes");
    HOLDS(&k, "a", "one\n");
    GIVES(&k, "write_file", "{\"file_path\":\"a\",\"content\":\"\"}", "Wrote a: 0 bytes");
    HOLDS(&k, "a", "");
    GIVES(&k, "write_file", "{\"file_path\":\"x/y/../z/b\",\"content\":\"b\"}", "Created x/y/../z/b: 1 bytes");
    HOLDS(&k, "x/z/b", "b");
    REFUSES(&k, "write_file", "{\"file_path\":\"new/\",\"content\":\"b\"}", "Invalid arguments: new/: a file does not end in /");
    REFUSES(&k, "write_file", "{\"file_path\":\"a/b\",\"content\":\"b\"}", "File not found: a/b");
    path_in(&k, "a", path);
    CHECK_INT(chmod(path, 0640), 0);
    GIVES(&k, "write_file", "{\"file_path\":\"a\",\"content\":\"two\"}", "Wrote a: 3 bytes");
    CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
    CHECK_INT(names_in(&k, "."), 2);
    kit_close(&k);
}

PAWL_TEST(test_A5_what_may_not_be_written_is_not_replaced)
{
    char path[512];
    kit k;

    if (geteuid() == 0)
        check_skip("root may write to anything");
    kit_open(&k);
    put(&k, "a", "mine");
    path_in(&k, "a", path);
    CHECK_INT(chmod(path, 0444), 0);
    REFUSES(&k, "write_file", "{\"file_path\":\"a\",\"content\":\"two\"}", "IO error: a: permission denied");
    HOLDS(&k, "a", "mine");
    kit_close(&k);
}

PAWL_TEST(test_S4_a_write_that_fails_leaves_what_was_there)
{
    struct rlimit was, small;
    char *input = malloc(20000);
    kit k;

    kit_open(&k);
    CHECK(input != NULL && getrlimit(RLIMIT_FSIZE, &was) == 0);
    put(&k, "a", "mine");
    small = was;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(input, 20000, "{\"file_path\":\"%s\",\"content\":\"%5000d\"}", i == 0 ? "a" : "b", 7);
        use(&k, "write_file", input);
        if (k.h.rc != PAWL_OK || !is_error(&k))
            break;
        CHECK(strncmp(content(&k), i == 0 ? "IO error: a" : "IO error: b", 11) == 0);
    }
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, SIG_DFL);
    CHECK(k.h.rc == PAWL_OK && is_error(&k));
    HOLDS(&k, "a", "mine");
    CHECK_INT(names_in(&k, "."), 1);
    free(input);
    kit_close(&k);
}

static unsigned asked, intrudes_at;     /* how often the edit has looked whether it is canceled */

static bool intrude(const pawl_job *job)
{
    const kit *k = job->ctx;
    char path[512];
    FILE *f;

    if (asked++ == intrudes_at) {
        path_in(k, "a", path);
        if ((f = fopen(path, "a")) != NULL) {
            fputs("more\n", f);
            fclose(f);
        }
    }
    return false;
}

PAWL_TEST(test_A5_an_edit_loses_nothing_that_somebody_else_wrote)
{
    kit k;

    kit_open(&k);
    k.h.job.canceled = intrude;
    k.h.job.ctx = &k;
    for (intrudes_at = 0;; intrudes_at++) {
        char *text;
        bool refused;

        put(&k, "a", "one\n");
        asked = 0;
        CHECK_INT(use(&k, "edit_file", "{\"file_path\":\"a\",\"old_string\":\"one\",\"new_string\":\"two\"}"), PAWL_OK);
        if (asked <= intrudes_at)
            break;
        refused = is_error(&k);
        if (refused)
            CHECK_STR(content(&k), "IO error: a: somebody else has changed it meanwhile; read it again");
        text = get(&k, "a");
        CHECK_STR(text, refused ? "one\nmore\n" : "two\nmore\n");
        free(text);
    }
    CHECK(intrudes_at >= 3);
    kit_close(&k);
}

/* ---- ways out ------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_X3_no_path_leads_out)
{
    static const char *const paths[] = { "/etc/passwd", "../secret", "../../etc/passwd", "sub/../../secret", "out/secret", "away", "deep/away", "up/secret",
                                         "loop/../../secret", "new/../../secret2", "/", "..", "/proc/self/environ", "//etc//passwd", "dangling" };
    char text[600], outside[512];
    kit k;

    kit_open(&k);
    folder_in(&k, "sub");
    folder_in(&k, "deep");
    put(&k, "../secret", "secret");
    link_in(&k, k.top, "out");
    link_in(&k, "../secret", "away");
    link_in(&k, "../out/secret", "deep/away");
    link_in(&k, "..", "up");
    link_in(&k, "sub", "loop");
    snprintf(outside, sizeof outside, "%s/made", k.top);
    link_in(&k, outside, "dangling");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(text, sizeof text, "{\"file_path\":\"%s\"}", paths[i]);
        CHECK_INT(use(&k, "read_file", text), PAWL_OK);
        if (!is_error(&k) || (strncmp(content(&k), "Path outside workspace: ", 24) != 0 && strncmp(content(&k), "File not found: new/", 20) != 0))
            CHECK_FAIL("read_file %s: %s", paths[i], content(&k));
        snprintf(text, sizeof text, "{\"file_path\":\"%s\",\"content\":\"mine\"}", paths[i]);
        CHECK_INT(use(&k, "write_file", text), PAWL_OK);
        if (!is_error(&k) || strncmp(content(&k), "Path outside workspace: ", 24) != 0)
            CHECK_FAIL("write_file %s: %s", paths[i], content(&k));
        snprintf(text, sizeof text, "{\"file_path\":\"%s\",\"old_string\":\"s\",\"new_string\":\"mine\"}", paths[i]);
        CHECK_INT(use(&k, "edit_file", text), PAWL_OK);
        CHECK(is_error(&k));
        snprintf(text, sizeof text, "{\"path\":\"%s\",\"pattern\":\"s\"}", paths[i]);
        CHECK_INT(use(&k, "grep", text), PAWL_OK);
        CHECK(is_error(&k));
    }
    HOLDS(&k, "../secret", "secret");
    CHECK(access(outside, F_OK) != 0);
    kit_close(&k);
}

PAWL_TEST(test_X3_links_within_lead_where_they_say)
{
    char target[512], text[600];
    kit k;

    kit_open(&k);
    folder_in(&k, "sub");
    put(&k, "sub/a", "one\n");
    path_in(&k, "sub/a", target);
    link_in(&k, target, "whole");
    link_in(&k, "sub/a", "near");
    link_in(&k, "../near", "sub/back");
    link_in(&k, "sub", "folder");
    link_in(&k, "sub/new", "dangling");
    link_in(&k, "round2", "round1");
    link_in(&k, "round1", "round2");
    GIVES(&k, "read_file", "{\"file_path\":\"whole\"}", "     1\tone\n");
    GIVES(&k, "read_file", "{\"file_path\":\"folder/back\"}", "     1\tone\n");
    GIVES(&k, "edit_file", "{\"file_path\":\"folder/back\",\"old_string\":\"one\",\"new_string\":\"two\"}", "Edited folder/back: 1 place");
    HOLDS(&k, "sub/a", "two\n");
    GIVES(&k, "write_file", "{\"file_path\":\"near\",\"content\":\"three\\n\"}", "Wrote near: 6 bytes");
    HOLDS(&k, "sub/a", "three\n");
    path_in(&k, "near", text);
    CHECK(readlink(text, target, sizeof target) == 5);
    GIVES(&k, "write_file", "{\"file_path\":\"dangling\",\"content\":\"4\"}", "Created dangling: 1 bytes");
    HOLDS(&k, "sub/new", "4");
    REFUSES(&k, "read_file", "{\"file_path\":\"round1\"}", "IO error: round1: its links are too many, or too long");
    GIVES(&k, "list_files", "{\"path\":\"folder/\"}", "a\nback@\nnew\n");
    snprintf(text, sizeof text, "{\"file_path\":\"%s/../work/./sub//a\"}", k.work);
    GIVES(&k, "read_file", text, "     1\tthree\n");
    kit_close(&k);
}

PAWL_TEST(test_X3_further_folders_belong_to_the_workspace)
{
    char more[200], text[600];
    kit k;

    kit_open(&k);
    put(&k, "a", "here\n");
    folder_in(&k, "../other");
    put(&k, "../other/b", "there\n");
    link_in(&k, "../other", "away");
    REFUSES(&k, "read_file", "{\"file_path\":\"away/b\"}", "Path outside workspace: away/b");
    snprintf(more, sizeof more, ",\"directories\":[\"%s/other/\",\"%s/none\"]", k.top, k.top);
    k.more = more;
    GIVES(&k, "read_file", "{\"file_path\":\"away/b\"}", "     1\tthere\n");
    GIVES(&k, "read_file", "{\"file_path\":\"../other/b\"}", "     1\tthere\n");
    snprintf(text, sizeof text, "{\"file_path\":\"%s/other/b\",\"content\":\"mine\"}", k.top);
    CHECK_INT(use(&k, "write_file", text), PAWL_OK);
    CHECK(!is_error(&k));
    HOLDS(&k, "../other/b", "mine");
    REFUSES(&k, "read_file", "{\"file_path\":\"../otherwise\"}", "Path outside workspace: ../otherwise");
    folder_in(&k, "../hidden");
    put(&k, "../hidden/c", "secret\n");
    link_in(&k, "../hidden", "../other/out");       /* a link of that folder that leads out of both */
    link_in(&k, "../work/a", "../other/home");      /* and one that leads into the other */
    snprintf(text, sizeof text, "{\"file_path\":\"%s/other/out/c\"}", k.top);
    CHECK_INT(use(&k, "read_file", text), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "Path outside workspace: ", 24) == 0);
    snprintf(text, sizeof text, "{\"file_path\":\"%s/other/out/c\",\"content\":\"x\"}", k.top);
    CHECK_INT(use(&k, "write_file", text), PAWL_OK);
    CHECK(is_error(&k));
    HOLDS(&k, "../hidden/c", "secret\n");
    GIVES(&k, "read_file", "{\"file_path\":\"../other/home\"}", "     1\there\n");
    kit_close(&k);
}

PAWL_TEST(test_X3_further_folders_have_a_limit)
{
    char more[8192];
    size_t n = 0;
    kit k;

    kit_open(&k);
    put(&k, "a", "here\n");
    k.more = more;
    for (int i = 0; i < ROOTS_MAX; i++) {
        n += (size_t)snprintf(more + n, sizeof more - n, "%s\"%s\"", i == 0 ? ",\"directories\":[" : ",", k.top);
        snprintf(more + n, sizeof more - n, "]");
        if (i + 1 < ROOTS_MAX)
            GIVES(&k, "read_file", "{\"file_path\":\"a\"}", "     1\there\n");
        else
            REFUSES(&k, "read_file", "{\"file_path\":\"a\"}", "Invalid arguments: more than 63 \"directories\"");
    }
    kit_close(&k);
}

/* ---- races ------------------------------------------------------------------------------------------------------------ */

typedef struct swapper { const kit *k; atomic_bool end; } swapper;

/* "sub" is a folder of the workspace, then a link out of it, and so on; so is the file "sub/a" a link. */
static void *swap(void *arg)
{
    swapper *s = arg;
    char folder[512], kept[512], file[512], link[512];

    path_in(s->k, "sub", folder);
    path_in(s->k, "kept", kept);
    path_in(s->k, "file", file);
    path_in(s->k, "link", link);
    while (!atomic_load(&s->end)) {
        (void)!rename(folder, kept);
        (void)!symlink("../outside", folder);
        (void)!unlink(folder);
        (void)!rename(kept, folder);
        (void)!symlink("../outside/a", link);
        (void)!rename(link, file);
        (void)!unlink(file);
        close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    }
    return NULL;
}

PAWL_TEST(test_X3_a_link_swapped_in_leads_nowhere)
{
    enum { TURNS = 9000 };
    static const char *const inputs[][2] = {
        { "read_file", "{\"file_path\":\"sub/a\"}" }, { "read_file", "{\"file_path\":\"file\"}" },
        { "write_file", "{\"file_path\":\"sub/a\",\"content\":\"mine\"}" }, { "write_file", "{\"file_path\":\"file\",\"content\":\"mine\"}" },
        { "grep", "{\"pattern\":\"outside\"}" }, { "edit_file", "{\"file_path\":\"sub/a\",\"old_string\":\"outside\",\"new_string\":\"x\"}" },
    };
    swapper s = { .end = false };
    pthread_t thread;
    kit k;

    kit_open(&k);
    s.k = &k;
    folder_in(&k, "sub");
    put(&k, "sub/a", "inside\n");
    folder_in(&k, "../outside");
    put(&k, "../outside/a", "outside\n");
    CHECK_INT(pthread_create(&thread, NULL, swap, &s), 0);
    for (size_t i = 0; i < TURNS; i++) {
        const char *const *in = inputs[i % 6];
        bool held;

        held = use(&k, in[0], in[1]) == PAWL_OK && (strstr(content(&k), "outside\n") == NULL);
        if (!held) {
            atomic_store(&s.end, true);
            pthread_join(thread, NULL);
            CHECK_FAIL("%s %s: %s", in[0], in[1], k.h.rc == PAWL_OK ? content(&k) : reply_why(&k.h.reply));
        }
        arena_reset(&k.h.mem);
    }
    atomic_store(&s.end, true);
    pthread_join(thread, NULL);
    HOLDS(&k, "../outside/a", "outside\n");
    CHECK_INT(names_in(&k, "../outside"), 1);
    kit_close(&k);
}

/* ---- plan mode ------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_P1_plan_mode_writes_nothing)
{
    static const char *const calls[][2] = {
        { "write_file", "{\"file_path\":\"a\",\"content\":\"x\"}" }, { "write_file", "{\"file_path\":\"new/b\",\"content\":\"x\"}" },
        { "edit_file", "{\"file_path\":\"a\",\"old_string\":\"o\",\"new_string\":\"x\"}" }, { "web_fetch", "{\"url\":\"http://127.0.0.1:1/\"}" },
        { "write_file", "{}" },
    };
    char text[200];
    kit k;

    kit_open(&k);
    put(&k, "a", "one\n");
    k.h.job.mode = "plan";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        CHECK_INT(use(&k, calls[i][0], calls[i][1]), PAWL_DENIED);
        snprintf(text, sizeof text, "%s requires Default mode; current mode is Plan.", calls[i][0]);
        CHECK_STR(reply_why(&k.h.reply), text);
        CHECK(k.h.reply.untouched);
    }
    GIVES(&k, "read_file", "{\"file_path\":\"a\"}", "     1\tone\n");
    GIVES(&k, "grep", "{\"pattern\":\"one\"}", "a:1:one\n");
    GIVES(&k, "glob", "{\"pattern\":\"*\"}", "a\n");
    HOLDS(&k, "a", "one\n");
    CHECK_INT(names_in(&k, "."), 1);
    kit_close(&k);
}

PAWL_TEST(test_no_descriptor_is_left_open)
{
    int before;
    kit k;

    kit_open(&k);
    put(&k, "a", "one\n");
    link_in(&k, "a", "b");
    before = open_fds();
    use(&k, "read_file", "{\"file_path\":\"b\"}");
    use(&k, "read_file", "{\"file_path\":\"../x\"}");
    use(&k, "read_file", "{\"file_path\":\"none/../../x\"}");
    use(&k, "list_files", "{}");
    use(&k, "list_files", "{\"path\":\"a\"}");
    use(&k, "edit_file", "{\"file_path\":\"b\",\"old_string\":\"o\",\"new_string\":\"x\"}");
    use(&k, "write_file", "{\"file_path\":\"c/d\",\"content\":\"x\"}");
    use(&k, "glob", "{\"pattern\":\"*\"}");
    use(&k, "grep", "{\"pattern\":\"x\"}");
    use(&k, "grep", "{\"pattern\":\"(\"}");
    use(&k, "grep", "{\"pattern\":\"x\",\"path\":\"a\"}");
    k.more = ",\"directories\":[\"/tmp\",7]";
    use(&k, "read_file", "{\"file_path\":\"b\"}");
    CHECK_INT(open_fds(), before);
    kit_close(&k);
}
