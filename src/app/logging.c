/* logging.c - writes PAWL_LOG, see logging.h.
 *
 * Called by the engine through its watch, on the thread that stores. Each line is one write, so that several processes may share a file. */
#include "app/logging.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 500, ITEMS_MAX = 50 };   /* of one line */

static const char *const levels[] = { "off", "error", "warn", "info", "debug", "trace" };

/* ---- the environment ----------------------------------------------------------------------------------- */

static bool level_named(const char *word, size_t size, log_level *out)
{
    for (size_t i = LOG_OFF; i <= LOG_TRACE; i++)
        if (strlen(levels[i]) == size && strncmp(word, levels[i], size) == 0) {
            *out = (log_level)i;
            return true;
        }
    return false;
}

pawl_code logging_open(logging *l, pawl_err *err)
{
    const char *given = getenv("PAWL_LOG");
    size_t n = given != NULL ? strcspn(given, ":") : 0;

    *l = (logging){ .fd = STDERR_FILENO };
    if (given == NULL || *given == '\0')
        return PAWL_OK;
    if (!level_named(given, n, &l->level))
        return fail(err, PAWL_INVALID, "PAWL_LOG=%.60s: a level is error, warn, info, debug, trace or off, and :FILE may stand behind it", given);
    if (given[n] == '\0' || l->level == LOG_OFF)
        return PAWL_OK;
    if ((l->fd = open(given + n + 1, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0) {
        l->level = LOG_OFF;
        return fail(err, PAWL_INVALID, "PAWL_LOG: %s: %s", given + n + 1, strerror(errno));
    }
    l->own = true;
    return PAWL_OK;
}

void logging_close(logging *l)
{
    if (l->own)
        close(l->fd);
    *l = (logging){0};
}

/* ---- one line ------------------------------------------------------------------------------------------ */

static void put_time(buf *b, int64_t ms)
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm t;
    char text[32] = "";

    if (gmtime_r(&seconds, &t) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    buf_fmt(b, "{\"time\":\"%s.%03dZ\"", text, (int)(ms % 1000));
}

static void put_text(buf *b, const char *name, const char *text)
{
    size_t n = strlen(text), most = n < TEXT_BYTES ? n : TEXT_BYTES;

    while (most < n && most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    buf_fmt(b, ",\"%s\":", name);
    canon_string(b, text, most);
}

static void begin(buf *b, log_level level, int64_t ms, const char *run)
{
    put_time(b, ms);
    put_text(b, "level", levels[level]);
    put_text(b, "run", run);
}

static void end(const logging *l, buf *b)
{
    buf_text(b, "}\n");
    if (!b->failed)
        (void)!write(l->fd, b->data, b->size);
    buf_free(b);
}

void logging_line(logging *l, log_level level, const char *run, const char *what, const char *text)
{
    buf b;

    if (level > l->level)
        return;
    buf_init(&b, NULL);
    begin(&b, level, epoch_ms(), run);
    put_text(&b, "event", what);
    if (text != NULL && *text != '\0')
        put_text(&b, "text", text);
    end(l, &b);
}

/* ---- what was stored ----------------------------------------------------------------------------------- */

/* Whether the status differs from the last one that was logged. */
static bool status_new(logging *l, const pawl_state *st, pawl_status now)
{
    uint64_t h = 1469598103934665603u;

    for (const char *c = pawl_state_run(st); *c != '\0'; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    if (l->seen[h % LOG_RUNS].run == h && l->seen[h % LOG_RUNS].status == now)
        return false;
    l->seen[h % LOG_RUNS].run = h;
    l->seen[h % LOG_RUNS].status = now;
    return true;
}

static log_level level_of(pawl_status now, bool changed)
{
    if (!changed)
        return LOG_DEBUG;
    switch (now) {
    case PAWL_STATUS_FAILED: case PAWL_STATUS_REJECTED: return LOG_ERROR;
    case PAWL_STATUS_CANCELED: return LOG_WARN;
    case PAWL_STATUS_SUBMITTED: case PAWL_STATUS_WORKING: case PAWL_STATUS_INPUT_REQUIRED: case PAWL_STATUS_COMPLETED: break;
    }
    return LOG_INFO;
}

const pawl_value *logging_items(arena *mem, pawl_bytes line, bool record)
{
    const char *body = line.data, *stop = line.data + line.size;

    for (int i = 0; i < 2 && !record && body != NULL; i++)      /* HASH ENVELOPE BODY */
        if ((body = memchr(body, ' ', (size_t)(stop - body))) != NULL)
            body++;
    return body != NULL ? value_parse(mem, body, (size_t)(stop - body), "an entry", NULL) : NULL;
}

/* The items of a line by name, with their subjects: ["receipt","1.a.1.0","done"]; never their values. */
static void put_items(buf *b, pawl_bytes line, bool record)
{
    const pawl_value *all, *it;
    pawl_iter items;
    arena mem;
    bool first = true;

    arena_init(&mem, NULL, 4096);
    all = logging_items(&mem, line, record);
    items = pawl_iter_of(all);
    buf_text(b, ",\"items\":[");
    for (size_t n = 0; n < ITEMS_MAX && (it = pawl_iter_next(&items, NULL)) != NULL; n++) {
        const char *name = pawl_value_string(pawl_value_at(it, 0)), *about = pawl_value_string(pawl_value_at(it, 1));
        const char *outcome = name != NULL && strcmp(name, "receipt") == 0 ? pawl_value_string(pawl_value_at(it, 3)) : NULL;
        const char *texts[] = { name, name != NULL && strcmp(name, "emit") == 0 ? NULL : about, outcome };

        if (name == NULL || strcmp(name, "records") == 0)
            continue;
        buf_text(b, first ? "[" : ",[");
        first = false;
        for (size_t i = 0; i < 3; i++)
            if (texts[i] != NULL) {
                buf_text(b, i > 0 ? "," : "");
                canon_string(b, texts[i], strlen(texts[i]));
            }
        buf_char(b, ']');
    }
    buf_char(b, ']');
    if (pawl_value_size(all) > ITEMS_MAX)
        buf_fmt(b, ",\"more\":%zu", pawl_value_size(all) - ITEMS_MAX);
    arena_free(&mem);
}

void logging_entry(logging *l, const pawl_state *st, const pawl_entry *entry)
{
    const bool record = pawl_entry_is_record(entry);
    const pawl_status now = record ? PAWL_STATUS_WORKING : pawl_entry_status(entry);
    const log_level level = record ? LOG_TRACE : level_of(now, status_new(l, st, now));
    const char *why;
    buf b;

    if (level > l->level)
        return;
    buf_init(&b, NULL);
    begin(&b, level, record || pawl_entry_time_ms(entry) == 0 ? epoch_ms() : pawl_entry_time_ms(entry), pawl_state_run(st));
    put_text(&b, "machine", pawl_state_machine(st, NULL));
    if (record) {
        put_text(&b, "event", "record");
    } else {
        buf_fmt(&b, ",\"seq\":%llu", (unsigned long long)pawl_entry_seq(entry));
        put_text(&b, "event", pawl_event_kind_name(pawl_entry_kind(entry)));
        put_text(&b, "status", pawl_status_name(now));
        why = level == LOG_ERROR ? pawl_value_string(pawl_value_get(pawl_state_reason(st), "text")) : NULL;
        if (why != NULL)
            put_text(&b, "text", why);
    }
    if (l->level >= LOG_DEBUG)
        put_items(&b, pawl_entry_bytes(entry), record);
    end(l, &b);
}
