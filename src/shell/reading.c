/* reading.c - whether a whole command line only reads, and the environment in which it is run then (P7).
 *
 * Owns nothing; any thread. Called by src/policy, and by src/effect where it runs commands.
 * Invariant: each verb of git in readers.c runs nothing in this environment, whatever the configuration and the attributes of a repository say. */
#include "base/broken.h"
#include "shell/readers.h"

/* ---- a command line ------------------------------------------------------------------------------------------ */

bool shell_sink(const shell_word *w)
{
    return word_sure(w) && text_listed(w->text, w->size, " /dev/null /dev/stdout /dev/stderr /dev/fd/1 /dev/fd/2 ");
}

bool shell_only_reads(shell *s, const char *text, size_t size)
{
    bool moved = false;

    if (BROKEN(BROKEN_READS))
        return true;
    shell_split(s, text, size);
    if (s->unsure != NULL || s->nparts == 0)
        return false;
    for (size_t i = 0; i < s->nedits; i++)
        if (!s->edits[i].reads && !shell_sink(&s->edits[i].to))
            return false;
    for (size_t i = 0; i < s->nparts; i++) {
        const shell_part *p = &s->parts[i];
        const shell_word *w = &s->words[p->first];

        if (p->alters || (p->count > 0 && p->wrapped && word_is(w, "cd")))
            return false;
        if (p->count == 0)
            continue;
        if (word_is(w, "cd")) {
            if (p->count != 2 || !word_sure(&w[1]))
                return false;
            moved = true;
        } else if ((moved && word_is(w, "git")) || !program_only_reads(s, p)) {
            return false;
        }
    }
    return true;
}

/* ---- the environment ------------------------------------------------------------------------------------------ */

/* In bash, where git is called by its name: the names of filters are those of the repository's own configuration, so they are switched off by
 * asking it for them; external programs that show differences, and submodules, by options. A pipe, for a process substitution needs /dev/fd. */
#define GIT_FUNCTION "BASH_FUNC_git%%=() {\n" \
    "while [[ ${1-} == --no-pager || ${1-} == -P || ${1-} == --no-optional-locks ]]; do shift; done\n" \
    "{ command git config -z --name-only --get-regexp '^filter[.]' 2>/dev/null | {\n" \
    "n=$GIT_CONFIG_COUNT\n" \
    "while IFS= read -r -d '' key; do\n" \
    "export \"GIT_CONFIG_KEY_$n=$key\" \"GIT_CONFIG_VALUE_$n=\"\n" \
    "n=$((n + 1))\n" \
    "done\n" \
    "export GIT_CONFIG_COUNT=$n\n" \
    "verb=${1-}\n" \
    "shift\n" \
    "case $verb in\n" \
    "status) set -- --ignore-submodules=all \"$@\" ;;\n" \
    "diff | diff-files | diff-index | diff-tree | log | show) set -- --no-ext-diff --no-textconv --ignore-submodules=all \"$@\" ;;\n" \
    "blame | grep) set -- --no-textconv \"$@\" ;;\n" \
    "esac\n" \
    "exec git \"$verb\" \"$@\" <&3\n" \
    "} } 3<&0\n" \
    "}"

#define GIT_SETTING(i, key, value) "GIT_CONFIG_KEY_" #i "=" key, "GIT_CONFIG_VALUE_" #i "=" value

const char *const *shell_reading_env(void)
{
    static const char *const entries[] = {
        "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE", "POSIXLY_CORRECT", "_POSIX2_VERSION",
        "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "MAGIC", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH",
        "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
        "GIT_CONFIG_COUNT=15",
        GIT_SETTING(0, "core.fsmonitor", "false"),
        GIT_SETTING(1, "core.hooksPath", "/dev/null"),
        GIT_SETTING(2, "core.pager", "cat"),
        GIT_SETTING(3, "diff.autoRefreshIndex", "false"),
        GIT_SETTING(4, "diff.submodule", "short"),
        GIT_SETTING(5, "status.submoduleSummary", "false"),
        GIT_SETTING(6, "submodule.recurse", "false"),
        GIT_SETTING(7, "log.showSignature", "false"),
        GIT_SETTING(8, "log.diffMerges", "separate"),
        GIT_SETTING(9, "format.pretty", "medium"),
        GIT_SETTING(10, "gpg.program", "false"),
        GIT_SETTING(11, "gpg.openpgp.program", "false"),
        GIT_SETTING(12, "gpg.x509.program", "false"),
        GIT_SETTING(13, "gpg.ssh.program", "false"),
        GIT_SETTING(14, "safe.bareRepository", "explicit"),
        GIT_FUNCTION,
        NULL,
    };

    return entries;
}
