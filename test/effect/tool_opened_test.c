/* tool_opened_test.c - the tools for files decide on what they have opened (P8): links, hard links, swaps, searches; with openat2 and without it. */
#define _XOPEN_SOURCE 700
#include "effect/tooling.h"

#include <pthread.h>
#include <stdatomic.h>

/* A kit with rules; `deny`: JSON texts of rules, with commas. */
typedef struct ruled { kit k; pawl_policy *p; } ruled;

static void ruled_open(ruled *r, const char *deny)
{
    pawl_err err = {0};
    buf b;

    kit_open(&r->k);
    buf_init(&b, NULL);
    buf_fmt(&b, "{\"cwd\":\"%s\",\"deny\":[%s]}", r->k.work, deny);
    r->p = pawl_policy_read(NULL, b.data, b.size, &err);
    if (r->p == NULL)
        CHECK_FAIL("%s", err.text);
    buf_free(&b);
    r->k.h.job.policy = r->p;
}

static void ruled_close(ruled *r)
{
    pawl_policy_free(r->p);
    kit_close(&r->k);
}

static void hard_link(const kit *k, const char *from, const char *to)
{
    char a[512], b[512];

    path_in(k, from, a);
    path_in(k, to, b);
    CHECK_INT(link(a, b), 0);
}

#define SAYS(k, name, input, part)                               \
    do {                                                         \
        CHECK_INT(use(k, name, input), PAWL_OK);                 \
        if (strstr(content(k), part) == NULL)                    \
            CHECK_FAIL("\"%s\" is not in \"%s\"", part, content(k)); \
    } while (0)

/* ---- links ---------------------------------------------------------------------------------------------- */

static void links_are_seen(void)
{
    char text[400];
    ruled r;
    kit *k = &r.k;

    ruled_open(&r, "\"Read(./.env)\",\"Edit(src/**)\"");
    put(k, ".env", "canary\n");
    folder_in(k, "src");
    link_in(k, ".env", "l1");
    link_in(k, "src", "lsrc");
    snprintf(text, sizeof text, "Permission denied: l1 leads to %s/.env, which the rule Read(./.env) denies", k->work);
    REFUSES(k, "read_file", "{\"file_path\":\"l1\"}", text);
    REFUSES(k, "grep", "{\"pattern\":\"c\",\"path\":\"l1\"}", text);
    REFUSES(k, "edit_file", "{\"file_path\":\"l1\",\"old_string\":\"canary\",\"new_string\":\"x\"}", text);
    REFUSES(k, "write_file", "{\"file_path\":\"l1\",\"content\":\"x\"}", text);
    REFUSES(k, "read_file", "{\"file_path\":\".env\"}", "Permission denied: .env is denied by the rule Read(./.env)");
    REFUSES(k, "read_file", "{\"file_path\":\"src/../lsrc/.././.env\"}", "Permission denied: src/../lsrc/.././.env is denied by the rule Read(./.env)");
    snprintf(text, sizeof text, "Permission denied: lsrc/n.c leads to %s/src/n.c, which the rule Edit(src/**) denies", k->work);
    REFUSES(k, "write_file", "{\"file_path\":\"lsrc/n.c\",\"content\":\"x\"}", text);
    SAYS(k, "write_file", "{\"file_path\":\"lsrc/new/deep/n.c\",\"content\":\"x\"}", "which the rule Edit(src/**) denies");
    CHECK_INT(names_in(k, "src"), 0);
    HOLDS(k, ".env", "canary\n");
    GIVES(k, "write_file", "{\"file_path\":\"other/new/n.c\",\"content\":\"x\"}", "Created other/new/n.c: 1 bytes");
    ruled_close(&r);
}

PAWL_TEST(test_P8_links_lead_to_what_the_rules_say_of_their_target)
{
    links_are_seen();
    seek_by_walk_only = true;
    links_are_seen();
    seek_by_walk_only = false;
}

PAWL_TEST(test_P8_a_folder_is_opened_by_its_true_path)
{
    ruled r;
    kit *k = &r.k;

    ruled_open(&r, "\"Read(secrets/**)\"");
    folder_in(k, "secrets");
    put(k, "secrets/a", "canary\n");
    link_in(k, "secrets", "way");
    SAYS(k, "list_files", "{\"path\":\"way\"}", "which the rule Read(secrets/**) denies");
    SAYS(k, "grep", "{\"pattern\":\"c\",\"path\":\"way\"}", "which the rule Read(secrets/**) denies");
    SAYS(k, "glob", "{\"pattern\":\"*\",\"path\":\"way\"}", "which the rule Read(secrets/**) denies");
    ruled_close(&r);
}

