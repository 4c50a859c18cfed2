/* head.c - the head of a run as a record: one description of its fields, for writing and for reading.
 *
 * Called by the other files of the folder. Invariant: what was read has the form that was written, or it is PAWL_CORRUPT; a field is never left out or moved,
 * new ones come last, and a head of a newer format is refused. */
#include "store/simple/simple.h"

#include <stdio.h>

enum { HEAD_FORMAT = 2, HEAD_FORMAT_WITHOUT_LOSSES = 1 };

void head_key(const simple_handle *h, const char *run, char key[PAWL_KEY_BYTES_MAX + 1])
{
    snprintf(key, PAWL_KEY_BYTES_MAX + 1, "h~%s~%s", h->space, run);
}

static void code_part(simple_coder *c, simple_part *p)
{
    code_uint(c, &p->id);
    if (p->id != 0)
        code_small(c, &p->at);
}

static void code_lump(simple_coder *c, simple_lump *l)
{
    code_part(c, &l->part);
    if (l->part.id == 0)
        code_bytes(c, &l->bytes);
}

void code_segment(simple_coder *c, simple_segment *s)
{
    code_part(c, &s->part);
    code_uint(c, &s->upto);
}

void code_mark(simple_coder *c, simple_mark *m)
{
    code_text(c, &m->id);
    code_small(c, &m->attempts);
    code_int(c, &m->first_ms);
    code_int(c, &m->again_ms);
    code_flag(c, &m->whole);
    code_flag(c, &m->removed);
    c->wrong = c->wrong || m->id == NULL;
}

static void code_mail(simple_coder *c, simple_mail *m)
{
    uint32_t kind = (uint32_t)m->d.kind, outcome = (uint32_t)m->d.outcome;

    code_uint(c, &m->d.no);
    code_text(c, &m->d.id);
    code_small(c, &kind);
    code_text(c, &m->d.name);
    code_small(c, &outcome);
    code_lump(c, &m->value);
    code_lump(c, &m->update);
    code_text(c, &m->d.by);
    code_text(c, &m->d.note);
    code_text(c, &m->d.trace);
    code_int(c, &m->d.at_ms);
    code_hash(c, &m->digest);
    m->d.kind = (pawl_delivery_kind)kind;
    m->d.outcome = (int)outcome;
    c->wrong = c->wrong || m->d.id == NULL || kind < PAWL_DELIVER_START || kind > PAWL_DELIVER_REOPEN;
}

static void code_of_machine(simple_coder *c, simple_run *r)
{
    pawl_head *d = &r->head;
    uint64_t labels = r->nlabels;

    code_text(c, &d->machine);
    code_text(c, &d->context);
    code_text(c, &d->parent);
    code_uint(c, &labels);
    if (labels > STORE_LABELS_MAX) {
        c->wrong = true;
        return;
    }
    r->nlabels = (size_t)labels;
    for (size_t i = 0; i < r->nlabels; i++) {
        code_text(c, &r->labels[i]);
        c->wrong = c->wrong || r->labels[i] == NULL;
    }
    code_uint(c, &d->no);
    code_uint(c, &d->life);
    code_int(c, &d->created_ms);
    code_hash(c, &r->created);
    code_lump(c, &r->base);
    code_uint(c, &r->base_seq);
}

static void code_of_moment(simple_coder *c, simple_run *r)
{
    pawl_head *d = &r->head;
    uint32_t status = d->status;

    code_text(c, &d->owner);
    code_text(c, &d->parked);
    code_uint(c, &d->seq);
    code_uint(c, &d->fence);
    code_uint(c, &d->fence_before);
    code_int(c, &d->lease_ms);
    code_int(c, &d->changed_ms);
    code_int(c, &d->wake_ms);
    code_small(c, &status);
    d->status = (uint8_t)status;
    code_flag(c, &d->over);
    code_flag(c, &d->work);
    code_uint(c, &r->parts);
    code_uint(c, &r->sent);
    code_uint(c, &r->closings);
    code_flag(c, &r->rests_taken);
    code_flag(c, &r->rests_closed);
}

static void code_of_journal(simple_coder *c, simple_run *r)
{
    code_lump(c, &r->snapshot);
    code_uint(c, &r->snapshot_seq);
    code_hash(c, &r->snapshot_digest);
    code_count(c, (void **)&r->indexes, &r->nindexes, &r->indexes_cap, sizeof *r->indexes);
    for (size_t i = 0; i < r->nindexes; i++)
        code_segment(c, &r->indexes[i]);
    code_count(c, (void **)&r->segments, &r->nsegments, &r->segments_cap, sizeof *r->segments);
    for (size_t i = 0; i < r->nsegments; i++)
        code_segment(c, &r->segments[i]);
    code_uint(c, &r->tail_after);
    code_bytes(c, &r->tail);
}

