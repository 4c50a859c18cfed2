/* names.c - the stored names, each in one place. Journals contain them: append only, never rename or renumber. */
#include "kernel/item.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <string.h>

const char *const kind_names[12] = {
    "", "start", "input", "tick", "receipt", "timer", "signal", "answer", "update", "cancel", "adopt", "reopen",
};
const char *const status_names[7] = {
    "submitted", "working", "input-required", "completed", "failed", "canceled", "rejected",
};
const char *const outcome_names[5] = { "done", "error", "timeout", "canceled", "unknown" };
const char *const class_names[5] = { "at-least-once", "pure", "idempotent", "compensable", "once" };
const char *const wait_names[5] = { "", "approval", "question", "input", "signal" };
const char *const rule_names[13] = {
    "", "last", "single", "append", "sum", "min", "max", "union", "merge", "topic", "ephemeral", "barrier", "custom",
};
const char *const op_names[3] = { "merge", "extend", "overwrite" };

enum { ITEM_NAME_ROOM = 8 };
static const char item_names[ITEM_KINDS][ITEM_NAME_ROOM] = {
    [ITEM_START] = "start",   [ITEM_INPUT] = "input",     [ITEM_UPDATE] = "update",   [ITEM_SIGNAL] = "signal",
    [ITEM_CANCEL] = "cancel", [ITEM_REOPEN] = "reopen",   [ITEM_ADOPT] = "adopt",     [ITEM_RECORDS] = "records",
    [ITEM_VISIT] = "visit",   [ITEM_FRAME] = "frame",     [ITEM_CALL] = "call",       [ITEM_SLEEP] = "sleep",
    [ITEM_SPAWN] = "spawn",   [ITEM_ASK] = "ask",         [ITEM_RECEIPT] = "receipt", [ITEM_ANSWER] = "answer",
    [ITEM_SELECT] = "select", [ITEM_LEAVE] = "leave",     [ITEM_FAIL] = "fail",       [ITEM_CLOSE] = "close",
    [ITEM_PUT] = "put",       [ITEM_EMIT] = "emit",       [ITEM_DROP] = "drop",       [ITEM_TURN] = "turn",
    [ITEM_END] = "end",       [ITEM_DOUBT] = "doubt",     [ITEM_UNWIND] = "unwind",   [ITEM_REFUSAL] = "refusal",
    [ITEM_SIGN] = "sign",
};

const char *item_name(unsigned kind)
{
    return kind < ITEM_KINDS ? item_names[kind] : "";
}