/* ---- searches -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P8_searches_leave_out_what_is_denied_and_say_so)
{
    ruled r;
    kit *k = &r.k;

    ruled_open(&r, "\"Read(.env)\",\"Read(secrets/**)\"");
    folder_in(k, "secrets");
    folder_in(k, "sub");
    put(k, "secrets/a", "canary\n");
    put(k, ".env", "canary\n");
    put(k, "sub/.env", "canary\n");
    put(k, "b", "canary\n");
    GIVES(k, "grep", "{\"pattern\":\"canary\"}", "b:1:canary\n[3 left out: a rule denies to read them]\n");
    GIVES(k, "grep", "{\"pattern\":\"canary\",\"output_mode\":\"files\"}", "b\n[3 left out: a rule denies to read them]\n");
    GIVES(k, "grep", "{\"pattern\":\"canary\",\"glob\":\"b\"}", "b:1:canary\n[1 left out: a rule denies to read them]\n");
    GIVES(k, "glob", "{\"pattern\":\"**/.env\"}", "(no file fits)\n[3 left out: a rule denies to read them]\n");
    hard_link(k, ".env", "hard");
    GIVES(k, "grep", "{\"pattern\":\"canary\"}", "b:1:canary\n[4 left out: a rule denies to read them]\n");
    ruled_close(&r);
}

/* ---- hard links -------------------------------------------------------------------------------------------- */

static void hard_links_are_denied(const char *rule)
{
    char text[400], deny[80];
    ruled r;
    kit *k = &r.k;

    snprintf(deny, sizeof deny, "\"%s\"", rule);
    ruled_open(&r, deny);
    folder_in(k, "sub");
    folder_in(k, "sub/deep");
    put(k, "sub/deep/.env", "canary\n");
    hard_link(k, "sub/deep/.env", "hard");
    snprintf(text, sizeof text, "Permission denied: hard has 2 names, and one of them is %s/sub/deep/.env, which the rule %s denies", k->work, rule);
    REFUSES(k, "read_file", "{\"file_path\":\"hard\"}", text);
    REFUSES(k, "grep", "{\"pattern\":\"c\",\"path\":\"hard\"}", text);
    REFUSES(k, "edit_file", "{\"file_path\":\"hard\",\"old_string\":\"canary\",\"new_string\":\"x\"}", text);
    REFUSES(k, "write_file", "{\"file_path\":\"hard\",\"content\":\"x\"}", text);
    put(k, "one", "fine\n");
    hard_link(k, "one", "two");
    GIVES(k, "read_file", "{\"file_path\":\"two\"}", "     1\tfine\n");
    HOLDS(k, "sub/deep/.env", "canary\n");
    ruled_close(&r);
}

PAWL_TEST(test_P8_a_hard_link_to_a_denied_file_is_denied)
{
    hard_links_are_denied("Read(./sub/deep/.env)");
    hard_links_are_denied("Read(.env)");
    hard_links_are_denied("Read(sub/**/.e*)");
    hard_links_are_denied("Read(sub/**)");
}

PAWL_TEST(test_P8_a_hard_link_counts_only_for_what_the_rule_is_about)
{
    ruled r;
    kit *k = &r.k;

    ruled_open(&r, "\"Edit(kept)\"");
    put(k, "kept", "x\n");
    hard_link(k, "kept", "hard");
    GIVES(k, "read_file", "{\"file_path\":\"hard\"}", "     1\tx\n");
    SAYS(k, "write_file", "{\"file_path\":\"hard\",\"content\":\"y\"}", "which the rule Edit(kept) denies");
    ruled_close(&r);
}

/* ---- decided on another path --------------------------------------------------------------------------------- */

PAWL_TEST(test_P8_an_approval_is_for_the_path_that_it_was_given_for)
{
    char text[400], more[600];
    ruled r;
    kit *k = &r.k;

    ruled_open(&r, "\"Read(./.env)\"");
    folder_in(k, "src");
    put(k, "Makefile", "all:\n");
    link_in(k, "Makefile", "notes.txt");
    link_in(k, "src", "lsrc");
    k->h.job.mode = "default";
    k->more = ",\"decision\":{\"behavior\":\"approved\",\"ground\":\"default\",\"digest\":\"d\"}";
    snprintf(text, sizeof text, "Permission denied: notes.txt leads to %s/Makefile, which was not decided on: name that path itself", k->work);
    REFUSES(k, "write_file", "{\"file_path\":\"notes.txt\",\"content\":\"x\"}", text);
    HOLDS(k, "Makefile", "all:\n");
    SAYS(k, "write_file", "{\"file_path\":\"lsrc/new/a\",\"content\":\"x\"}", "which was not decided on");
    CHECK_INT(names_in(k, "src"), 0);
    GIVES(k, "write_file", "{\"file_path\":\"Makefile\",\"content\":\"x\"}", "Wrote Makefile: 1 bytes");
    GIVES(k, "read_file", "{\"file_path\":\"notes.txt\"}", "     1\tx\n");       /* the mode allows to read it, wherever it leads */
    snprintf(more, sizeof more, ",\"decision\":{\"behavior\":\"approved\",\"ground\":\"default\",\"digest\":\"d\",\"leads_to\":\"%s/Makefile\"}", k->work);
    k->more = more;
    GIVES(k, "write_file", "{\"file_path\":\"notes.txt\",\"content\":\"y\"}", "Wrote notes.txt: 1 bytes");
    HOLDS(k, "Makefile", "y");
    ruled_close(&r);
}

