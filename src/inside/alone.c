/* alone.c - the functions of the C library that `inside` uses, for x86-64.
 *
 * Each command in a sandbox starts `inside`. With a C library that takes three times as long: the dynamic loader, and questions about the processor,
 * each of which is a way out of a virtual machine. Where this file is not for the processor, the program is linked with the C library (CMakeLists.txt).
 *
 * Invariants:
 *   N1  a function does what its namesake does, as far as `inside` uses it; one that it does not use is not here.
 *   N2  one thread, so errno is a plain variable, and no memory is allocated but for the environment. */
#define _GNU_SOURCE             /* the declarations of all that is defined here */
#include "inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { MORE_VARIABLES = 8, VARIABLES_BYTES = 512, FILE_SIZE = 4096 };     /* what proxy.c adds; PATH_MAX */

static int number;
static char **variables;

/* ---- system calls ---------------------------------------------------------------------------------------------------- */

static long enter(long call, long a, long b, long c, long d, long e, long f)
{
    register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
    long out;

    __asm__ volatile("syscall" : "=a"(out) : "0"(call), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
    return out;
}

int *__errno_location(void) { return &number; }

static long given(long out)
{
    if (out >= 0 || out < -4095)
        return out;
    number = (int)-out;
    return -1;
}

#define CALL3(call, a, b, c) given(enter((call), (long)(a), (long)(b), (long)(c), 0, 0, 0))

long syscall(long call, ...)
{
    va_list ap;
    long arg[6];

    va_start(ap, call);
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(ap, long);
    va_end(ap);
    return given(enter(call, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]));
}

int prctl(int option, ...)
{
    va_list ap;
    long arg[4];

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        arg[i] = va_arg(ap, long);
    va_end(ap);
    return (int)given(enter(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3], 0));
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(ap, int) : 0;
    va_end(ap);
    return (int)CALL3(SYS_open, path, flags, mode);
}

int close(int fd) { return (int)CALL3(SYS_close, fd, 0, 0); }
int fstat(int fd, struct stat *st) { return (int)CALL3(SYS_fstat, fd, st, 0); }
int unlink(const char *path) { return (int)CALL3(SYS_unlink, path, 0, 0); }
int pipe(int fd[2]) { return (int)CALL3(SYS_pipe, fd, 0, 0); }
ssize_t read(int fd, void *out, size_t n) { return CALL3(SYS_read, fd, out, n); }
ssize_t writev(int fd, const struct iovec *all, int n) { return CALL3(SYS_writev, fd, all, n); }

/* <sys/socket.h> is not included: it declares addresses as a union of all their types. */
int socket(int family, int type, int protocol) { return (int)CALL3(SYS_socket, family, type, protocol); }
int bind(int fd, const void *at, unsigned size) { return (int)CALL3(SYS_bind, fd, at, size); }
int connect(int fd, const void *at, unsigned size) { return (int)CALL3(SYS_connect, fd, at, size); }
int listen(int fd, int n) { return (int)CALL3(SYS_listen, fd, n, 0); }
int getsockname(int fd, void *at, unsigned *size) { return (int)CALL3(SYS_getsockname, fd, at, size); }
ssize_t sendmsg(int fd, const void *m, int flags) { return CALL3(SYS_sendmsg, fd, m, flags); }

int getrlimit(__rlimit_resource_t which, struct rlimit *out) { return (int)CALL3(SYS_getrlimit, which, out, 0); }
int setrlimit(__rlimit_resource_t which, const struct rlimit *to) { return (int)CALL3(SYS_setrlimit, which, to, 0); }
pid_t fork(void) { return (pid_t)CALL3(SYS_fork, 0, 0, 0); }
pid_t waitpid(pid_t pid, int *status, int options) { return (pid_t)CALL3(SYS_wait4, pid, status, options); }
int kill(pid_t pid, int sig) { return (int)CALL3(SYS_kill, pid, sig, 0); }
int munmap(void *at, size_t size) { return (int)CALL3(SYS_munmap, at, size, 0); }

void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t from)
{
    return (void *)given(enter(SYS_mmap, (long)at, (long)size, rights, flags, fd, from));
}

