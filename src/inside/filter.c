/* filter.c - the system calls that lead out of the sandbox fail (seccomp).
 *
 * Called by inside.c, once. Allowed sockets: those of the sandbox's own network namespace, and connected pairs; not datagram pairs, which can send to any
 * address. io_uring is forbidden, since it makes sockets that no filter sees. */
#define _GNU_SOURCE             /* SYS_ */
#include "inside/inside.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

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
#define NEW_NAMESPACES 0x7e020000u          /* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOW 4
#else
#define LOW 0
#endif
#ifdef __s390x__
#define CLONE_FLAGS 1                       /* which argument of clone() has the flags */
#else
#define CLONE_FLAGS 0
#endif

/* Fail with EPERM. These make namespaces, mount, use keyrings, look into other processes, or reach parts of the kernel that ordinary programs do not
 * need. */
static const int refused[] = {
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_bpf, SYS_perf_event_open,
#ifdef SYS_open_tree
    SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
#endif
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_userfaultfd
    SYS_userfaultfd,
#endif
#ifdef SYS_open_by_handle_at
    SYS_open_by_handle_at,
#endif
};

/* Fail with ENOSYS, as in a kernel that does not have them: programs then use another call. clone3() takes its flags by a pointer, which a filter cannot
 * read. */
static const int unknown[] = {
#ifdef SYS_socketcall
    SYS_socketcall,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
#endif
#ifdef SYS_clone3
    SYS_clone3,
#endif
};

enum { CODE_MAX = 160 };
typedef struct filter_code { struct sock_filter all[CODE_MAX]; unsigned short n; } filter_code;

static void put(filter_code *f, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    if (f->n < CODE_MAX)
        f->all[f->n] = (struct sock_filter){ code, yes, no, k };
    f->n++;
}

static void load(filter_code *f, size_t at) { put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)at); }
static void load_arg(filter_code *f, unsigned i) { load(f, offsetof(struct seccomp_data, args) + 8 * i + LOW); }
static void give(filter_code *f, uint32_t what) { put(f, BPF_RET | BPF_K, 0, 0, what); }
static void unless(filter_code *f, uint32_t is, uint8_t skip) { put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, skip, is); }

static void when(filter_code *f, int is, uint32_t what)
{
    unless(f, (uint32_t)is, 1);
    give(f, what);
}

/* The loaded value is the type of a socket or pair, with flags. */
static void sockets(filter_code *f, bool unix_sockets)
{
    unless(f, SYS_socket, unix_sockets ? 12 : 10);
    load_arg(f, 0);
    when(f, AF_INET, SECCOMP_RET_ALLOW);
    when(f, AF_INET6, SECCOMP_RET_ALLOW);
    if (unix_sockets)
        when(f, AF_UNIX, SECCOMP_RET_ALLOW);
    unless(f, AF_NETLINK, 3);
    load_arg(f, 2);
    when(f, NETLINK_ROUTE, SECCOMP_RET_ALLOW);
    give(f, SECCOMP_RET_ERRNO | EACCES);
    unless(f, SYS_socketpair, unix_sockets ? 9 : 7);
    load_arg(f, 1);
    put(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, TYPE_BITS);
    when(f, SOCK_STREAM, SECCOMP_RET_ALLOW);
    when(f, SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
    if (unix_sockets)
        when(f, SOCK_DGRAM, SECCOMP_RET_ALLOW);
    give(f, SECCOMP_RET_ERRNO | EACCES);
}

static void namespaces(filter_code *f)
{
    unless(f, SYS_clone, 4);
    load_arg(f, CLONE_FLAGS);
    put(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, NEW_NAMESPACES);
    give(f, SECCOMP_RET_ERRNO | EPERM);
    give(f, SECCOMP_RET_ALLOW);
}

int restrict_calls(bool unix_sockets)
{
    filter_code f = { .n = 0 };
    struct sock_fprog program;

    load(&f, offsetof(struct seccomp_data, arch));
    put(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
    give(&f, SECCOMP_RET_KILL_PROCESS);     /* another architecture, with other system call numbers */
    load(&f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    put(&f, BPF_JMP | BPF_JGE | BPF_K, 0, 1, NUMBER_ONLY);
    give(&f, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        when(&f, unknown[i], SECCOMP_RET_ERRNO | ENOSYS);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        when(&f, refused[i], SECCOMP_RET_ERRNO | EPERM);
    namespaces(&f);
    sockets(&f, unix_sockets);
    give(&f, SECCOMP_RET_ALLOW);
    if (f.n > CODE_MAX)
        return cannot("a socket could be written to, for the filter is too long");
    program = (struct sock_fprog){ f.n, f.all };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        return cannot("a socket could be written to, for this kernel takes no seccomp filter");
    return 0;
}

#else

int restrict_calls(bool unix_sockets)
{
    (void)unix_sockets;
    return cannot("a socket could be written to, for there is no filter for this processor");
}

#endif
