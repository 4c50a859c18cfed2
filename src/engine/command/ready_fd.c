/* ready_fd.c - the descriptor of pawl_engine_fd(). A file of its own, since the system's `write` collides with a type of the kernel's headers. */
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
        (void)eventfd_write(fd, 1);     /* fails only when the counter is full: then the descriptor is readable */
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