_Noreturn void _exit(int code)
{
    for (;;)
        (void)enter(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

/* ---- bytes and texts --------------------------------------------------------------------------------------------------- */

/* The compiler, too, calls these two: an order to the processor, because of a loop it would make a call of the function itself. */
void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    void *at = to;

    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    void *at = to;

    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
    return to;
}

size_t strlen(const char *text)
{
    const volatile char *at = text;

    while (*at != '\0')
        at++;
    return (size_t)(at - text);
}

int strcmp(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

/* Of execve(): in the words of the C library. */
char *strerror(int why)
{
    static const struct { int why; const char *text; } all[] = {
        { ENOENT, "No such file or directory" }, { EACCES, "Permission denied" },      { EPERM, "Operation not permitted" },
        { ENOTDIR, "Not a directory" },          { ENOEXEC, "Exec format error" },      { E2BIG, "Argument list too long" },
        { ENOMEM, "Cannot allocate memory" },    { EAGAIN, "Resource temporarily unavailable" },
        { ETXTBSY, "Text file busy" },           { EISDIR, "Is a directory" },          { ENAMETOOLONG, "File name too long" },
        { ELOOP, "Too many levels of symbolic links" },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].why == why)
            return (char *)(uintptr_t)all[i].text;
    return (char *)(uintptr_t)"Unknown error";
}

/* ---- the environment ---------------------------------------------------------------------------------------------------- */

void alone_variables(char **all) { variables = all; }

/* The value after "NAME="; NULL: another variable. */
static char *value_of(char *variable, const char *name)
{
    for (; *name != '\0'; name++, variable++)
        if (*variable != *name)
            return NULL;
    return *variable == '=' ? variable + 1 : NULL;
}

char *getenv(const char *name)
{
    char *value = NULL;

    for (size_t i = 0; variables[i] != NULL && value == NULL; i++)
        value = value_of(variables[i], name);
    return value;
}

/* Always replaces: nobody asks for anything else. */
int setenv(const char *name, const char *value, int replace)
{
    static char room[VARIABLES_BYTES];
    static size_t used, added;
    char *entry = room + used, **copy;
    size_t n = 0, at = 0;

    (void)replace;
    if (used + strlen(name) + strlen(value) + 2 > sizeof room || added == MORE_VARIABLES)
        return -1;
    while (variables[n] != NULL)
        n++;
    if (added == 0) {
        copy = mmap(NULL, (n + MORE_VARIABLES + 1) * sizeof *copy, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED)
            return -1;
        memcpy(copy, variables, (n + 1) * sizeof *copy);
        variables = copy;
    }
    memcpy(entry, name, strlen(name));
    entry[strlen(name)] = '=';
    memcpy(entry + strlen(name) + 1, value, strlen(value) + 1);
    used += strlen(entry) + 1;
    added++;
    while (at < n && value_of(variables[at], name) == NULL)
        at++;
    variables[at] = entry;
    if (at == n)
        variables[n + 1] = NULL;
    return 0;
}

/* ---- the command --------------------------------------------------------------------------------------------------------- */

/* `n`: the number of arguments, with the name. */
static void run_by_sh(const char *file, char *const argv[], size_t n)
{
    char *words[n + 2], sh[] = "/bin/sh";

    words[0] = sh;
    words[1] = (char *)(uintptr_t)file;
    for (size_t i = 1; i <= n; i++)
        words[i + 1] = argv[i];
    (void)CALL3(SYS_execve, sh, words, variables);
}

/* A file without a known format is run by sh. */
static void run(const char *file, char *const argv[])
{
    size_t n = 0;

    (void)CALL3(SYS_execve, file, argv, variables);
    while (argv[n] != NULL)
        n++;
    if (number == ENOEXEC)
        run_by_sh(file, argv, n);
}

int execvp(const char *name, char *const argv[])
{
    const char *at = getenv("PATH");
    char file[FILE_SIZE];
    bool slash = false, refused = false;

    for (const char *c = name; *c != '\0'; c++)
        slash = slash || *c == '/';
    if (slash || *name == '\0') {
        number = ENOENT;
        if (slash)
            run(name, argv);
        return -1;
    }
    for (at = at != NULL ? at : "/bin:/usr/bin"; at != NULL;) {
        size_t n = 0;

        while (at[n] != '\0' && at[n] != ':')
            n++;
        if (n + strlen(name) + 2 <= sizeof file) {      /* an empty entry is the working folder */
            memcpy(file, at, n);
            file[n] = '/';
            memcpy(file + n + (n > 0), name, strlen(name) + 1);
            run(file, argv);
            refused = refused || number == EACCES;
            if (number != EACCES && number != ENOENT && number != ENOTDIR && number != ESTALE && number != ENODEV && number != ETIMEDOUT)
                return -1;
        }
        at = at[n] == ':' ? at + n + 1 : NULL;
    }
    number = refused ? EACCES : ENOENT;
    return -1;
}