static void code_of_others(simple_coder *c, simple_run *r)
{
    code_count(c, (void **)&r->waits, &r->nwaits, &r->waits_cap, sizeof *r->waits);
    for (size_t i = 0; i < r->nwaits; i++) {
        code_text(c, &r->waits[i].id);
        code_lump(c, &r->waits[i].spec);
        code_int(c, &r->waits[i].asked_ms);
        code_uint(c, &r->waits[i].answer);
        c->wrong = c->wrong || r->waits[i].id == NULL;
    }
    code_count(c, (void **)&r->closed, &r->nclosed, &r->closed_cap, sizeof *r->closed);
    for (size_t i = 0; i < r->nclosed; i++) {
        code_text(c, &r->closed[i].id);
        code_bytes(c, &r->closed[i].shown);
        code_uint(c, &r->closed[i].nth);
        c->wrong = c->wrong || r->closed[i].id == NULL;
    }
    code_count(c, (void **)&r->mail, &r->nmail, &r->mail_cap, sizeof *r->mail);
    for (size_t i = 0; i < r->nmail; i++)
        code_mail(c, &r->mail[i]);
    code_count(c, (void **)&r->taken, &r->ntaken, &r->taken_cap, sizeof *r->taken);
    for (size_t i = 0; i < r->ntaken; i++) {
        code_text(c, &r->taken[i].id);
        code_hash(c, &r->taken[i].digest);
        code_uint(c, &r->taken[i].no);
        code_int(c, &r->taken[i].at_ms);
        c->wrong = c->wrong || r->taken[i].id == NULL;
    }
    code_part(c, &r->cold_marks);
    code_count(c, (void **)&r->marks, &r->nmarks, &r->marks_cap, sizeof *r->marks);
    for (size_t i = 0; i < r->nmarks; i++)
        code_mark(c, &r->marks[i]);
}

static void code_losses(simple_coder *c, simple_run *r)
{
    code_count(c, (void **)&r->losses, &r->nlosses, &r->losses_cap, sizeof *r->losses);
    for (size_t i = 0; i < r->nlosses; i++) {
        pawl_loss *l = &r->losses[i];

        code_uint(c, &l->fence);
        code_text(c, &l->owner);
        code_int(c, &l->at_ms);
        code_flag(c, &l->died);
        code_text(c, &l->taker);
        code_uint(c, &l->taker_fence);
        code_int(c, &l->taken_ms);
        c->wrong = c->wrong || l->owner == NULL;
    }
}

static void code_head(simple_coder *c, simple_run *r)
{
    code_flag(c, &r->begun);
    code_of_machine(c, r);
    if (!r->begun || c->wrong)
        return;
    code_of_moment(c, r);
    code_of_journal(c, r);
    code_of_others(c, r);
}

void head_compute(simple_run *r)
{
    int64_t due;

    r->head.waits = (uint32_t)r->nwaits;
    r->head.mail = (uint32_t)r->nmail;
    due = store_due_ms(&r->head, r->nmail == 0 ? 0 : r->mail[0].d.at_ms);
    r->head.look_ms = due == INT64_MAX ? 0 : due;
}

pawl_code head_encode(simple_run *r, pawl_err *err)
{
    simple_coder c = { .out = &r->h->out };
    uint64_t format = r->nlosses > 0 ? HEAD_FORMAT : HEAD_FORMAT_WITHOUT_LOSSES;

    record_begin(c.out);
    code_uint(&c, &format);
    code_head(&c, r);
    if (format == HEAD_FORMAT)
        code_losses(&c, r);
    if (c.out->failed || r->h->work.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for its head", r->head.run);
    PAWL_ASSERT(!c.wrong, "a head that is written has the form of one");
    head_compute(r);
    return PAWL_OK;
}

pawl_code head_decode(simple_handle *h, const char *run, pawl_bytes body, uint64_t version, simple_run *out, pawl_err *err)
{
    simple_coder c = { .at = body.data, .end = body.data + body.size, .mem = &h->work };
    uint64_t format = 0;

    *out = (simple_run){ .h = h, .version = version };
    code_uint(&c, &format);
    if (format > HEAD_FORMAT)
        return fail(err, PAWL_INVALID, "%s: its head is of format %llu, and this version knows %d: take a newer one", run,
                    (unsigned long long)format, HEAD_FORMAT);
    code_head(&c, out);
    if (format == HEAD_FORMAT && !c.wrong)
        code_losses(&c, out);
    if (h->work.failed || (out->head.run = arena_text(&h->work, run)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for its head", run);
    if (c.wrong || format == 0 || c.at != c.end || version >> 32 != out->head.no)
        return fail(err, PAWL_CORRUPT, "%s: %s: its head does not have the form of one", h->methods.name, run);
    head_compute(out);
    out->hint = hint_key(out);
    return PAWL_OK;
}

void head_lend(simple_handle *h, const simple_run *r, pawl_head *out)
{
    arena *mem = &h->lent;

    *out = r->head;
    out->run = arena_text(mem, r->head.run);
    out->machine = arena_text(mem, r->head.machine);
    out->context = arena_text(mem, r->head.context);
    out->parent = arena_text(mem, r->head.parent);
    out->owner = arena_text(mem, r->head.owner);
    out->parked = arena_text(mem, r->head.parked);
}
