/* ready_fd.h - a descriptor that is readable while a finished attempt waits for the driving thread. */
#ifndef ENGINE_READY_FD_H
#define ENGINE_READY_FD_H

#include <stdbool.h>

/* Below 0: not available; then the other functions do nothing. */
int ready_fd_open(bool raised);
void ready_fd_raise(int fd);    /* makes it readable until it is lowered; any thread */
void ready_fd_lower(int fd);
void ready_fd_close(int fd);

#endif
