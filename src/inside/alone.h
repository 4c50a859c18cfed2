/* alone.h - `inside` without a C library: its functions under other names, which alone.c defines.
 *
 * Included by inside.h before the system's headers, so that these declare the functions of alone.c, with their types. A function that is not in this
 * list cannot be used: the program does not link. */
#ifndef INSIDE_ALONE_H
#define INSIDE_ALONE_H

#pragma GCC system_header       /* the declarations that these names make are the system's, extensions and all */

#define __errno_location alone_errno
#define bind alone_bind
#define close alone_close
#define connect alone_connect
#define execvp alone_execvp
#define _exit alone_exit
#define fork alone_fork
#define fstat alone_fstat
#define getenv alone_getenv
#define getrlimit alone_getrlimit
#define getsockname alone_getsockname
#define kill alone_kill
#define listen alone_listen
#define memcpy alone_memcpy
#define memset alone_memset
#define mmap alone_mmap
#define munmap alone_munmap
#define open alone_open
#define pipe alone_pipe
#define prctl alone_prctl
#define read alone_read
#define sendmsg alone_sendmsg
#define setenv alone_setenv
#define setrlimit alone_setrlimit
#define socket alone_socket
#define strcmp alone_strcmp
#define strerror alone_strerror
#define strlen alone_strlen
#define syscall alone_syscall
#define unlink alone_unlink
#define waitpid alone_waitpid
#define writev alone_writev

void alone_variables(char **all);       /* the environment; before all else */

#endif
