/* trap.c - for red_test: listens wherever a program could be told something, and notes each time that one is.
 *
 *     trap FOLDER NAME
 *
 * By TCP and UDP on 127.0.0.1 (ports in FOLDER/port and FOLDER/udp), the socket FOLDER/sock, the abstract socket NAME, and the pipe FOLDER/pipe. A line on
 * stdout for each connection, packet, and text in the pipe. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TCP, UDP, BY_PATH, BY_NAME, PIPE, ALL };

static int bound(int type, const struct sockaddr *at, socklen_t size)
{
    const int fd = socket(at->sa_family, type, 0);

    return fd >= 0 && bind(fd, at, size) == 0 && (type == SOCK_DGRAM || listen(fd, 100) == 0) ? fd : -1;
}

static int tell(const char *name, int fd)
{
    struct sockaddr_in at = { 0 };
    socklen_t size = sizeof at;
    FILE *f = fopen(name, "w");

    if (f == NULL || getsockname(fd, (struct sockaddr *)&at, &size) != 0 || fprintf(f, "%d", ntohs(at.sin_port)) < 1)
        return -1;
    return fclose(f);
}

int main(int argc, char **argv)
{
    static const char *const names[ALL] = { "tcp", "udp", "socket", "abstract", "pipe" };
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "sock" }, name = { .sun_family = AF_UNIX };
    struct pollfd p[ALL];
    char text[4096];
    ssize_t n;

    if (argc != 3 || chdir(argv[1]) != 0 || mkfifo("pipe", 0666) != 0)
        return 2;
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", argv[2]);
    p[TCP].fd = bound(SOCK_STREAM, (struct sockaddr *)&here, sizeof here);
    p[UDP].fd = bound(SOCK_DGRAM, (struct sockaddr *)&here, sizeof here);
    p[BY_PATH].fd = bound(SOCK_STREAM, (struct sockaddr *)&path, sizeof path);
    p[BY_NAME].fd = bound(SOCK_STREAM, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[2])));
    p[PIPE].fd = open("pipe", O_RDWR | O_NONBLOCK);
    for (int i = 0; i < ALL; i++) {
        p[i].events = POLLIN;
        if (p[i].fd < 0)
            return 1;
    }
    if (tell("udp", p[UDP].fd) != 0 || tell("port", p[TCP].fd) != 0)
        return 1;
    for (;;) {
        if (poll(p, ALL, -1) < 0)
            return 1;
        for (int i = 0; i < ALL; i++) {
            if (p[i].revents == 0)
                continue;
            if (i == UDP || i == PIPE)
                n = read(p[i].fd, text, sizeof text);
            else
                n = close(accept(p[i].fd, NULL, NULL));
            printf("%s %zd\n", names[i], n);
            fflush(stdout);
        }
    }
}
