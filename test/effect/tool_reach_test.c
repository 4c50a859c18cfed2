/* tool_reach_test.c - the files of a store and the folders of Pawl: no tool opens, lists or writes them, whatever name leads there, and no command does.
 *
 * This program is its own client: `tool_reach_test --marked` says whether it is confined. */
#define _GNU_SOURCE             /* RLIMIT_LOCKS */
#include "effect/reach.h"
#include "effect/sandbox.h"
#include "effect/spawn.h"
#include "effect/tooling.h"

#include <stdlib.h>
#include <sys/resource.h>

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
    file_make(k.work, "sub/runs.db", "needle store\n");
    file_make(k.work, "sub/runs.db-wal", "needle wal\n");
    file_make(k.work, "sub/plain", "needle plain\n");
    snprintf(path, sizeof path, "%s", at(&k, "sub/runs.db"));
    CHECK_INT(link(path, at(&k, "hard")), 0);
    CHECK_INT(symlink("sub/runs.db", at(&k, "soft")), 0);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"sub/runs.db\"}"), PAWL_OK);     /* before it is a store in use */
    CHECK(!is_error(&k));
    store.path = path;
    reach_keep(&store);
    DENIED("read_file", "{\"file_path\":\"sub/runs.db\"}");
    DENIED("read_file", "{\"file_path\":\"sub/../sub/./runs.db-wal\"}");
    DENIED("read_file", "{\"file_path\":\"hard\"}");
    DENIED("read_file", "{\"file_path\":\"soft\"}");
    DENIED("edit_file", "{\"file_path\":\"hard\",\"old_string\":\"needle\",\"new_string\":\"x\"}");
    DENIED("write_file", "{\"file_path\":\"soft\",\"content\":\"x\"}");
    DENIED("write_file", "{\"file_path\":\"sub/runs.db-journal\",\"content\":\"x\"}");    /* SQLite would roll it back into the file */
    DENIED("grep", "{\"pattern\":\"needle\",\"path\":\"hard\"}");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\"}"), PAWL_OK);
    CHECK_STR(content(&k), "sub/plain\n");
    CHECK_INT(use(&k, "glob", "{\"pattern\":\"**\"}"), PAWL_OK);
    CHECK_STR(content(&k), "sub/plain\n");
    CHECK_INT(use(&k, "list_files", "{\"path\":\"sub\"}"), PAWL_OK);
    CHECK_STR(content(&k), "plain\n");
    CHECK_INT(use(&k, "write_file", "{\"file_path\":\"runs.db-journal\",\"content\":\"x\"}"), PAWL_OK);     /* elsewhere it is a name like any other */
    CHECK(!is_error(&k));
    DENIED("write_file", "{\"file_path\":\"pawl.db\",\"content\":\"x\"}");      /* the next process would take it for its store */
    reach_drop(&store);
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"hard\"}"), PAWL_OK);
    CHECK(!is_error(&k));
    kit_close(&k);
}

/* The environment of a person whose home is `home`. */
typedef struct env_kept { const char *name; char value[512]; bool set; } env_kept;
static env_kept env_all[] = { { .name = "HOME" }, { .name = "XDG_STATE_HOME" }, { .name = "XDG_CONFIG_HOME" } };

static void home_set(const char *home)
{
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(env_all[i].name);

        env_all[i].set = value != NULL;
        snprintf(env_all[i].value, sizeof env_all[i].value, "%s", value != NULL ? value : "");
        unsetenv(env_all[i].name);
    }
    setenv("HOME", home, 1);
}

static void home_back(void)
{
    for (size_t i = 0; i < 3; i++)
        env_all[i].set ? setenv(env_all[i].name, env_all[i].value, 1) : unsetenv(env_all[i].name);
}

/* The workspace is the person's home, with a folder of settings. */
static void home_open(kit *k)
{
    kit_open(k);
    home_set(k->work);
    CHECK_INT(setenv("XDG_CONFIG_HOME", at(k, "conf"), 1), 0);
    CHECK_INT(mkdir(at(k, "conf"), 0755), 0);
    CHECK_INT(mkdir(at(k, "conf/pawl"), 0755), 0);
}

static void hard_link(kit *k, const char *from, const char *to)
{
    char real[256];

    snprintf(real, sizeof real, "%s", at(k, from));
    CHECK_INT(link(real, at(k, to)), 0);
}

