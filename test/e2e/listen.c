/* listen.c - a server for tests of the program from outside: notes what it is asked, and answers with what lies in its folder.
 *
 * Its port is in the file `port` once it listens. Of each request a line on stdout: "read" where it is a GET or HEAD without a body and
 * "write" else, and its first line; the body is the new content of the file `asked`. The answer is the file `answer`, byte for byte; `ok`
 * where there is none; nothing where there is a file `hangs`: then the other side has to give up. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 65536, PATIENCE_MS = 2000 };

/* More of it than the `n` bytes that are there; 0: nothing comes any more. */
static size_t more(int fd, char *text, size_t n, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    ssize_t got = n < REQUEST_MAX && poll(&p, 1, ms) == 1 ? read(fd, text + n, REQUEST_MAX - n) : 0;

    text[n + (got > 0 ? (size_t)got : 0)] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static void noted(const char *body, size_t size)
{
    FILE *f = fopen("asked.new", "w");

    if (f == NULL || fwrite(body, 1, size, f) != size || fclose(f) != 0 || rename("asked.new", "asked") != 0)
        perror("asked");
}

static size_t answer(char *text)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    FILE *f = fopen("answer", "r");
    size_t n;

    if (f == NULL) {
        memcpy(text, ok, sizeof ok - 1);
        return sizeof ok - 1;
    }
    n = fread(text, 1, REQUEST_MAX, f);
    fclose(f);
    return n;
}

static void serve(int fd)
{
    static char text[REQUEST_MAX + 1];
    size_t n = 0, got, due = 0;
    char *end, *length;
    int reads;

    text[0] = '\0';
    while ((end = strstr(text, "\r\n\r\n")) == NULL && (got = more(fd, text, n, PATIENCE_MS)) > 0)
        n += got;
    length = strcasestr(text, "content-length: ");
    reads = end != NULL && end[4] == '\0' && (strncmp(text, "GET ", 4) == 0 || strncmp(text, "HEAD ", 5) == 0) && length == NULL &&
            strcasestr(text, "transfer-encoding: ") == NULL;
    if (end != NULL && length != NULL && length < end)
        due = (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10);
    while (n < due && (got = more(fd, text, n, PATIENCE_MS)) > 0)
        n += got;
    if (end != NULL)
        noted(end + 4, n - (size_t)(end + 4 - text));
    if (n > 0) {                /* who connects and says nothing has written nothing */
        printf("%s %.*s\n", reads ? "read" : "write", (int)strcspn(text, "\r\n"), text);
        fflush(stdout);
    }
    if (access("hangs", F_OK) == 0) {
        while (more(fd, text, 0, -1) > 0)
            ;
        return;
    }
    n = answer(text);
    if (n > 0 && write(fd, text, n) < 0)
        perror("write");
}

int main(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int s = socket(AF_INET, SOCK_STREAM, 0), fd;
    FILE *f = fopen("port.new", "w");

    if (s < 0 || f == NULL || bind(s, (struct sockaddr *)&at, size) != 0 || listen(s, 100) != 0 || getsockname(s, (struct sockaddr *)&at, &size) != 0)
        return 1;
    fprintf(f, "%d\n", ntohs(at.sin_port));
    if (fclose(f) != 0 || rename("port.new", "port") != 0)
        return 1;
    while ((fd = accept(s, NULL, NULL)) >= 0) {
        serve(fd);
        close(fd);
    }
    return 0;
}