int name_index(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; name != NULL && *name != '\0' && i < n; i++)
        if (*names[i] == *name && strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

/* A perfect hash: first character, last character and size of a name give its slot. Two names with one slot do not compile. */
enum { PLACES = 64 };
#define PLACE(first, last, size) ((3u * (unsigned char)(first) + 36u * (unsigned char)(last) + (unsigned)(size)) % PLACES)
static const uint8_t item_places[PLACES] = {
    [PLACE('s', 't', 5)] = ITEM_START,  [PLACE('i', 't', 5)] = ITEM_INPUT,   [PLACE('u', 'e', 6)] = ITEM_UPDATE,
    [PLACE('s', 'l', 6)] = ITEM_SIGNAL, [PLACE('c', 'l', 6)] = ITEM_CANCEL,  [PLACE('r', 'n', 6)] = ITEM_REOPEN,
    [PLACE('a', 't', 5)] = ITEM_ADOPT,  [PLACE('r', 's', 7)] = ITEM_RECORDS, [PLACE('v', 't', 5)] = ITEM_VISIT,
    [PLACE('f', 'e', 5)] = ITEM_FRAME,  [PLACE('c', 'l', 4)] = ITEM_CALL,    [PLACE('s', 'p', 5)] = ITEM_SLEEP,
    [PLACE('s', 'n', 5)] = ITEM_SPAWN,  [PLACE('a', 'k', 3)] = ITEM_ASK,     [PLACE('r', 't', 7)] = ITEM_RECEIPT,
    [PLACE('a', 'r', 6)] = ITEM_ANSWER, [PLACE('s', 't', 6)] = ITEM_SELECT,  [PLACE('l', 'e', 5)] = ITEM_LEAVE,
    [PLACE('f', 'l', 4)] = ITEM_FAIL,   [PLACE('c', 'e', 5)] = ITEM_CLOSE,   [PLACE('p', 't', 3)] = ITEM_PUT,
    [PLACE('e', 't', 4)] = ITEM_EMIT,   [PLACE('d', 'p', 4)] = ITEM_DROP,    [PLACE('t', 'n', 4)] = ITEM_TURN,
    [PLACE('e', 'd', 3)] = ITEM_END,    [PLACE('d', 't', 5)] = ITEM_DOUBT,   [PLACE('u', 'd', 6)] = ITEM_UNWIND,
    [PLACE('r', 'l', 7)] = ITEM_REFUSAL, [PLACE('s', 'n', 4)] = ITEM_SIGN,
};

/* memcmp of less than 8 bytes, without a call. It reads no byte after them: the reader has just written a NUL there, and a wide load would wait for it. */
static inline bool text_same(const char *a, const char *b, size_t n)
{
    uint32_t head[2], tail[2];

    if (n < 4) {
        while (n > 0 && a[n - 1] == b[n - 1])
            n--;
        return n == 0;
    }
    memcpy(&head[0], a, 4);
    memcpy(&head[1], b, 4);
    memcpy(&tail[0], a + n - 4, 4);
    memcpy(&tail[1], b + n - 4, 4);
    return head[0] == head[1] && tail[0] == tail[1];
}

int item_kind_of(const char *name, size_t size)
{
    unsigned kind = size == 0 ? 0 : item_places[PLACE(name[0], name[size - 1], size)];

    return size > 0 && size < ITEM_NAME_ROOM && text_same(item_names[kind], name, size) && item_names[kind][size] == '\0' ? (int)kind : -1;
}

static const char *name_at(const char *const *names, size_t n, int index)
{
    return index >= 0 && (size_t)index < n && *names[index] != '\0' ? names[index] : "unnamed";
}

const char *pawl_event_kind_name(pawl_event_kind kind) { return name_at(kind_names, 12, (int)kind); }
const char *pawl_status_name(pawl_status status) { return name_at(status_names, 7, (int)status); }
const char *pawl_outcome_name(pawl_outcome outcome) { return name_at(outcome_names, 5, (int)outcome); }
const char *pawl_class_name(pawl_class cls) { return name_at(class_names, 5, (int)cls); }
const char *pawl_wait_kind_name(pawl_wait_kind kind) { return name_at(wait_names, 5, (int)kind); }
const char *pawl_rule_name(pawl_rule rule) { return name_at(rule_names, 13, (int)rule); }

bool pawl_status_terminal(pawl_status status)
{
    return status <= PAWL_STATUS_REJECTED && status_is_terminal(status);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool name_valid(const char *name)
{
    size_t n = 0;

    if (name == NULL || *name == '-')
        return false;
    while (n <= NAME_BYTES_MAX && is_name_char(name[n]))
        n++;
    return n > 0 && n <= NAME_BYTES_MAX && name[n] == '\0';
}

bool channel_name_valid(const char *name)
{
    return name_valid(name) || channel_own(name);
}

bool channel_own(const char *name)
{
    return name != NULL && *name == '@' && name_valid(name + 1) && strlen(name) <= NAME_BYTES_MAX;
}

bool run_id_valid(const char *id)
{
    size_t n = 0;

    if (id == NULL || *id == '.' || *id == '_' || *id == '-')
        return false;
    while (n <= RUN_BYTES_MAX && (is_name_char(id[n]) || id[n] == '.'))
        n++;
    return n > 0 && n <= RUN_BYTES_MAX && id[n] == '\0';
}

/* FNV-1a, for tables in memory and for pawl_random(): must never change, or replays draw other numbers. */
uint32_t name_hash(const char *name)
{
    uint32_t h = 2166136261u;

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

uint32_t name_hash_of(const char *name, size_t size)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h;
}

/* ---- runs that are children -------------------------------------------------------------------------- */

enum { CHILD_DIGITS = 12 };

static const char *child_digits(arena *a, const char *run, size_t n, const char *said)
{
    const pawl_bytes parts[2] = { { run, n }, { said, strlen(said) } };
    const size_t cut = n < RUN_BYTES_MAX - CHILD_DIGITS - 1 ? n : RUN_BYTES_MAX - CHILD_DIGITS - 1;
    char hex[HASH_HEX + 1], *name = arena_get(a, cut + CHILD_DIGITS + 2);
    hash h;

    if (name == NULL)
        return NULL;
    hash_parts(parts, 2, &h);
    hash_hex(&h, hex);
    memcpy(name, run, cut);
    name[cut] = '.';
    memcpy(name + cut + 1, hex, CHILD_DIGITS);
    name[cut + 1 + CHILD_DIGITS] = '\0';
    return name;
}

const char *child_run_name(arena *a, const char *run, size_t n, const char *said)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t more = strlen(said);
    char *name;

    if (n + 5 + more > RUN_BYTES_MAX)
        return child_digits(a, run, n, said);
    if ((name = arena_get(a, n + 5 + more + 1)) == NULL)
        return NULL;
    memcpy(name, run, n);
    memcpy(name + n, ".sub-", 5);
    for (size_t i = 0; i <= more; i++)
        name[n + 5 + i] = said[i] == '\0' || strchr(good, said[i]) != NULL ? said[i] : '-';
    return name;
}

void hex64(uint64_t n, char out[17])
{
    for (int i = 0; i < 16; i++)
        out[i] = "0123456789abcdef"[n >> (60 - 4 * i) & 15];
    out[16] = '\0';
}

bool unhex64(const char *text, uint64_t *n)
{
    *n = 0;
    if (text == NULL || strlen(text) != 16)
        return false;
    for (; *text != '\0'; text++) {
        const char *d = strchr("0123456789abcdef", *text);

        if (d == NULL)
            return false;
        *n = *n << 4 | (uint64_t)(d - "0123456789abcdef");
    }
    return true;
}
