/* inside.c - the last step into the sandbox of plan mode. Every file system there is mounted read-only, but a named pipe or a socket in one of them still
 * leads to a process outside. This program forbids itself and its children to open anything for writing outside the given folders and devices
 * (Landlock), and every socket that leads out (seccomp); then it runs PROGRAM.
 *
 *   inside [WHERE]... -- PROGRAM [ARGUMENT]...
 *
 * A program of its own, for two reasons: after these restrictions bubblewrap could not mount anything, and a process that uses the library may have
 * many threads. The library contains the program as bytes (sandbox.c). */
#define _GNU_SOURCE             /* O_PATH, syscall */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#if defined __has_include
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#endif

enum { CANNOT = 125, NO_PROGRAM = 127 };     /* exit codes when PROGRAM was not run */

static int cannot(const char *what)
{
    (void)dprintf(STDERR_FILENO, "%s\n", what);
    return CANNOT;
}

/* ---- opening for writing --------------------------------------------------------------------------------- */

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

static int no_writing(char **where, int n)
{
    struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE };
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int rules;

    if (version < 1)
        return cannot("a pipe could be written to, for this kernel has no Landlock, or it is switched off");
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

static int no_writing(char **where, int n)
{
    (void)where;
    (void)n;
    return cannot("a pipe could be written to, for Pawl was built where linux/landlock.h is not");
}

#endif

/* ---- sockets ------------------------------------------------------------------------------------------------ */

#if defined __x86_64__ && !defined __ILP32__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
#define ARCH AUDIT_ARCH_PPC64LE
#elif defined __s390x__
#define ARCH AUDIT_ARCH_S390X
#elif defined __arm__ && defined __ARM_EABI__
#define ARCH AUDIT_ARCH_ARM
#elif defined __i386__
#define ARCH AUDIT_ARCH_I386
#endif

#ifdef ARCH

#define NUMBER_ONLY 0x40000000u             /* set in the system call numbers of x32 */
#define TYPE_BITS 0xfu                      /* the type of a socket; the bits above are flags */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOW 4
#else
#define LOW 0
#endif
#define LOAD(at) { BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(at) }
#define LOAD_ARG(n) LOAD(offsetof(struct seccomp_data, args) + 8 * (n) + LOW)
#define GIVE(what) { BPF_RET | BPF_K, 0, 0, (what) }
#define FAIL(error) GIVE(SECCOMP_RET_ERRNO | (error))
#define LET GIVE(SECCOMP_RET_ALLOW)
#define UNLESS(is, skip) { BPF_JMP | BPF_JEQ | BPF_K, 0, (skip), (uint32_t)(is) }      /* else skip so many instructions */
#define IF(is) UNLESS(is, 1)

/* Allowed sockets: those of the sandbox's own network, which is empty, and connected pairs; not datagram pairs, which can send to any address.
 * io_uring is forbidden, since it makes sockets that no filter sees. */
static const struct sock_filter filter[] = {
    LOAD(offsetof(struct seccomp_data, arch)),
    { BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH },
    GIVE(SECCOMP_RET_KILL_PROCESS),         /* another architecture, with other system call numbers */
    LOAD(offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
    { BPF_JMP | BPF_JGE | BPF_K, 0, 1, NUMBER_ONLY },
    FAIL(ENOSYS),
#endif
#ifdef SYS_socketcall
    IF(SYS_socketcall), FAIL(ENOSYS),
#endif
#ifdef SYS_io_uring_setup
    IF(SYS_io_uring_setup), FAIL(ENOSYS),
#endif
    UNLESS(SYS_socket, 10),
    LOAD_ARG(0),
    IF(AF_INET), LET,
    IF(AF_INET6), LET,
    UNLESS(AF_NETLINK, 3),
    LOAD_ARG(2),
    IF(NETLINK_ROUTE), LET,
    FAIL(EACCES),
    UNLESS(SYS_socketpair, 7),
    LOAD_ARG(1),
    { BPF_ALU | BPF_AND | BPF_K, 0, 0, TYPE_BITS },
    IF(SOCK_STREAM), LET,
    IF(SOCK_SEQPACKET), LET,
    FAIL(EACCES),
    LET,
};

static int no_sockets(void)
{
    const struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = (struct sock_filter *)(uintptr_t)filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        return cannot("a socket could be written to, for this kernel takes no seccomp filter");
    return 0;
}

#else

static int no_sockets(void)
{
    return cannot("a socket could be written to, for there is no filter for this processor");
}

#endif

/* ---- main ------------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    int n = 1, code;

    while (n < argc && strcmp(argv[n], "--") != 0)
        n++;
    if (n + 1 >= argc)
        return cannot("usage: inside [WHERE]... -- PROGRAM [ARGUMENT]...");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cannot("a pipe could be written to, for this kernel lets a program gain rights");
    if ((code = no_writing(argv + 1, n - 1)) != 0 || (code = no_sockets()) != 0)
        return code;
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 3, ~0u, 0);      /* among them this program's own file */
#endif
    execvp(argv[n + 1], argv + n + 1);
    (void)dprintf(STDERR_FILENO, "%s: %s\n", argv[n + 1], strerror(errno));
    return NO_PROGRAM;
}
