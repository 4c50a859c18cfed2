/* landlock.c - nothing is opened for writing outside of the given folders.
 *
 * Called by inside.c. A read-only mount does not stop writing to a named pipe in it; Landlock does. */
#define _GNU_SOURCE             /* O_PATH, syscall */
#include "inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#endif

#ifdef LANDLOCK_ACCESS_FS_WRITE_FILE

#define REFER (UINT64_C(1) << 13)           /* LANDLOCK_ACCESS_FS_REFER, moving between folders: known from ABI 2 on */
#ifndef SYS_landlock_create_ruleset         /* the same number on every architecture */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* A path that does not exist needs no rule. */
static bool lets(int rules, const char *where, uint64_t handled)
{
    struct landlock_path_beneath_attr beneath = { .allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE };
    struct stat st;
    bool good;

    if ((beneath.parent_fd = open(where, O_PATH | O_CLOEXEC)) < 0)
        return errno == ENOENT;
    good = fstat(beneath.parent_fd, &st) == 0;
    if (good && S_ISDIR(st.st_mode))
        beneath.allowed_access = handled;
    good = good && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
    close(beneath.parent_fd);
    return good;
}

int restrict_writing(char *const *where, int n, bool required)
{
    struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE };
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int rules;

    if (version < 1)
        return required ? cannot("a pipe could be written to, for this kernel has no Landlock, or it is switched off") : 0;
    if (version > 1)
        attr.handled_access_fs |= REFER;
    if ((rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0)) < 0)
        return cannot("a pipe could be written to, for Landlock takes no rules");
    for (int i = 0; i < n; i++)
        if (!lets(rules, where[i], attr.handled_access_fs))
            return cannot("a pipe could be written to, for Landlock does not take a rule");
    if (syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        return cannot("a pipe could be written to, for Landlock does not take its rules");
    close(rules);
    return 0;
}

#else

int restrict_writing(char *const *where, int n, bool required)
{
    (void)where;
    (void)n;
    return required ? cannot("a pipe could be written to, for Pawl was built where linux/landlock.h is not") : 0;
}

#endif
