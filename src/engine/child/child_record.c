/* child_record.c - the id of a child run, and the record that it starts with. Pure; any thread. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "kernel/names.h"

#include <stdio.h>
#include <string.h>

enum { NAME_DIGITS = 12 };

static uint64_t number_of(const hash *h, size_t at)
{
    uint64_t n = 0;

    for (size_t i = 0; i < 8; i++)
        n = n << 8 | h->b[at + i];
    return n != 0 ? n : 1;
}

/* The name that the parent gives, else RUN.DIGITS; a long RUN is truncated. */
const char *child_name(arena *a, const char *invocation, const char *said)
{
    size_t n = strcspn(invocation, "~");
    char hex[HASH_HEX + 1], name[CHILD_NAME_BYTES];
    hash h;

    if (said != NULL && *said != '\0' && n < CHILD_NAME_BYTES)
        return child_run_name(a, invocation, n, said);
    if (n > RUN_BYTES_MAX - NAME_DIGITS - 1)
        n = RUN_BYTES_MAX - NAME_DIGITS - 1;
    hash_of(invocation, strlen(invocation), &h);
    hash_hex(&h, hex);
    snprintf(name, sizeof name, "%.*s.%.*s", (int)n, invocation, NAME_DIGITS, hex);
    return arena_strdup(a, name, strlen(name));
}

void info_of_child(pawl_run_info *info, const outbox_entry *entry, int64_t now)
{
    hash h;

    hash_of(entry_id(entry), strlen(entry_id(entry)), &h);
    info->id = entry_child(entry);
    info->life = number_of(&h, 8);
    info->seed = number_of(&h, 16);
    info->parent = entry_id(entry);
    info->created_ms = now;
    info->dedupe_key = NULL;
    info->budget = entry_share(entry);
    memset(info->labels, 0, sizeof info->labels);
}
