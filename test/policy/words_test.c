/* words_test.c - P7 against the real bash: a word that the splitter calls certain is what bash makes of it, and no more than one word. */
#include "lib/check.h"
#include "shell/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMANDS = 20000, COMMANDS_ALL = 500000, COMMAND_BYTES = 128, PIECES = 9 };

static void command_made(char *out, size_t size)
{
    static const char letters[] = "{{}},,..aab1-_^@/~=:![]\\'\"$ \t*?%+#";
    static const char *const pieces[] = {
        "$'\\x41'", "''", "\"\"", "\\{", "{a}", "{a,b}", "{1..2}", "@{u}", "~+", "~", "a=", "$'a\\'b'", "'{'", "\\\\", "\\,", "$", "!", "{}", "'a b'",
        "\"}\"", "\\\n", "$'\\101\\n'",
    };
    size_t n = (size_t)snprintf(out, size, "p ");

    for (uint64_t i = 1 + check_rand_below(PIECES); i > 0; i--)
        if (check_rand_below(10) < 7)
            n += (size_t)snprintf(out + n, size - n, "%c", letters[check_rand_below(sizeof letters - 1)]);
        else
            n += (size_t)snprintf(out + n, size - n, "%s", pieces[check_rand_below(sizeof pieces / sizeof *pieces)]);
}

/* Its words as <a><b>; false: not all of them are certain. */
static bool told(const char *command, char *out, size_t size)
{
    static shell s;
    const shell_part *p = &s.parts[0];
    size_t n = 0;

    shell_split(&s, command, strlen(command));
    if (s.unsure != NULL || s.nparts != 1 || p->edits > 0 || p->alters || p->count == 0)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (s.words[p->first + i].flags != 0)
            return false;
    out[0] = '\0';
    for (uint32_t i = 1; i < p->count; i++) {
        const shell_word *w = &s.words[p->first + i];

        CHECK(n + w->size + 3 < size);
        out[n++] = '<';
        for (uint32_t k = 0; k < w->size; k++)
            out[n++] = w->text[k] == WORD_BLANK ? ' ' : w->text[k];
        out[n++] = '>';
        out[n] = '\0';
    }
    return true;
}

static int bash_run(const char *list, const char *out)
{
    static const char script[] =
        "command -v bash >/dev/null || exit 1; cd / && p() { for x; do printf '<%s>' \"$x\"; done; }; "
        "while IFS= read -r -d '' c; do eval \"$c\"; printf '\\1'; done <\"$1\" >\"$2\" 2>/dev/null";
    int status = 0;
    const pid_t pid = fork();

    if (pid == 0) {
        execlp("bash", "bash", "--norc", "-c", script, "bash", list, out, (char *)NULL);
        _exit(127);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static void name_file(char out[64], const char *what) { snprintf(out, 64, "/tmp/pawl_words.%ld.%s", (long)getpid(), what); }

PAWL_TEST(test_P7_a_certain_word_is_what_bash_makes_of_it)
{
    const size_t commands = check_run_all() ? COMMANDS_ALL : COMMANDS;
    static char (*all)[COMMAND_BYTES], got[1024], due[1024];
    char list[64], out[64];
    size_t n = 0, bad = 0;
    FILE *f;

    name_file(list, "list");
    name_file(out, "out");
    CHECK((all = malloc(commands * sizeof *all)) != NULL && (f = fopen(list, "w")) != NULL);
    for (size_t i = 0; i < commands; i++) {
        command_made(all[n], sizeof all[n]);
        if (!told(all[n], due, sizeof due))
            continue;
        CHECK(fwrite(all[n], 1, strlen(all[n]) + 1, f) == strlen(all[n]) + 1);
        n++;
    }
    CHECK(fclose(f) == 0);
    if (bash_run(list, out) != 0)
        check_skip("no bash");
    CHECK((f = fopen(out, "r")) != NULL);
    for (size_t i = 0; i < n; i++) {
        size_t size = 0;

        for (int c; (c = getc(f)) != EOF && c != '\1' && size + 1 < sizeof got; )
            got[size++] = (char)c;
        got[size] = '\0';
        CHECK(told(all[i], due, sizeof due));
        if (strcmp(got, due) != 0)
            bad += fprintf(stderr, "%s: %s, and bash makes it %s\n", all[i], due, got) > 0;
    }
    fclose(f);
    unlink(list);
    unlink(out);
    free(all);
    CHECK_INT(bad, 0);
    CHECK(n > commands / 10);
}
