/* deadline.c - connections in the order of their deadlines. All waits of one kind take equally long, so a list for each kind stays sorted by appending.
 * Loop thread; the clock is that of the loop. */
#include "net/http/http_inner.h"

static int64_t or_default(unsigned ms, int64_t otherwise) { return ms > 0 ? (int64_t)ms : otherwise; }

void wait_lists_init(wait_lists *l, const http_limits *limits)
{
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        l->heads[kind].next = l->heads[kind].prev = &l->heads[kind];
    l->limit_ms[WAIT_NONE] = 0;
    l->limit_ms[WAIT_IDLE] = or_default(limits->idle_ms, 75000);
    l->limit_ms[WAIT_HEAD] = or_default(limits->head_ms, 10000);
    l->limit_ms[WAIT_BODY] = or_default(limits->body_ms, 60000);
    l->limit_ms[WAIT_WRITE] = or_default(limits->write_ms, 30000);
    l->limit_ms[WAIT_LINGER] = or_default(limits->linger_ms, 2000);
}

void wait_place_init(wait_place *p)
{
    p->next = p->prev = p;
    p->kind = WAIT_NONE;
}

void wait_set(wait_lists *l, wait_place *p, unsigned kind, int64_t now_ms)
{
    wait_place *head = &l->heads[kind];

    PAWL_ASSERT(kind < WAIT_KINDS, "a kind of wait that there is");
    p->next->prev = p->prev;
    p->prev->next = p->next;
    p->next = p->prev = p;
    p->kind = kind;
    if (kind == WAIT_NONE)
        return;
    p->due_ms = now_ms + l->limit_ms[kind];
    p->next = head;
    p->prev = head->prev;
    head->prev->next = p;
    head->prev = p;
}

wait_place *wait_first(wait_lists *l, unsigned kind)
{
    return l->heads[kind].next == &l->heads[kind] ? NULL : l->heads[kind].next;
}

bool wait_any(const wait_lists *l)
{
    for (unsigned kind = WAIT_NONE + 1; kind < WAIT_KINDS; kind++)
        if (l->heads[kind].next != &l->heads[kind])
            return true;
    return false;
}

int64_t http_now(const http_server *s) { return (int64_t)uv_now(&s->loop); }