PAWL_TEST(test_P8_a_mode_that_allows_edits_does_not_allow_them_through_a_link_to_a_protected_place)
{
    ruled r;
    kit *k = &r.k;

    ruled_open(&r, "");
    folder_in(k, ".git");
    folder_in(k, ".git/hooks");
    link_in(k, ".git/hooks/pre-commit", "hook");
    folder_in(k, "src");
    link_in(k, "src", "lsrc");
    k->h.job.mode = "acceptEdits";
    k->more = ",\"decision\":{\"behavior\":\"allow\",\"ground\":\"mode\"}";
    SAYS(k, "write_file", "{\"file_path\":\"hook\",\"content\":\"x\"}", "which was not decided on");
    CHECK_INT(names_in(k, ".git/hooks"), 0);
    GIVES(k, "write_file", "{\"file_path\":\"lsrc/a\",\"content\":\"x\"}", "Created lsrc/a: 1 bytes");
    ruled_close(&r);
}

/* ---- races ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 1000 };

typedef struct swapper { const kit *k; atomic_bool stop; atomic_ulong swaps; bool hard; } swapper;

/* notes is a file, a link to .env, a hard link to .env; way is a folder, and a link to src. */
static void *swap(void *arg)
{
    swapper *s = arg;
    char notes[512], env[512], plain[512], way[512], src[512], folder[512], aside[512];

    path_in(s->k, "notes", notes);
    path_in(s->k, ".env", env);
    path_in(s->k, "plain", plain);
    path_in(s->k, "way", way);
    path_in(s->k, "src", src);
    path_in(s->k, "folder", folder);
    path_in(s->k, "aside", aside);
    while (!s->stop) {
        (void)!symlink(env, aside);
        (void)rename(aside, notes);
        (void)rename(way, folder);
        (void)!symlink(src, way);
        s->swaps++;
        if (s->hard) {
            (void)unlink(notes);
            (void)!link(env, notes);
        }
        (void)unlink(notes);
        (void)!link(plain, notes);
        (void)unlink(way);
        (void)rename(folder, way);
    }
    return NULL;
}

static void nothing_slips(bool by_walk, bool hard)
{
    static const char *const writes[] = { "{\"file_path\":\"way/n\",\"content\":\"x\"}", "{\"file_path\":\"way/kept\",\"content\":\"x\"}",
                                          "{\"file_path\":\"notes\",\"content\":\"x\"}" };
    char path[512];
    struct stat st;
    pthread_t t;
    ruled r;
    kit *k = &r.k;
    swapper s = { .k = k, .hard = hard };

    ruled_open(&r, "\"Read(./.env)\",\"Edit(src/**)\"");
    put(k, ".env", "canary\n");
    put(k, "plain", "plain\n");
    folder_in(k, "src");
    put(k, "src/kept", "canary\n");
    folder_in(k, "way");
    put(k, "way/kept", "old\n");
    seek_by_walk_only = by_walk;
    CHECK_INT(pthread_create(&t, NULL, swap, &s), 0);
    while (s.swaps == 0)
        sched_yield();
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(use(k, "read_file", "{\"file_path\":\"notes\"}"), PAWL_OK);
        CHECK(strstr(content(k), "canary") == NULL);
        CHECK_INT(use(k, "grep", "{\"pattern\":\".\",\"glob\":\"notes\"}"), PAWL_OK);
        CHECK(strstr(content(k), "canary") == NULL);
        CHECK_INT(use(k, "edit_file", "{\"file_path\":\"notes\",\"old_string\":\"canary\",\"new_string\":\"x\"}"), PAWL_OK);
        CHECK(is_error(k));
        CHECK_INT(use(k, "edit_file", "{\"file_path\":\"way/kept\",\"old_string\":\"canary\",\"new_string\":\"x\"}"), PAWL_OK);
        CHECK(is_error(k));
        CHECK_INT(use(k, "write_file", writes[i % 3]), PAWL_OK);
    }
    s.stop = true;
    pthread_join(t, NULL);
    seek_by_walk_only = false;
    HOLDS(k, ".env", "canary\n");
    HOLDS(k, "src/kept", "canary\n");
    path_in(k, "src/n", path);
    CHECK(stat(path, &st) != 0);
    ruled_close(&r);
}

PAWL_TEST(test_P8_no_swap_gets_a_canary_out_or_a_byte_in) { nothing_slips(false, false); }
PAWL_TEST(test_P8_no_swap_of_hard_links_gets_a_canary_out) { nothing_slips(false, true); }
PAWL_TEST(test_P8_nor_without_openat2) { nothing_slips(true, true); }
