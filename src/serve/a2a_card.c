/* a2a_card.c - agent cards: of this server, or of one of its machines. Loop thread.
 *
 * The card needs no token, since a client finds out by it how to ask. What is inside a machine, its nodes and tools, is in the extended card, which does,
 * and which has only the machines that its caller may see. */
#include "serve/a2a_call.h"

#include <stdio.h>
#include <time.h>

enum { TAKERS_MAX = 64, URL_BYTES = 600, MACHINE_BYTES = 129 };

/* Of the server, or of the machine in the path. False: there is no such machine. */
static bool takers_of(const server *s, const asker *who, const char *machine, const a2a_taker *takers[TAKERS_MAX], a2a_taker bare[TAKERS_MAX], a2a_card *card)
{
    const serve_config *config = s->config;

    card->ntakers = 0;
    for (size_t i = 0; i < config->nmachines && card->ntakers < TAKERS_MAX; i++) {
        const serve_machine *m = &config->machines[i];

        if ((machine != NULL && strcmp(machine, m->name) != 0) || (who != NULL && !machine_fits(who, m)))
            continue;
        bare[card->ntakers] = m->taker;
        if (who == NULL)
            bare[card->ntakers].ntags = 0;
        takers[card->ntakers] = &bare[card->ntakers];
        card->ntakers++;
    }
    card->takers = takers;
    return machine == NULL || card->ntakers > 0;
}

static void card_make(server *s, http_req *r, const asker *who, const char *machine, a2a_card_shape shape, buf *b, bool *there)
{
    const a2a_taker *takers[TAKERS_MAX];
    a2a_taker bare[TAKERS_MAX];
    char url[URL_BYTES];
    a2a_card card = { .url = url, .token = s->config->token != NULL, .server_version = PAWL_VERSION };
    const char *host = http_host(r);

    *there = takers_of(s, who, machine, takers, bare, &card);
    if (s->config->url != NULL)
        snprintf(url, sizeof url, "%.300s%s%s", s->config->url, machine != NULL ? "/a2a/" : "", machine != NULL ? machine : "");
    else
        snprintf(url, sizeof url, "http://%.250s%s%s", *host != '\0' ? host : "localhost", machine != NULL ? "/a2a/" : "", machine != NULL ? machine : "");
    a2a_card_put(b, &card, shape);
}

static a2a_card_shape shape_of(const char *version)
{
    return version != NULL && strncmp(version, "0.3", 3) == 0 ? A2A_CARD_0_3 : A2A_CARD_1_0;
}

/* "/a2a/NAME/.well-known/agent-card.json" -> NAME. False: it is of the server. */
static bool machine_in(const char *path, char out[MACHINE_BYTES])
{
    const size_t n = strncmp(path, "/a2a/", 5) == 0 ? strcspn(path + 5, "/") : 0;

    if (n == 0 || n >= MACHINE_BYTES)
        return false;
    memcpy(out, path + 5, n);
    out[n] = '\0';
    return true;
}

void serve_a2a_card(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const char *known = http_header(r, "if-none-match");
    char machine[MACHINE_BYTES], tag[HASH_HEX + 3] = "\"", when[64] = "";
    const bool one = machine_in(http_path(r), machine);
    const time_t began = (time_t)(s->started_ms / 1000);        /* a card is as old as its server */
    struct tm tm;
    bool there;
    hash h;
    buf b;

    (void)by, (void)run, (void)p;
    if (!guard_reaches(s, r))
        return;
    buf_init(&b, NULL);
    card_make(s, r, NULL, one ? machine : NULL, shape_of(http_header(r, "a2a-version")), &b, &there);
    if (b.failed || !there) {
        buf_free(&b);
        problem(r, there ? 503 : 404, there ? "nomem" : "gone", there ? "no memory for this card" : "no such machine here");
        return;
    }
    hash_of(b.data, b.size, &h);
    hash_hex(&h, tag + 1);
    memcpy(tag + 1 + HASH_HEX, "\"", 2);
    if (gmtime_r(&began, &tm) != NULL)
        strftime(when, sizeof when, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    const http_field fields[] = { { "ETag", tag }, { "Cache-Control", "public, max-age=60" }, { "Vary", "A2A-Version" }, { "Last-Modified", when },
        { "Content-Type", "application/json" } };
    const bool same = known != NULL && (strcmp(known, "*") == 0 || strstr(known, tag) != NULL);

    http_reply(r, same ? 304 : 200, fields, same ? 4 : 5, b.data, b.size);
    buf_free(&b);
}

void a2a_extended_card(a2a_call *c)
{
    bool there;
    buf b;

    buf_init(&b, NULL);
    card_make(c->s, c->r, c->by.who, c->machine != NULL ? c->machine->name : NULL, c->q.version == A2A_1_0 ? A2A_CARD_1_0 : A2A_CARD_0_3, &b, &there);
    a2a_reply_result(c, &b);
}
