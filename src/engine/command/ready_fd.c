/* ready_fd.c - the descriptor of pawl_engine_fd. Apart from the others, for what the system calls `write` the kernel's headers call otherwise. */
#include "engine/command/ready_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

int ready_fd_open(bool raised)
{
    return eventfd(raised, EFD_CLOEXEC | EFD_NONBLOCK);
}

void ready_fd_raise(int fd)
{
    if (fd >= 0)
        (void)eventfd_write(fd, 1);     /* fails when it counts to its end: then it is readable */
}

void ready_fd_lower(int fd)
{
    eventfd_t n;

    if (fd >= 0)
        (void)eventfd_read(fd, &n);
}

void ready_fd_close(int fd)
{
    if (fd >= 0)
        close(fd);
}
