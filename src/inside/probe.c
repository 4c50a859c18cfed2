/* probe.c - tries each wall of the sandbox from within, for `pawl doctor` and the tests.
 *
 * Called by inside.c after every restriction. A wall is shut when the attempt fails; each attempt is the real one and harms nothing. */
#define _GNU_SOURCE             /* syscall */
#include "inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static bool opens(const char *path, int flags)
{
    const int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool reads(const char *path) { return opens(path, O_RDONLY); }
static bool writes(const char *path) { return opens(path, O_WRONLY); }

static bool makes(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    close(fd);
    (void)unlink(path);
    return true;
}

static bool connects(const struct sockaddr *at, socklen_t size)
{
    const int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool good = fd >= 0 && connect(fd, at, size) == 0;

    if (fd >= 0)
        close(fd);
    return good;
}

static bool loopback(const char *port)
{
    const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = net16((uint16_t)number_of(port)),
                                    .sin_addr.s_addr = net32(INADDR_LOOPBACK) };

    return connects((const struct sockaddr *)&at, sizeof at);
}

static bool unix_path(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    return joined(at.sun_path, sizeof at.sun_path, path, "") && connects((const struct sockaddr *)&at, sizeof at);
}

static bool abstract(const char *name)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    return joined(at.sun_path + 1, sizeof at.sun_path - 1, name, "") &&
           connects((const struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static bool signals(const char *pid) { return kill((pid_t)number_of(pid), 0) == 0; }
static bool has_variable(const char *name) { return getenv(name) != NULL; }

/* In a child: a namespace that was made would change this process. */
static bool in_child(bool (*fn)(void))
{
    int status = 0;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(fn() ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool namespace_made(void) { return syscall(SYS_unshare, CLONE_NEWUSER) == 0; }
static bool traced(void) { return syscall(SYS_ptrace, 0, 0, NULL, NULL) == 0; }      /* PTRACE_TRACEME */

static bool keyring(void)
{
    errno = 0;
    return syscall(SYS_keyctl, 0, -3, 1) != -1 || errno == EINVAL;      /* KEYCTL_GET_KEYRING_ID, of the session */
}

static bool ring(void)
{
#ifdef SYS_io_uring_setup
    errno = 0;
    return syscall(SYS_io_uring_setup, 0, NULL) != -1 || errno == EFAULT || errno == EINVAL;
#else
    return false;
#endif
}

/* More processes than the limit, all of which wait. */
static bool processes(const char *limit)
{
    const long most = (long)number_of(limit) + 8;
    bool all = true;
    int gate[2];
    pid_t pid;

    if (pipe(gate) != 0)
        return false;
    for (long i = 0; all && i < most; i++) {
        if ((pid = fork()) == 0) {
            char c;

            close(gate[1]);
            _exit((int)read(gate[0], &c, 1));
        }
        all = pid > 0;
    }
    close(gate[0]);
    close(gate[1]);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    return all;
}

static bool memory(const char *limit)
{
    const size_t size = (size_t)number_of(limit) + (1U << 20);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return false;
    (void)munmap(p, size);
    return true;
}

static bool core_file(void)
{
    struct rlimit most;

    return getrlimit(RLIMIT_CORE, &most) != 0 || most.rlim_max != 0;
}

int probe_walls(char *const *with, int n)
{
    static const struct { const char *name; bool (*with)(const char *); } given[] = {
        { "read", reads }, { "write", writes }, { "make", makes }, { "pipe", writes }, { "loopback", loopback }, { "socket", unix_path },
        { "abstract", abstract }, { "signal", signals }, { "variable", has_variable }, { "processes", processes }, { "memory", memory },
    };
    static const struct { const char *name; bool (*alone)(void); } own[] = {
        { "namespace", namespace_made }, { "ptrace", traced }, { "keyring", keyring }, { "io_uring", ring }, { "core", core_file },
    };
    bool said = true;

    for (int k = 0; k + 1 < n; k += 2)
        for (size_t i = 0; i < sizeof given / sizeof *given; i++)
            if (strcmp(with[k], given[i].name) == 0)
                said = line_write(STDOUT_FILENO, with[k], " ", given[i].with(with[k + 1]) ? "open" : "shut") && said;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        said = line_write(STDOUT_FILENO, own[i].name, " ", in_child(own[i].alone) ? "open" : "shut") && said;
    return said ? 0 : CANNOT;
}
