/* links_test.c - where the paths of a call lead: links, the folders that a command may go to, other names of a denied file (P8). */
#define _XOPEN_SOURCE 700
#include "effect/resolve_links.h"
#include "effect/tooling.h"

typedef struct look { kit k; pawl_policy *p; arena mem; const pawl_value *out; pawl_err err; } look;

static void look_open(look *l)
{
    *l = (look){ .p = NULL };
    kit_open(&l->k);
    arena_init(&l->mem, NULL, 4096);
}

static void look_close(look *l)
{
    pawl_policy_free(l->p);
    arena_free(&l->mem);
    kit_close(&l->k);
}

static void rules(look *l, const char *deny)
{
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "{\"cwd\":\"%s\",\"deny\":[%s]}", l->k.work, deny);
    CHECK((l->p = pawl_policy_read(NULL, b.data, b.size, &l->err)) != NULL);
    buf_free(&b);
}

/* `paths`: JSON. */
static void look_at(look *l, const char *cwd, const char *paths)
{
    const link_rules r = { .policy = l->p, .time_ms = 1000 };

    l->err = (pawl_err){0};
    l->out = links_of(&l->mem, cwd, value_parse(&l->mem, paths, strlen(paths), "paths", NULL), &r, &l->err);
}

/* `member` of what is said about `path`, below the workspace: "to" or "same"; "" for what is not said. */
static const char *led(look *l, const char *path, const char *member)
{
    char whole[512];
    const pawl_value *v = pawl_value_get(l->out, path);
    const char *text;

    if (v == NULL) {
        path_in(&l->k, path, whole);
        v = pawl_value_get(l->out, whole);
    }
    text = pawl_value_string(pawl_value_get(v, member));
    return text == NULL ? "" : strncmp(text, l->k.work, strlen(l->k.work)) == 0 ? text + strlen(l->k.work) : text;
}

PAWL_TEST(test_P8_a_link_is_told_with_its_target)
{
    look l;

    look_open(&l);
    put(&l.k, "a", "");
    folder_in(&l.k, "sub");
    link_in(&l.k, "a", "l");
    link_in(&l.k, "none", "dangling");
    link_in(&l.k, "sub", "way");
    look_at(&l, l.k.work, "[\"a\",\"l\",\"dangling\",\"way/new\",\"none\"]");
    CHECK(l.out != NULL);
    CHECK_STR(led(&l, "l", "to"), "/a");
    CHECK_STR(led(&l, "dangling", "to"), "/none");
    CHECK_STR(led(&l, "way/new", "to"), "/sub/new");
    CHECK_STR(led(&l, "a", "to"), "");
    CHECK_STR(led(&l, "none", "to"), "");
    look_at(&l, l.k.work, "[\"/proc/self/cwd/l\",\"/proc/self/root/etc/passwd\"]");
    CHECK_STR(led(&l, "/proc/self/cwd/l", "to"), "/a");
    CHECK_STR(led(&l, "/proc/self/root/etc/passwd", "to"), "/etc/passwd");
    look_at(&l, l.k.work, "[\"a\"]");
    CHECK(pawl_value_string(pawl_value_get(l.out, "a")) != NULL);      /* as older programs say it: a text */
    look_close(&l);
}

PAWL_TEST(test_P8_paths_are_told_from_where_a_command_may_go)
{
    look l;

    look_open(&l);
    put(&l.k, ".env", "");
    folder_in(&l.k, "sub");
    folder_in(&l.k, "sub/deep");
    link_in(&l.k, "../.env", "sub/l");
    link_in(&l.k, "../../.env", "sub/deep/m");
    link_in(&l.k, ".env", "top");
    look_at(&l, l.k.work, "[\"sub\",\"deep\",\"l\",\"m\"]");
    CHECK_STR(led(&l, "sub/l", "to"), "/.env");
    CHECK_STR(led(&l, "sub/deep/m", "to"), "/.env");
    CHECK_STR(led(&l, "sub/m", "to"), "");
    look_at(&l, l.k.work, "[\"new\",\"../top\"]");      /* mkdir new && cd new && cat ../top */
    CHECK_STR(led(&l, "top", "to"), "/.env");
    look_close(&l);
}

PAWL_TEST(test_P8_a_working_folder_with_links_makes_no_link_of_what_is_in_it)
{
    char way[512];
    look l;

    look_open(&l);
    folder_in(&l.k, "real");
    put(&l.k, "real/a", "");
    put(&l.k, "b", "");
    link_in(&l.k, "a", "real/l");
    link_in(&l.k, "../b", "real/m");
    link_in(&l.k, "real", "way");
    path_in(&l.k, "way", way);
    look_at(&l, way, "[\"a\",\"l\",\"m\"]");
    CHECK_STR(led(&l, "a", "to"), "");
    CHECK_STR(led(&l, "a", "same"), "/real/a");
    CHECK_STR(led(&l, "l", "to"), "/way/a");
    CHECK_STR(led(&l, "m", "to"), "/b");
    look_close(&l);
}

PAWL_TEST(test_P8_a_hard_link_is_told_with_the_name_that_is_denied)
{
    char a[512], b[512];
    look l;

    look_open(&l);
    folder_in(&l.k, "sub");
    put(&l.k, "sub/.env", "x");
    put(&l.k, "kept", "x");
    put(&l.k, "one", "x");
    path_in(&l.k, "sub/.env", a);
    path_in(&l.k, "hard", b);
    CHECK_INT(link(a, b), 0);
    path_in(&l.k, "kept", a);
    path_in(&l.k, "hard2", b);
    CHECK_INT(link(a, b), 0);
    path_in(&l.k, "one", a);
    path_in(&l.k, "two", b);
    CHECK_INT(link(a, b), 0);
    rules(&l, "\"Read(.env)\",\"Edit(./kept)\"");
    look_at(&l, l.k.work, "[\"hard\",\"hard2\",\"two\",\"kept\"]");
    CHECK_STR(led(&l, "hard", "same"), "/sub/.env");
    CHECK_STR(led(&l, "hard2", "same"), "/kept");
    CHECK_STR(led(&l, "two", "same"), "");
    look_close(&l);
}

PAWL_TEST(test_P8_a_rule_by_a_link_is_told_for_its_target)
{
    look l;

    look_open(&l);
    folder_in(&l.k, "real");
    put(&l.k, "real/key", "x");
    link_in(&l.k, "real", "way");
    rules(&l, "\"Read(./way/**)\"");
    look_at(&l, l.k.work, "[\"real/key\"]");
    CHECK_STR(led(&l, "real/key", "same"), "/way/key");
    look_close(&l);
}

PAWL_TEST(test_P8_a_command_that_may_go_to_too_many_folders_is_refused)
{
    char name[16];
    buf b;
    look l;

    look_open(&l);
    buf_init(&b, NULL);
    for (int i = 0; i < 260; i++) {
        snprintf(name, sizeof name, "d%d", i);
        folder_in(&l.k, name);
        buf_fmt(&b, "%s\"%s\"", i > 0 ? "," : "[", name);
    }
    buf_text(&b, "]");
    buf_char(&b, '\0');
    look_at(&l, l.k.work, b.data);
    CHECK(l.out == NULL && l.err.code == PAWL_EFFECT && strstr(l.err.text, "FOLDERS_MAX") != NULL);
    buf_free(&b);
    look_close(&l);
}
