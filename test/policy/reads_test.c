/* reads_test.c - P7 by examples: every line of test/policy/corpus/reads.txt, a command and whether it runs unasked, for it only reads. */
#include "policy/policing.h"
#include "shell/shell.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 1024, COMMANDS_MIN = 1200 };

/* %n is a new line, %t a tab. Not in formats: %n and %t of a command stand behind a quote. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '%' && (p[1] == 'n' || p[1] == 't'))
            *to++ = *++p == 'n' ? '\n' : '\t';
        else if (*p == '%' && p[1] == '%')
            *to++ = *p++;
        else
            *to++ = *p;
    }
    *to = '\0';
}

static bool wrong(const pawl_policy *p, const char *command, bool due, const char *where)
{
    static shell s;
    pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC, .mode = PAWL_MODE_DEFAULT };
    pawl_decision d;
    bool reads;
    arena a;

    arena_init(&a, NULL, 1024);
    q.args = value_pack(&a, NULL, "{s:s}", "command", command);
    CHECK(q.args != NULL);
    pawl_decide(p, &q, &d);
    reads = shell_only_reads(&s, command, strlen(command));
    arena_free(&a);
    if (d.behavior == (due ? PAWL_BEHAVIOR_ALLOW : PAWL_BEHAVIOR_ASK) && (reads || !due))
        return false;
    fprintf(stderr, "%s: %s: %s, and where it is run %s: %s\n", where, command, pawl_behavior_name(d.behavior),
            reads ? "it only reads" : "it may write", d.reason);
    return true;
}

PAWL_TEST(test_P7_what_only_reads_and_what_is_asked)
{
    static const char path[] = PAWL_SOURCE_DIR "/test/policy/corpus/reads.txt", rules[] = "{\"cwd\":\"/w\"}";
    pawl_policy *p = pawl_policy_read(NULL, rules, sizeof rules - 1, NULL);
    size_t commands = 0, asked = 0, bad = 0, number = 0;
    char line[LINE_BYTES], where[64];
    FILE *f = fopen(path, "r");

    CHECK(f != NULL && p != NULL);
    while (fgets(line, sizeof line, f) != NULL) {
        bool due = strncmp(line, "allow ", 6) == 0;
        char *command = due ? line + 6 : line + 4;

        snprintf(where, sizeof where, "reads.txt:%zu", ++number);
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (!due && strncmp(line, "ask ", 4) != 0)
            CHECK_FAIL("%s: a line is DECISION COMMAND", where);
        unescape(command);
        bad += wrong(p, command, due, where);
        commands++;
        asked += !due;
    }
    fclose(f);
    pawl_policy_free(p);
    CHECK_INT(bad, 0);
    CHECK(commands >= COMMANDS_MIN && asked > COMMANDS_MIN / 3 && commands - asked > COMMANDS_MIN / 3);
}

/* The environment of commands that only read is a list of NAME=VALUE and of NAME. */
PAWL_TEST(test_P7_the_environment_of_reading)
{
    bool function = false, count = false;
    size_t settings = 0;

    for (const char *const *e = shell_reading_env(); *e != NULL; e++) {
        function = function || strncmp(*e, "BASH_FUNC_git%%=() {", 20) == 0;
        settings += strncmp(*e, "GIT_CONFIG_KEY_", 15) == 0;
        count = count || (strncmp(*e, "GIT_CONFIG_COUNT=", 17) == 0 && strtol(*e + 17, NULL, 10) == 15);
        CHECK(**e != '=' && **e != '\0');
    }
    CHECK(function && count);
    CHECK_INT(settings, 15);
}
