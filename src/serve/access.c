/* access.c - the log of requests: a line of JSON for each, when its reply has ended; and how many replies there were by status. Loop thread.
 *
 * A line has neither the query nor a header nor a body: they may have secrets. Each line is one write, so that several servers may share a file. */
#include "json/json.h"
#include "net/net.h"
#include "serve/serve_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { LOGGED_PATH_BYTES = 500 };

static void text_member(buf *b, const char *name, const char *text)
{
    size_t n = strlen(text) < LOGGED_PATH_BYTES ? strlen(text) : LOGGED_PATH_BYTES;

    while (n > 0 && !utf8_valid(text, n))       /* a path is what the client wrote */
        n--;
    buf_fmt(b, ",\"%s\":", name);
    canon_string(b, text, n);
}

static void line_write(const server *s, const http_req *r, const http_outcome *how)
{
    const int64_t now = epoch_ms();
    const time_t seconds = (time_t)(now / 1000);
    char text[32] = "";
    struct tm at;
    buf b;

    if (gmtime_r(&seconds, &at) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at);
    buf_init(&b, NULL);
    buf_fmt(&b, "{\"time\":\"%s.%03dZ\"", text, (int)(now % 1000));
    if (r != NULL) {
        text_member(&b, "method", http_method(r));
        text_member(&b, "path", http_path(r));
        text_member(&b, "by", http_name(r));
        text_member(&b, "from", http_is_tcp(r) ? "tcp" : "unix");
    }
    buf_fmt(&b, ",\"status\":%u,\"bytes\":%llu,\"ms\":%lld,\"gone\":%s}\n", how->status, (unsigned long long)how->bytes, (long long)how->ms,
            how->gone ? "true" : "false");
    if (!b.failed)
        (void)!write(s->log_fd, b.data, b.size);
    buf_free(&b);
}

void access_ended(void *ctx, const http_req *r, const http_outcome *how)
{
    server *s = ctx;

    if (how->status < STATUSES)
        s->replies[how->status]++;
    if (s->log_fd >= 0)
        line_write(s, r, how);
}

pawl_code access_open(server *s, pawl_err *err)
{
    const char *path = s->config->access_log;

    if (path == NULL)
        return PAWL_OK;
    s->log_fd = strcmp(path, "-") == 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return s->log_fd >= 0 ? PAWL_OK : fail(err, PAWL_INVALID, "--access-log %s: %s", path, strerror(errno));
}

void access_close(server *s)
{
    if (s->log_fd >= 0)
        close(s->log_fd);
    s->log_fd = -1;
}
