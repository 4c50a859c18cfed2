/* tool_reach_test.c - the files of a store and the folders of Pawl, which no tool opens, lists or writes, whatever name leads there. */
#define _XOPEN_SOURCE 700
#include "effect/reach.h"
#include "effect/tooling.h"

#include <stdlib.h>

static void file_make(const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK((f = fopen(path, "w")) != NULL);
    fputs(text, f);
    fclose(f);
}

static const char *at(const kit *k, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", k->work, name);
    return path;
}

static bool denied(kit *k, const char *tool, const char *input)
{
    CHECK_INT(use(k, tool, input), PAWL_OK);
    return is_error(k) && strncmp(content(k), "Permission denied: ", 19) == 0;
}

#define DENIED(tool, input) \
    do { \
        if (!denied(&k, tool, input)) \
            CHECK_FAIL("%s %s: %s", tool, input, content(&k)); \
    } while (0)

/* A store in the workspace, as older versions made it. */
PAWL_TEST(test_P9_no_tool_opens_a_store)
{
    reach_store store = {0};
    char path[256];
    kit k;

    kit_open(&k);
    CHECK_INT(mkdir(at(&k, "sub"), 0755), 0);
    file_make(k.work, "sub/pawl.db", "needle store\n");
    file_make(k.work, "sub/pawl.db-wal", "needle wal\n");
    file_make(k.work, "sub/plain", "needle plain\n");
    snprintf(path, sizeof path, "%s", at(&k, "sub/pawl.db"));
    CHECK_INT(link(path, at(&k, "hard")), 0);
    CHECK_INT(symlink("sub/pawl.db", at(&k, "soft")), 0);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"sub/pawl.db\"}"), PAWL_OK);     /* before it is a store in use */
    CHECK(!is_error(&k));
    store.path = path;
    reach_keep(&store);
    DENIED("read_file", "{\"file_path\":\"sub/pawl.db\"}");
    DENIED("read_file", "{\"file_path\":\"sub/../sub/./pawl.db-wal\"}");
    DENIED("read_file", "{\"file_path\":\"hard\"}");
    DENIED("read_file", "{\"file_path\":\"soft\"}");
    DENIED("edit_file", "{\"file_path\":\"hard\",\"old_string\":\"needle\",\"new_string\":\"x\"}");
    DENIED("write_file", "{\"file_path\":\"soft\",\"content\":\"x\"}");
    DENIED("write_file", "{\"file_path\":\"sub/pawl.db-journal\",\"content\":\"x\"}");    /* SQLite would roll it back into the file */
    DENIED("grep", "{\"pattern\":\"needle\",\"path\":\"hard\"}");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\"}"), PAWL_OK);
    CHECK_STR(content(&k), "sub/plain\n");
    CHECK_INT(use(&k, "glob", "{\"pattern\":\"**\"}"), PAWL_OK);
    CHECK_STR(content(&k), "sub/plain\n");
    CHECK_INT(use(&k, "list_files", "{\"path\":\"sub\"}"), PAWL_OK);
    CHECK_STR(content(&k), "plain\n");
    CHECK_INT(use(&k, "write_file", "{\"file_path\":\"pawl.db-journal\",\"content\":\"x\"}"), PAWL_OK);     /* elsewhere it is a name like any other */
    CHECK(!is_error(&k));
    reach_drop(&store);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"hard\"}"), PAWL_OK);
    CHECK(!is_error(&k));
    kit_close(&k);
}

/* The workspace is the person's home. */
PAWL_TEST(test_P9_no_tool_enters_the_folders_of_pawl)
{
    const char *state = getenv("XDG_STATE_HOME"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char keep[3][512], real[256];
    kit k;

    snprintf(keep[0], sizeof keep[0], "%s", state == NULL ? "" : state);
    snprintf(keep[1], sizeof keep[1], "%s", config == NULL ? "" : config);
    snprintf(keep[2], sizeof keep[2], "%s", home == NULL ? "" : home);
    kit_open(&k);
    CHECK_INT(setenv("HOME", k.work, 1), 0);
    CHECK_INT(setenv("XDG_CONFIG_HOME", at(&k, "conf"), 1), 0);
    CHECK_INT(unsetenv("XDG_STATE_HOME"), 0);
    CHECK_INT(mkdir(at(&k, ".local"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".local/state"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".local/state/pawl"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".local/state/pawl/p-1"), 0755), 0);
    CHECK_INT(mkdir(at(&k, "conf"), 0755), 0);
    CHECK_INT(mkdir(at(&k, "conf/pawl"), 0755), 0);
    file_make(k.work, ".local/state/pawl/p-1/pawl.db", "needle\n");
    file_make(k.work, "conf/pawl/settings.json", "needle\n");
    file_make(k.work, "conf/other", "needle\n");
    CHECK_INT(symlink(".local/state/pawl/p-1", at(&k, "soft")), 0);
    DENIED("read_file", "{\"file_path\":\".local/state/pawl/p-1/pawl.db\"}");
    DENIED("read_file", "{\"file_path\":\"soft/pawl.db\"}");
    DENIED("write_file", "{\"file_path\":\"conf/pawl/settings.json\",\"content\":\"{}\"}");
    DENIED("write_file", "{\"file_path\":\".local/state/pawl/p-2/pawl.db\",\"content\":\"x\"}");
    DENIED("list_files", "{\"path\":\"conf/pawl\"}");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\"}"), PAWL_OK);
    CHECK_STR(content(&k), "conf/other\n");
    CHECK(realpath(at(&k, ".local/state/pawl/p-1"), real) != NULL);
    CHECK_INT(rename(at(&k, "conf/other"), at(&k, "other")), 0);
    snprintf(k.work, sizeof k.work, "%.79s", real);      /* a workspace in one of them */
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"pawl.db\"}"), PAWL_OK);
    CHECK(is_error(&k));
    setenv("HOME", keep[2], 1);
    state == NULL ? unsetenv("XDG_STATE_HOME") : setenv("XDG_STATE_HOME", keep[0], 1);
    config == NULL ? unsetenv("XDG_CONFIG_HOME") : setenv("XDG_CONFIG_HOME", keep[1], 1);
    kit_close(&k);
}