PAWL_TEST(test_P9_no_tool_enters_the_folders_of_pawl)
{
    char real[256];
    kit k;

    home_open(&k);
    CHECK_INT(mkdir(at(&k, ".local"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".local/state"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".local/state/pawl"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".local/state/pawl/p-1"), 0755), 0);
    file_make(k.work, ".local/state/pawl/p-1/pawl.db", "needle\n");
    file_make(k.work, "conf/pawl/settings.json", "needle\n");
    file_make(k.work, "conf/other", "needle\n");
    CHECK_INT(symlink(".local/state/pawl/p-1", at(&k, "soft")), 0);
    hard_link(&k, "conf/pawl/settings.json", "hard");
    DENIED("read_file", "{\"file_path\":\"hard\"}");
    DENIED("edit_file", "{\"file_path\":\"hard\",\"old_string\":\"needle\",\"new_string\":\"x\"}");
    DENIED("read_file", "{\"file_path\":\".local/state/pawl/p-1/pawl.db\"}");
    DENIED("read_file", "{\"file_path\":\"soft/runs.db\"}");
    DENIED("write_file", "{\"file_path\":\"conf/pawl/settings.json\",\"content\":\"{}\"}");
    DENIED("write_file", "{\"file_path\":\".local/state/pawl/p-2/pawl.db\",\"content\":\"x\"}");
    DENIED("list_files", "{\"path\":\"conf/pawl\"}");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\"}"), PAWL_OK);
    CHECK_STR(content(&k), "conf/other\n");
    CHECK(realpath(at(&k, ".local/state/pawl/p-1"), real) != NULL);
    snprintf(k.work, sizeof k.work, "%.79s", real);      /* a workspace in one of them */
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"pawl.db\"}"), PAWL_OK);
    CHECK(is_error(&k));
    home_back();
    kit_close(&k);
}

/* Each name in the folder of keys, and a hard link of one elsewhere. */
PAWL_TEST(test_P11_no_tool_opens_a_key)
{
    char real[256];
    kit k;

    home_open(&k);
    CHECK_INT(mkdir(at(&k, "conf/pawl/keys"), 0700), 0);
    file_make(k.work, "conf/pawl/keys/alice.key", "needle seed\n");
    file_make(k.work, "conf/pawl/approvers.json", "needle trust\n");
    CHECK_INT(symlink("conf/pawl/keys", at(&k, "soft")), 0);
    hard_link(&k, "conf/pawl/keys/alice.key", "hard");
    hard_link(&k, "conf/pawl/approvers.json", "hard2");
    DENIED("read_file", "{\"file_path\":\"conf/pawl/keys/alice.key\"}");
    DENIED("read_file", "{\"file_path\":\"soft/alice.key\"}");
    DENIED("read_file", "{\"file_path\":\"hard\"}");
    DENIED("edit_file", "{\"file_path\":\"hard2\",\"old_string\":\"needle\",\"new_string\":\"x\"}");
    DENIED("write_file", "{\"file_path\":\"conf/pawl/keys/mallory.key\",\"content\":\"x\"}");
    DENIED("write_file", "{\"file_path\":\"conf/pawl/approvers.json\",\"content\":\"{}\"}");
    DENIED("list_files", "{\"path\":\"conf/pawl/keys\"}");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"needle\",\"output_mode\":\"files\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "hard") == NULL && strstr(content(&k), "conf") == NULL);
    CHECK(realpath(at(&k, "conf/pawl/keys"), real) != NULL);
    snprintf(k.work, sizeof k.work, "%.79s", real);     /* a workspace in that folder */
    CHECK_INT(use(&k, "read_file", "{\"file_path\":\"alice.key\"}"), PAWL_OK);
    CHECK(is_error(&k) && strstr(content(&k), "seed") == NULL);
    home_back();
    kit_close(&k);
}

PAWL_TEST(test_P11_no_tool_opens_a_key_however_many_there_are)
{
    char name[64];
    kit k;

    home_open(&k);
    CHECK_INT(mkdir(at(&k, "conf/pawl/keys"), 0700), 0);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "conf/pawl/keys/k%d.key", i);
        file_make(k.work, name, "needle seed\n");
    }
    for (int i = 0; i < 200; i++) {
        char link[64], call[96];

        snprintf(name, sizeof name, "conf/pawl/keys/k%d.key", i);
        snprintf(link, sizeof link, "hard%d", i);
        hard_link(&k, name, link);
        snprintf(call, sizeof call, "{\"file_path\":\"%s\"}", link);
        DENIED("read_file", call);
    }
    home_back();
    kit_close(&k);
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

