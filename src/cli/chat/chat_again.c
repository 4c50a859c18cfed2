/* chat_again.c - a request to the model that is made again: the frame that SDKs know, and for people a line, which counts down on a terminal.
 *
 * Called by chat_out.c on the reader's thread, which owns k->again. On stderr at most one line is open, and it is ended before another text. */
#include "cli/chat/chat.h"
#include "cli/ui/format.h"
#include "net/net.h"

#include <string.h>
#include <unistd.h>

/* A failure as SDKs name it. */
static const char *kind_of(const pawl_value *said)
{
    const int64_t status = pawl_value_int(pawl_value_get(said, "status"));

    return status == 429 ? "rate_limit" : status >= 500 ? "server_error" : "unknown";
}

const pawl_value *chat_again_frame(arena *mem, const pawl_value *said)
{
    const pawl_value *status = pawl_value_get(said, "status"), *most = pawl_value_get(said, "max_attempts"), *why = pawl_value_get(said, "error");
    const int64_t made = pawl_value_int(pawl_value_get(said, "retries"));
    const pawl_value *v = value_pack(mem, NULL, "{s:i,s:s,s:v,s:i,s:i}", "attempt", made, "error", kind_of(said), "error_status",
                                     status != NULL ? status : value_null(mem), "max_retries", most != NULL ? pawl_value_int(most) - 1 : made,
                                     "retry_delay_ms", pawl_value_int(pawl_value_get(said, "again_in_ms")));

    return why != NULL ? value_with(mem, v, "error_message", why) : v;
}

static void line_write(chat *k, const char *lead, int64_t left_ms, const char *end)
{
    char line[CHAT_AGAIN_BYTES + 160];
    const int n = snprintf(line, sizeof line, "%s%s: trying again in %lld s, attempt %lld of %lld; Ctrl-C stops%s", lead, k->again.why,
                           (long long)((left_ms + 999) / 1000), (long long)k->again.attempt, (long long)k->again.most, end);

    if (n > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

void chat_again_end(chat *k)
{
    static const char clear[] = "\r\x1b[K";

    if (k->again.until_ms > 0 && k->c->err_tty)
        (void)!write(STDERR_FILENO, clear, sizeof clear - 1);
    k->again.until_ms = 0;
}

void chat_again_draw(chat *k)
{
    const int64_t left = k->again.until_ms - epoch_ms(), seconds = (left + 999) / 1000;

    if (k->again.until_ms == 0 || !k->c->err_tty || seconds == k->again.drawn_s)
        return;
    k->again.drawn_s = seconds;
    if (left <= 0)
        chat_again_end(k);
    else
        line_write(k, "\r\x1b[K", left, "");
}

void chat_again(chat *k, const pawl_value *said)
{
    const int64_t delay = pawl_value_int(pawl_value_get(said, "again_in_ms")), most = pawl_value_int(pawl_value_get(said, "max_attempts"));
    buf why, line;

    if (k->format == CHAT_STREAM)
        return;
    chat_again_end(k);
    buf_init(&why, NULL);
    buf_init(&line, NULL);
    words_busy(&why, said);
    cli_clean(&line, why.data != NULL ? why.data : "", why.size);
    k->again = (chat_again_line){ .attempt = pawl_value_int(pawl_value_get(said, "retries")) + 1, .most = most, .drawn_s = -1 };
    snprintf(k->again.why, sizeof k->again.why, "%.*s", line.failed ? 0 : (int)line.size, line.data != NULL ? line.data : "");
    buf_free(&line);
    buf_free(&why);
    if (most == 0)
        return;                 /* a run that began with a version of Pawl that waits less than a second */
    if (!k->c->err_tty) {
        line_write(k, "", delay, "\n");
        return;
    }
    k->again.until_ms = epoch_ms() + delay;
    chat_again_draw(k);
}
