/* short_test.c - what is made short is long again to the byte, whatever it was; and no bytes are too odd to be refused. */
#include "lib/check.h"
#include "store/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static buf small, large;

static void check_round(pawl_bytes line)
{
    if (!store_line_shorten(line, &small))
        return;
    CHECK(small.size < line.size);
    if (!store_line_restore((pawl_bytes){ small.data, small.size }, &large) || large.size != line.size || memcmp(large.data, line.data, line.size) != 0)
        CHECK_FAIL("it comes back as %.*s, and was %.*s", (int)large.size, large.data, (int)line.size, line.data);
}

static char *file_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = malloc(1 << 20);

    if (f == NULL || data == NULL)
        CHECK_FAIL("%s cannot be read", path);
    *size = fread(data, 1, 1 << 20, f);
    fclose(f);
    return data;
}

PAWL_TEST(test_K5_every_line_that_was_ever_kept_comes_back)
{
    static const char folder[] = PAWL_SOURCE_DIR "/test/journals/0.1";
    DIR *d = opendir(folder);
    struct dirent *e;
    size_t lines = 0, before = 0, after = 0;

    CHECK(d != NULL);
    while ((e = readdir(d)) != NULL) {
        char path[400], *data;
        size_t size;

        if (strstr(e->d_name, ".journal") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%.100s", folder, e->d_name);
        data = file_read(path, &size);
        for (char *at = data, *nl; at < data + size && (nl = memchr(at, '\n', size - (size_t)(at - data))) != NULL; at = nl + 1) {
            pawl_bytes line = { at, (size_t)(nl - at) };

            check_round(line);
            lines++;
            before += line.size;
            after += store_line_shorten(line, &small) ? small.size : line.size;
        }
        free(data);
    }
    closedir(d);
    CHECK(lines > 50);
    CHECK(after < before * 9 / 10);
}

/* Pieces that mean something to it, in any order, cut anywhere. */
PAWL_TEST(test_K5_whatever_it_is_it_comes_back)
{
    static const char *const pieces[] = { "8854c8fc2b962a942dfce8aa3f93b70384a981162c1bb6d837b51be1e6a4dd97", "[[\"receipt\",\"", "[\"leave\",\"", ":", "[",
        "\"", "[[\"records\",", "12,\"", "\"working\",", "\"tick\",", "[\"close\",[", "\xc3\xa4", "0", "f", " ", "[[\"\",\"event\",\"0\"]]]", "[\"ask\",\"",
        "\x7f" };
    int rounds = check_run_all() ? 200000 : 20000;

    for (int i = 0; i < rounds; i++) {
        char line[2048];
        size_t n = 0, most = check_rand_below(30), cut;

        for (size_t k = 0; k < most && n < sizeof line - 80; k++) {
            const char *piece = pieces[check_rand_below(sizeof pieces / sizeof *pieces)];

            memcpy(line + n, piece, strlen(piece));
            n += strlen(piece);
        }
        cut = check_rand_below(8) == 0 && n > 0 ? check_rand_below(n) : 0;
        check_round((pawl_bytes){ line + cut, n - cut });
        check_round((pawl_bytes){ line, n - cut });
    }
}

PAWL_TEST(test_K5_a_line_with_bytes_of_its_own_below_20_is_left_alone)
{
    char line[] = "[[\"receipt\",\"1.a.1.0\",5,\"done\",1]]";

    CHECK(store_line_shorten((pawl_bytes){ line, sizeof line - 1 }, &small));
    for (size_t i = 0; i + 1 < sizeof line; i++) {
        char old = line[i];

        line[i] = (char)check_rand_below(32);
        CHECK(!store_line_shorten((pawl_bytes){ line, sizeof line - 1 }, &small));
        line[i] = old;
    }
}

PAWL_TEST(test_X3_any_bytes_are_taken_or_refused)
{
    int rounds = check_run_all() ? 500000 : 50000, taken = 0;

    for (int i = 0; i < rounds; i++) {
        unsigned char bytes[80];
        size_t n = check_rand_below(sizeof bytes);

        for (size_t k = 0; k < n; k++)
            bytes[k] = (unsigned char)check_rand_below(check_rand_below(2) == 0 ? 32 : 256);
        taken += store_line_restore((pawl_bytes){ (const char *)bytes, n }, &large);
        CHECK(!large.failed);
    }
    CHECK(taken > 0 && taken < rounds);
}

/* docs/INTERFACES.md says what each byte stands for. */
PAWL_TEST(test_K5_the_table_is_the_one_that_is_written_down)
{
    size_t size, rows = 0;
    char *data = file_read(PAWL_SOURCE_DIR "/docs/INTERFACES.md", &size), *at, *end;
    bool known[32] = { [2] = true };

    data[size - 1] = '\0';
    at = strstr(data, "### A short line");
    CHECK(at != NULL);
    end = strstr(at, "\n## ");
    for (char *row = strstr(at, "\n| `"); row != NULL && row < end; row = strstr(row + 1, "\n| `")) {
        char *text = strstr(row + 4, "` | `"), code = (char)strtol(row + 4, NULL, 16);

        CHECK(text != NULL && code > 2 && code < 32);
        CHECK(store_line_restore((pawl_bytes){ &code, 1 }, &large));
        text += 5;
        CHECK_BYTES(large.data, large.size, text, (size_t)(strstr(text, "` |") - text));
        known[(int)code] = true;
        rows++;
    }
    CHECK(rows > 20);
    for (char code = 0; code < 32; code++)
        CHECK_INT(store_line_restore((pawl_bytes){ &code, 1 }, &large), known[(int)code] && code != 2);
    free(data);
}

int main(int argc, char **argv)
{
    int code;

    buf_init(&small, NULL);
    buf_init(&large, NULL);
    code = check_main(argc, argv);
    buf_free(&small);
    buf_free(&large);
    return code;
}