static void needs(sandbox_kind kind)
{
    if (sandbox_try(kind, NULL) != SANDBOX_WORKS)
        check_skip("no sandbox can be made here");
}

static const char *bash(kit *k, const char *command)
{
    buf input;

    buf_init(&input, NULL);
    buf_text(&input, "{\"command\":");
    canon_string(&input, command, strlen(command));
    buf_text(&input, "}");
    buf_char(&input, '\0');
    CHECK(!input.failed);
    CHECK_INT(use(k, "bash", input.data), PAWL_OK);
    buf_free(&input);
    return content(k) != NULL ? content(k) : "";
}

static void holds(const kit *k, const char *name, const char *text)
{
    char got[256] = "";
    FILE *f = fopen(at(k, name), "r");

    if (f == NULL)
        CHECK_FAIL("%s: it is not there", name);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    fclose(f);
    CHECK_STR(got, text);
}

/* Reads, copies, links, writes, removes, and puts another folder in the place of one above. */
static const char attack[] =
    "cd \"$1\" 2>/dev/null; cat runs.db runs.db-wal; cp runs.db /tmp/copy; ln runs.db other; mv runs.db moved; rm -f runs.db; echo x >runs.db; "
    "echo x >runs.db-journal; echo x >runs.db-wal; rm -f runs.db-journal; mv runs.db-journal j; cd ..; mv sub sub2; mv a a2; "
    "mkdir -p sub a/b && echo x >sub/runs.db; umount sub/runs.db; umount -l sub; unshare -Urm sh -c 'umount sub/runs.db; umount -l .; cat sub/runs.db'; "
    "cat /proc/*/root$PWD/sub/runs.db; for f in /proc/*/fd/*; do case $(readlink $f) in *.db*) cat $f;; esac; done";

PAWL_TEST(test_P9_no_command_reaches_a_store_in_its_workspace)
{
    char path[256], command[1200];
    reach_store store = { .path = path };
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    CHECK_INT(mkdir(at(&k, "a"), 0755), 0);
    CHECK_INT(mkdir(at(&k, "a/sub"), 0755), 0);
    file_make(k.work, "a/sub/runs.db", "needle store\n");
    file_make(k.work, "a/sub/runs.db-wal", "needle wal\n");
    file_make(k.work, "pawl.db", "needle other\n");
    snprintf(path, sizeof path, "%s", at(&k, "a/sub/runs.db"));
    reach_keep(&store);
    snprintf(command, sizeof command, "set -- a/sub; %s", attack);
    CHECK(strstr(bash(&k, command), "needle") == NULL);
    CHECK(strstr(bash(&k, "cat pawl.db; rm -f pawl.db; echo x >pawl.db; mv pawl.db old; grep -r needle . /tmp"), "needle") == NULL);
    holds(&k, "a/sub/runs.db", "needle store\n");
    holds(&k, "a/sub/runs.db-wal", "needle wal\n");
    holds(&k, "a/sub/runs.db-journal", "");
    holds(&k, "pawl.db", "needle other\n");
    CHECK(access(at(&k, "a2"), F_OK) != 0 && access(at(&k, "a/sub2"), F_OK) != 0);
    CHECK_STR(bash(&k, "echo fine >a/sub/x; mv a/sub/x a/sub/y; cat a/sub/y"), "fine\n");     /* what lies beside it is used as before */
    k.more = ",\"mode\":\"plan\"";
    if (sandbox_try(SANDBOX_READ_ONLY, NULL) == SANDBOX_WORKS)
        CHECK(strstr(bash(&k, "cat a/sub/runs.db pawl.db"), "needle") == NULL);
    reach_drop(&store);
    kit_close(&k);
}

/* The folder of stores, also while there is none. */
PAWL_TEST(test_P9_no_command_reaches_the_folders_of_pawl)
{
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    home_set(k.work);
    CHECK_INT(mkdir(at(&k, ".config"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".config/pawl"), 0755), 0);
    file_make(k.work, ".config/pawl/settings.json", "needle\n");
    (void)bash(&k, "mkdir -p .local/state/pawl/p-1; echo x >.local/state/pawl/p-1/pawl.db; mv .local .l; "
                   "mv .local/state .local/s; mkdir -p .local/state/pawl/q");
    CHECK(strstr(bash(&k, "cat .config/pawl/*; rm -rf .config/pawl; mv .config c; echo x >.config/pawl/settings.json"), "needle") == NULL);
    holds(&k, ".config/pawl/settings.json", "needle\n");
    CHECK(access(at(&k, ".local/state/pawl"), F_OK) == 0 && access(at(&k, ".local/state/pawl/p-1"), F_OK) != 0 &&
          access(at(&k, ".local/state/pawl/q"), F_OK) != 0 && access(at(&k, ".l"), F_OK) != 0 && access(at(&k, ".local/s"), F_OK) != 0);
    home_back();
    kit_close(&k);
}

