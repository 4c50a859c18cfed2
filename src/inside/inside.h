/* inside.h - shared by the files of the program `inside`: each restriction is one function. One thread; 0: it holds, else an exit code. */
#ifndef INSIDE_INSIDE_H
#define INSIDE_INSIDE_H

#ifdef INSIDE_ALONE
#include "inside/alone.h"       /* before the system's headers, whose functions it renames */
#endif

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { CANNOT = 125, NO_PROGRAM = 127 };     /* exit codes when PROGRAM was not run */

/* ---- text.c: what stdio would do, which must start first ------------------------------------------------------------ */

enum { NUMBER_SIZE = 24 };
const char *number_text(uint64_t n, char room[NUMBER_SIZE]);
uint64_t number_of(const char *text);           /* decimal digits at its beginning; none: 0 */
bool joined(char *out, size_t size, const char *a, const char *b);      /* both texts; false: more than `size` bytes, and `out` is empty */
bool line_write(int fd, const char *a, const char *b, const char *c);   /* one line of three texts */

/* Between the order of the network and that of the processor. */
static inline uint16_t net16(uint16_t n) { return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? n : __builtin_bswap16(n); }
static inline uint32_t net32(uint32_t n) { return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? n : __builtin_bswap32(n); }

/* Writes one line to stderr; returns CANNOT. */
static inline int cannot(const char *what)
{
    (void)line_write(STDERR_FILENO, what, "", "");
    return CANNOT;
}

/* ---- the restrictions ------------------------------------------------------------------------------------------------ */

/* Nothing can be opened for writing except below `where` (n paths; one that does not exist needs no rule). `required` false: a kernel without Landlock
 * is no error. */
int restrict_writing(char *const *where, int n, bool required);

/* No socket that leads outside of the network namespace, no new namespaces, keyrings, io_uring, ptrace and the like. `unix_sockets`: sockets with a path
 * may be made. Before it, PR_SET_NO_NEW_PRIVS is set. */
int restrict_calls(bool unix_sockets);

/* Opens a socket on this sandbox's 127.0.0.1, sends it through descriptor 4 to the proxy outside, which serves it, and names it in the environment. */
int proxy_offer(void);

/* Tries each wall for real, and writes "NAME shut" or "NAME open" for it on stdout. `with`: pairs of a name and what it needs ("read" "/home/x/file"). */
int probe_walls(char *const *with, int n);

#endif
