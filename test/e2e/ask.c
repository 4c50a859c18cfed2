/* ask.c - a client of HTTP for tests: one request of HTTP/1.0, whose reply is not in chunks.
 *
 *     ask [-H 'Name: value']... [-X METHOD] [-d JSON] [-n BYTES] [-r FILE] WHERE TARGET
 *
 * WHERE is a port of 127.0.0.1 or unix:PATH. The body goes to stdout as it comes, the status to the file `status`, the head to the file `head`.
 * -d: the body, with POST unless -X says otherwise, and a Content-Type of JSON unless -H gives one.
 * -n: ends after so many bytes of the body. -r: reads nothing before FILE exists. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int dial(const char *where)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((unsigned short)strtoul(where, NULL, 10)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    const int tcp = strncmp(where, "unix:", 5) != 0, fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);

    if (!tcp)
        snprintf(un.sun_path, sizeof un.sun_path, "%s", where + 5);
    return connect(fd, tcp ? (struct sockaddr *)&in : (struct sockaddr *)&un, tcp ? sizeof in : sizeof un) == 0 ? fd : -1;
}

static void keep(const char *name, const char *text, size_t size)
{
    FILE *f = fopen(name, "w");

    if (f != NULL) {
        fwrite(text, 1, size, f);
        fclose(f);
    }
}

/* The head of the reply: what follows it already is left in `room`, from *at on. */
static int head_of(int fd, char *room, size_t size, size_t *n, size_t *at)
{
    char *end;
    ssize_t more;

    for (*n = 0; *n < size - 1 && (more = read(fd, room + *n, size - 1 - *n)) > 0;) {
        *n += (size_t)more;
        room[*n] = '\0';
        if ((end = strstr(room, "\r\n\r\n")) != NULL) {
            *at = (size_t)(end - room) + 4;
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char request[1 << 21], room[65536], headers[4096];
    const char *method = NULL, *ready = NULL, *body = NULL;
    long limit = -1;
    size_t n, at;
    int opt;

    while ((opt = getopt(argc, argv, "H:X:d:n:r:")) != -1) {
        if (opt == 'H')
            snprintf(headers + strlen(headers), sizeof headers - strlen(headers), "%s\r\n", optarg);
        else if (opt == 'X')
            method = optarg;
        else if (opt == 'd')
            body = optarg;
        else if (opt == 'n')
            limit = strtol(optarg, NULL, 10);
        else
            ready = optarg;
    }
    const int fd = argc - optind == 2 ? dial(argv[optind]) : -1;

    if (fd < 0)
        return 1;
    if (body != NULL)
        snprintf(headers + strlen(headers), sizeof headers - strlen(headers), "%sContent-Length: %zu\r\n",
                 strstr(headers, "Content-Type:") == NULL ? "Content-Type: application/json\r\n" : "", strlen(body));
    snprintf(request, sizeof request, "%s %s HTTP/1.0\r\n%s%s\r\n%s", method != NULL ? method : body != NULL ? "POST" : "GET", argv[optind + 1],
             strstr(headers, "Host:") == NULL ? "Host: localhost\r\n" : "", headers, body != NULL ? body : "");
    if (write(fd, request, strlen(request)) < 0)
        return 1;
    while (ready != NULL && access(ready, F_OK) != 0)
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    if (!head_of(fd, room, sizeof room, &n, &at))
        return 1;
    keep("status", room + 9, 3);
    keep("head", room, at);
    for (ssize_t more = (ssize_t)(n - at); more >= 0 && limit != 0;) {
        size_t size = limit >= 0 && more > limit ? (size_t)limit : (size_t)more;

        fwrite(room + at, 1, size, stdout);
        fflush(stdout);
        limit -= limit > 0 ? (long)size : 0;
        at = 0;
        if (limit == 0 || (more = read(fd, room, sizeof room)) <= 0)
            break;
    }
    return 0;
}