PAWL_TEST(test_P11_no_command_reaches_a_key)
{
    kit k;

    needs(SANDBOX_WORKSPACE);
    kit_open(&k);
    home_set(k.work);
    CHECK_INT(mkdir(at(&k, ".config"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".config/pawl"), 0755), 0);
    CHECK_INT(mkdir(at(&k, ".config/pawl/keys"), 0700), 0);
    file_make(k.work, ".config/pawl/keys/alice.key", "needle\n");
    CHECK(strstr(bash(&k, "cat .config/pawl/keys/alice.key .config/pawl/keys/*; cp -r .config c; cat c/pawl/keys/*; ln .config/pawl/keys/alice.key k; cat k; "
                          "cat /proc/*/root$PWD/.config/pawl/keys/alice.key; rm -rf .config/pawl; mkdir -p .config/pawl/keys; "
                          "echo x >.config/pawl/keys/alice.key"), "needle") == NULL);
    holds(&k, ".config/pawl/keys/alice.key", "needle\n");
    home_back();
    kit_close(&k);
}

/* ---- the mark ------------------------------------------------------------------------------------------------------ */

static void self_copy(const kit *k)
{
    char self[256], command[800];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    CHECK(n > 0);
    self[n] = '\0';
    snprintf(command, sizeof command, "cp '%s' '%s/me' && cp '%s' '%s/other name'", self, k->work, self, k->work);
    CHECK_INT(system(command), 0);
}

PAWL_TEST(test_P9_a_command_of_a_model_cannot_take_its_mark_off)
{
    static const char *const ways[] = {
        "./me --marked", "'./other name' --marked", "env -i ./me --marked", "exec -a pawl ./me --marked", "(setsid ./me --marked)", "sh -c './me --marked & wait'",
        "ulimit -x unlimited 2>/dev/null; ./me --marked", "ulimit -Hx unlimited 2>/dev/null; ./me --marked", "./me --unmark", "prlimit --locks=unlimited ./me --marked",
        "unshare -Ur ./me --unmark", "unshare -Urm sh -c 'mount -t tmpfs none /run; ./me --unmark'", "unshare -Urpf ./me --unmark",
        "unshare -Ur chroot / ./me --unmark 2>/dev/null; cd work 2>/dev/null; ./me --marked", "setpriv --reuid 65534 ./me --unmark", "nsenter -t 1 -U ./me --unmark" };
    static const char *const modes[] = { NULL, ",\"mode\":\"plan\"", ",\"mode\":\"default\"" };
    const pawl_sandbox off = { .need = PAWL_SANDBOX_OFF };
    pawl_err err = {0};
    kit k;

    needs(SANDBOX_WORKSPACE);
    needs(SANDBOX_READ_ONLY);
    CHECK(!spawn_is_confined());
    kit_open(&k);
    self_copy(&k);
    if (strstr(bash(&k, ways[0]), "Sanitizer") != NULL) {
        kit_close(&k);
        check_skip("a sanitizer wants more memory than a command may have");
    }
    for (size_t m = 0; m < 3; m++) {
        k.more = modes[m];
        if (m == 2)
            CHECK_INT(pawl_tools_sandbox(k.set, &off, &err), PAWL_OK);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            const char *text = bash(&k, ways[i]);

            if (strstr(text, "free") != NULL || (i == 0 && strcmp(text, "confined\n") != 0))
                CHECK_FAIL("%s %s: %s", modes[m] != NULL ? modes[m] : "", ways[i], text);
        }
    }
    kit_close(&k);
}

int main(int argc, char **argv)
{
    const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

    if (argc == 2 && strcmp(argv[1], "--unmark") == 0)
        (void)setrlimit(RLIMIT_LOCKS, &all);
    if (argc == 2 && (strcmp(argv[1], "--unmark") == 0 || strcmp(argv[1], "--marked") == 0)) {
        puts(spawn_is_confined() ? "confined" : "free");
        return 0;
    }
    return check_main(argc, argv);
}
