/* sandbox_test.c - out of the sandbox of plan mode no road leads: not into a pipe, and not to a socket.
 *
 * This program is its own client: `sandbox_test --knock` tries each road, and says which are open. */
#define _GNU_SOURCE             /* syscall */
#include "effect/hand.h"
#include "effect/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/vm_sockets.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- knocking ------------------------------------------------------------------------------------------------ */

static void tells(const char *road, bool open) { printf("%s %s\n", road, open ? "open" : "shut"); }

static bool writes(const char *path, int flags)
{
    const int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    const bool good = fd >= 0 && write(fd, "x", 1) == 1;

    if (fd >= 0)
        close(fd);
    return good;
}

static struct sockaddr_un named(const char *name)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    snprintf(at.sun_path, sizeof at.sun_path, "%s", name);
    return at;
}

static bool connects(const char *name, int type)
{
    const struct sockaddr_un at = named(name);
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    const bool good = fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0;

    if (fd >= 0)
        close(fd);
    return good;
}

/* From one of a pair, which is somebody's socket like any other. */
static bool sends(const char *name, int type)
{
    const struct sockaddr_un at = named(name);
    int fd[2];
    bool good;

    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fd) != 0)
        return false;
    good = sendto(fd[0], "x", 1, 0, (const struct sockaddr *)&at, sizeof at) == 1;
    close(fd[0]);
    close(fd[1]);
    return good;
}

static bool pairs(int type)
{
    char c = 0;
    int fd[2];
    bool good;

    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fd) != 0)
        return false;
    good = write(fd[0], "x", 1) == 1 && read(fd[1], &c, 1) == 1 && c == 'x';
    close(fd[0]);
    close(fd[1]);
    return good;
}

static bool makes(int domain, int type, int protocol)
{
    const int fd = socket(domain, type | SOCK_CLOEXEC, protocol);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool own_pipe(void)
{
    const char *folder = getenv("TMPDIR");
    char path[200];
    bool good;

    snprintf(path, sizeof path, "%.100s/pawl-own-%ld", folder != NULL ? folder : "/tmp", (long)getpid());
    good = mkfifo(path, 0600) == 0 && writes(path, O_RDWR);
    unlink(path);
    return good;
}

static int knock(void)
{
    tells("pipe", writes("pipe", O_WRONLY));
    tells("pipe both ways", writes("pipe", O_RDWR));
    tells("pipe by a link", writes("way", O_WRONLY));
    tells("stream", connects("stream", SOCK_STREAM));
    tells("datagram", connects("datagram", SOCK_DGRAM));
    tells("datagram of a pair", sends("datagram", SOCK_DGRAM));
    tells("raw of a pair", sends("datagram", SOCK_RAW));
    puts("--");
    tells("file", writes("file", O_WRONLY));
    puts("--");
    tells("null", writes("/dev/null", O_WRONLY));
    tells("pipe of its own", own_pipe());
    tells("pair", pairs(SOCK_STREAM) && pairs(SOCK_SEQPACKET));
    tells("inet", makes(AF_INET, SOCK_STREAM, 0) && makes(AF_NETLINK, SOCK_RAW, 0));
    puts("--");
    tells("vsock", makes(AF_VSOCK, SOCK_STREAM, 0));
    tells("netlink", makes(AF_NETLINK, SOCK_RAW, 15));
#ifdef SYS_io_uring_setup
    errno = 0;
    tells("io_uring", syscall(SYS_io_uring_setup, 0, NULL) == -1 && errno != ENOSYS);
#else
    tells("io_uring", false);
#endif
    (void)fflush(stdout);
    _exit(0);
}

/* The listener of an abstract name is in no folder: only another network keeps it away. */
static bool connects_abstract(const char *name)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good;

    snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "%s", name);
    good = fd >= 0 && connect(fd, (const struct sockaddr *)&at, size) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool refuses(long call, long a, long b, long c)
{
    errno = 0;
    return syscall(call, a, b, c, 0L, 0L) == -1 && errno == EPERM;
}

static bool is_limited(__rlimit_resource_t which, rlim_t most)
{
    struct rlimit now;

    return getrlimit(which, &now) == 0 && now.rlim_max <= most;
}

/* A call that the kernel itself would not do so, for its arguments make no sense, is refused by the filter alone. */
static int walls(const char *name)
{
    tells("abstract", connects_abstract(name));
    puts("--");
    tells("keyctl", !refuses(SYS_keyctl, 12345, 0, 0));
    tells("add_key", !refuses(SYS_add_key, 0, 0, 0));
    tells("namespace", !refuses(SYS_unshare, 0, 0, 0));
    tells("ptrace", !refuses(SYS_ptrace, 12345, 0, 0));
    tells("core", !is_limited(RLIMIT_CORE, 0));
    tells("processes", !is_limited(RLIMIT_NPROC, PAWL_SANDBOX_PROCESSES));
    tells("memory", !is_limited(RLIMIT_DATA, PAWL_SANDBOX_MEMORY_BYTES));
    tells("file", !is_limited(RLIMIT_FSIZE, PAWL_SANDBOX_FILE_BYTES));
    tells("files", !is_limited(RLIMIT_NOFILE, PAWL_SANDBOX_FILES));
    (void)fflush(stdout);
    _exit(0);
}

