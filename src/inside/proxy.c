/* proxy.c - the one way out of the sandbox, where rules allow some hosts: a socket in here whose connections are accepted outside (src/effect/egress.c).
 *
 * Called by inside.c, before the restrictions. A socket belongs to the network namespace in which it was made, also for the process that accepts from it. */
#define _GNU_SOURCE             /* setenv */
#include "inside/inside.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CHANNEL = 4, BACKLOG = 64 };

static int sent(int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof fd)];
    struct iovec one = { &byte, 1 };
    struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    memset(room, 0, sizeof room);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(CHANNEL, &m, MSG_NOSIGNAL) == 1;
}

int proxy_offer(void)
{
    static const char *const names[] = { "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY" };
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = net32(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof at;
    char port[NUMBER_SIZE], url[48];

    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0 || !sent(fd))
        return cannot("the way to the network cannot be made");
    close(fd);
    close(CHANNEL);
    (void)joined(url, sizeof url, "http://127.0.0.1:", number_text(net16(at.sin_port), port));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setenv(names[i], url, 1) != 0)
            return cannot("there is no memory for a variable");
    return setenv("no_proxy", "localhost,127.0.0.1", 1) == 0 ? 0 : cannot("there is no memory for a variable");
}