#define OUTSIDE(is) "pipe " is "\npipe both ways " is "\npipe by a link " is "\nstream " is "\ndatagram " is "\ndatagram of a pair " is "\nraw of a pair " is "\n"
#define OWN "null open\npipe of its own open\npair open\ninet open\n"
#define SHUT OUTSIDE("shut") "--\nfile shut\n--\n" OWN "--\nvsock shut\nnetlink shut\nio_uring shut\n"

/* ---- behind the doors -------------------------------------------------------------------------------------------- */

typedef struct house { char path[200]; int pipe, stream, datagram, back; } house;

static int socket_at(const char *name, int type)
{
    const struct sockaddr_un at = named(name);
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    CHECK(fd >= 0);
    CHECK_INT(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void copy_self(const char *to)
{
    char chunk[65536];
    FILE *in = fopen("/proc/self/exe", "r"), *out = fopen(to, "w");
    size_t n;

    CHECK(in != NULL && out != NULL);
    while ((n = fread(chunk, 1, sizeof chunk, in)) > 0)
        CHECK(fwrite(chunk, 1, n, out) == n);
    CHECK_INT(fclose(in), 0);
    CHECK_INT(fclose(out), 0);
    CHECK_INT(chmod(to, 0755), 0);
}

/* A folder in `in`, which is then the current one; false: nothing can be made there. */
static bool house_open(house *h, const char *in)
{
    char path[100];

    snprintf(path, sizeof path, "%s/pawl-house-XXXXXX", in);
    if (mkdtemp(path) == NULL)
        return false;
    snprintf(h->path, sizeof h->path, "%s", path);
    CHECK((h->back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
    CHECK_INT(chdir(path), 0);
    CHECK_INT(mkfifo("pipe", 0600), 0);
    CHECK_INT(symlink("pipe", "way"), 0);
    CHECK((h->pipe = open("pipe", O_RDWR | O_NONBLOCK | O_CLOEXEC)) >= 0);
    h->stream = socket_at("stream", SOCK_STREAM);
    CHECK_INT(listen(h->stream, 10), 0);
    h->datagram = socket_at("datagram", SOCK_DGRAM);
    CHECK_INT(close(open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    copy_self("knocks");
    return true;
}

static int house_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void house_close(house *h)
{
    CHECK_INT(fchdir(h->back), 0);
    close(h->back);
    close(h->pipe);
    close(h->stream);
    close(h->datagram);
    CHECK_INT(nftw(h->path, house_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* How often somebody came, by any road. */
static int visits(const house *h)
{
    char c;
    int n = 0, fd;

    while (read(h->pipe, &c, 1) == 1)
        n++;
    while (recv(h->datagram, &c, 1, 0) >= 0)
        n++;
    while ((fd = accept(h->stream, NULL, NULL)) >= 0) {
        close(fd);
        n++;
    }
    return n;
}

static pawl_code in_plan(const pawl_job *job, pawl_reply *r, void *arg)
{
    (void)arg;
    return sandbox_command(job, r, (effect_codes){ 0 });
}

static void knocks(hand *h, pawl_handler_fn *fn, const char *cwd)
{
    char args[600];

    snprintf(args, sizeof args, "{\"run\":[\"./knocks\",\"--knock\"],\"cwd\":\"%s\",\"check\":true}", cwd);
    CHECK_INT(hand_over(h, fn, args), PAWL_OK);
}

static void needs_plan(void)
{
    static char why[SANDBOX_SAID_BYTES];

    const sandbox_is is = sandbox_try(SANDBOX_READ_ONLY, why);

    if (is != SANDBOX_WORKS)
        check_skip(is == SANDBOX_MISSING ? "bwrap is not here" : why);
}

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#endif

/* This program is run in the sandbox. A sanitizer's shadow takes terabytes of address space, and the limit of memory is 8 GiB. */
static void needs_own_program(void)
{
    needs_plan();
#ifdef SANITIZED
    check_skip("a program with a sanitizer has no room within the limit of memory");
#endif
}

/* ---- the tests -------------------------------------------------------------------------------------------------- */

static void all_shut(const char *in)
{
    char way[250];
    const char *text;
    house at;
    hand h;

    if (!house_open(&at, in))
        check_skip("nothing can be made there");
    hand_init(&h);
    knocks(&h, pawl_effect_command, at.path);       /* nobody is in the way: all of them are open */
    text = said(&h, "/stdout");
    CHECK(text != NULL && strncmp(text, OUTSIDE("open") "--\nfile open\n--\n" OWN, sizeof OUTSIDE("open") "--\nfile open\n--\n" OWN - 1) == 0);
    CHECK_INT(visits(&at), 6);      /* who connects a datagram socket is not heard */
    knocks(&h, in_plan, at.path);
    CHECK_STR(said(&h, "/stdout"), SHUT);
    CHECK_INT(visits(&at), 0);
    snprintf(way, sizeof way, "%s/self", at.path);
    CHECK_INT(symlink(at.path, way), 0);
    knocks(&h, in_plan, way);
    CHECK_STR(said(&h, "/stdout"), SHUT);
    CHECK_INT(visits(&at), 0);
    CHECK(no_children());
    hand_free(&h);
    house_close(&at);
}

PAWL_TEST(test_P1_no_pipe_and_no_socket_leads_out)
{
    needs_own_program();
    all_shut("/tmp");
}

PAWL_TEST(test_P1_nor_one_of_a_folder_that_is_not_in_tmp)
{
    needs_own_program();
    all_shut("/var/tmp");
}

PAWL_TEST(test_P1_nor_one_of_the_folder_for_memory)
{
    needs_own_program();
    all_shut("/dev/shm");
}

/* By a link that stands elsewhere a folder in /tmp is one all the same. */
PAWL_TEST(test_P1_nor_one_behind_a_link)
{
    char way[] = "/var/tmp/pawl-way-XXXXXX", link[200];
    house at;
    hand h;

    needs_own_program();
    if (mkdtemp(way) == NULL)
        check_skip("nothing can be made in /var/tmp");
    CHECK(house_open(&at, "/tmp"));
    snprintf(link, sizeof link, "%s/link", way);
    CHECK_INT(symlink(at.path, link), 0);
    hand_init(&h);
    knocks(&h, in_plan, link);
    CHECK_STR(said(&h, "/stdout"), SHUT);
    CHECK_INT(visits(&at), 0);
    hand_free(&h);
    house_close(&at);
    CHECK_INT(unlink(link), 0);
    CHECK_INT(rmdir(way), 0);
}

/* What keyctl and the others are given makes no sense, so nothing but the filter says EPERM. */
PAWL_TEST(test_P13_plan_mode_has_no_keyrings_namespaces_abstract_sockets_and_has_limits)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    char args[600], said_so[40];
    house at;
    int fd;
    hand h;

    needs_own_program();
    CHECK(house_open(&at, "/var/tmp"));
    snprintf(said_so, sizeof said_so, "pawl-sandbox-test-%ld", (long)getpid());
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", said_so);
    CHECK((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
    CHECK_INT(bind(fd, (const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(said_so))), 0);
    CHECK_INT(listen(fd, 4), 0);
    hand_init(&h);
    snprintf(args, sizeof args, "{\"run\":[\"./knocks\",\"--walls\",\"%s\"],\"cwd\":\"%s\",\"check\":true}", said_so, at.path);
    CHECK_INT(hand_over(&h, pawl_effect_command, args), PAWL_OK);
    CHECK(strncmp(said(&h, "/stdout"), "abstract open\n", 14) == 0);        /* nobody is in the way */
    CHECK_INT(hand_over(&h, in_plan, args), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "abstract shut\n--\nkeyctl shut\nadd_key shut\nnamespace shut\nptrace shut\ncore shut\nprocesses shut\nmemory shut\n"
                                   "file shut\nfiles shut\n");
    close(fd);
    hand_free(&h);
    house_close(&at);
}

PAWL_TEST(test_P1_what_ends_in_the_sandbox_is_called_by_its_name)
{
    hand h;
    int before;

    needs_plan();
    hand_init(&h);
    CHECK_INT(hand_over(&h, in_plan, "{\"run\":[\"true\"]}"), PAWL_OK);     /* the loop thread has its descriptors from its first command on */
    before = open_fds();
    CHECK_INT(hand_over(&h, in_plan, "{\"run\":[\"false\"],\"check\":true}"), PAWL_EFFECT);
    CHECK_STR(reply_why(&h.reply), "false: ended with status 1");
    CHECK_INT(hand_over(&h, in_plan, "{\"run\":[\"/pawl-no-such-program\"]}"), PAWL_OK);
    CHECK_INT(number(&h, "/status"), 127);
    CHECK(strstr(said(&h, "/stderr"), "/pawl-no-such-program: No such file") != NULL);
    CHECK_INT(hand_over(&h, in_plan, "{\"run\":[\"ls\",\"/proc/self/fd\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "0\n1\n2\n3\n");        /* the last is that of ls */
    CHECK_INT(open_fds(), before);
    hand_free(&h);
}

static void file_write(const char *folder, const char *name, const char *text, mode_t mode)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK((f = fopen(path, "w")) != NULL && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0);
}

/* `inside` has an execvp() of its own. */
PAWL_TEST(test_a_sandboxed_command_is_found_and_started_as_elsewhere)
{
    static const struct { const char *run, *path, *out, *err; int status; } all[] = {
        { "[\"./greets\",\"you\"]", "/usr/bin:/bin", "hello you\n", "", 0 },
        { "[\"greets\",\"you\"]", "/nowhere:/etc/passwd::/usr/bin:/bin", "hello you\n", "", 0 },
        { "[\"greets\"]", "/nowhere:/usr/bin", "", "greets: No such file or directory\n", 127 },
        { "[\"./plain\"]", "/usr/bin", "", "./plain: Permission denied\n", 127 },
        { "[\"plain\"]", ":/usr/bin", "", "plain: Permission denied\n", 127 },
        { "[\"sh\",\"-c\",\"exit 3\"]", "/usr/bin:/bin", "", "", 3 },
    };
    char folder[] = "/var/tmp/pawl-found-XXXXXX", args[400];
    hand h;

    needs_plan();
    hand_init(&h);
    CHECK(mkdtemp(folder) != NULL);
    file_write(folder, "greets", "echo hello $1\n", 0755);
    file_write(folder, "plain", "echo hello\n", 0644);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(args, sizeof args, "{\"run\":%s,\"cwd\":\"%s\",\"env\":{\"PATH\":\"%s\"}}", all[i].run, folder, all[i].path);
        CHECK_INT(hand_over(&h, in_plan, args), PAWL_OK);
        CHECK_STR(said(&h, "/stdout"), all[i].out);
        CHECK_STR(said(&h, "/stderr"), all[i].err);
        CHECK_INT(number(&h, "/status"), all[i].status);
    }
    hand_free(&h);
    CHECK_INT(nftw(folder, house_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Started anew where the kernel seems to have no Landlock: then there is no sandbox for plan mode, and the reason is told. */
static int without_landlock(void)
{
    char why[SANDBOX_SAID_BYTES] = "";

    if (sandbox_try(SANDBOX_WORKSPACE, NULL) != SANDBOX_WORKS)
        return 2;
    if (sandbox_try(SANDBOX_READ_ONLY, why) == SANDBOX_REFUSED && strcmp(why, "a pipe could be written to, for this kernel has no Landlock, or it is switched off") == 0)
        return 0;
    (void)fprintf(stderr, "said: %s\n", why);
    return 3;
}

static void loses_landlock(void)
{
    static const struct sock_filter filter[] = {
        { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
        { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 444 },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
    };
    const struct sock_fprog program = { 4, (struct sock_filter *)(uintptr_t)filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
        execl("/proc/self/exe", "sandbox_test", "--without", (char *)NULL);
    _exit(4);
}

PAWL_TEST(test_P1_without_landlock_there_is_no_sandbox)
{
    int status = 0;
    pid_t pid;

    needs_plan();
    if ((pid = fork()) == 0)
        loses_landlock();
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

PAWL_TEST(test_a_command_belongs_to_its_control_group_and_its_limit_holds)
{
    char *cat[] = { (char[]){"cat"}, (char[]){"/proc/self/cgroup"}, NULL }, name[48];
    char *many[] = { (char[]){"sh"}, (char[]){"-c"}, (char[]){"sleep .2 & sleep .2 & sleep .2 & sleep .2 & wait"}, NULL };
    const pawl_job job = { .effect = "group" };
    process p = { .job = &job, .argv = cat, .envp = environ, .output_bytes = 4096, .until_ms = INT64_MAX };
    pawl_err err = {0};
    cgroup group;

    if (!cgroup_make(&group, 3, UINT64_C(1) << 30))
        check_skip("no control group may be made here");
    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    p.groups = group.entries;
    p.ngroups = group.n;
    CHECK_INT(process_run(&p, &err), PAWL_OK);
    snprintf(name, sizeof name, "/pawl-%ld-", (long)getpid());
    CHECK(memmem(p.out.data, p.out.size, name, strlen(name)) != NULL);
    p.argv = many;
    p.out.size = p.err.size = 0;
    CHECK_INT(process_run(&p, &err), PAWL_OK);
    CHECK(memmem(p.err.data, p.err.size, "fork", 4) != NULL);
    cgroup_end(&group);
    buf_free(&p.out);
    buf_free(&p.err);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--knock") == 0)
        return knock();
    if (argc == 3 && strcmp(argv[1], "--walls") == 0)
        return walls(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--without") == 0)
        return without_landlock();
    return check_main(argc, argv);
}
