/* dot.c - a picture made by the program `dot`.
 *
 * Called by the verb draw, on the main thread. Owns nothing. */
#include "cli/ui/dot.h"
#include "effect/effect.h"
#include "pawl/effect.h"

static bool never(const pawl_job *job)
{
    (void)job;
    return false;
}

static void nothing(const pawl_job *job) { (void)job; }

static size_t line_of(const buf *text)
{
    size_t n = 0;

    while (n < text->size && text->data[n] != '\n')
        n++;
    return n;
}

pawl_code dot_svg(const char *text, buf *svg, pawl_err *err)
{
    pawl_alloc mem = mem_or_default(NULL);
    const pawl_value *out;
    pawl_reply reply;
    pawl_job job = { .id = "draw", .effect = "dot", .attempt = 1, .canceled = never, .heartbeat = nothing };
    pawl_code rc;
    arena a;

    arena_init(&a, NULL, 4096);
    reply_init(&reply, &mem);
    job.args = value_pack(&a, err, "{s:[s,s],s:s,s:i,s:b,s:i}", "run", "dot", "-Tsvg", "stdin", text, "timeout_ms", (int64_t)60000, "check", 1, "output_bytes",
                          (int64_t)64 << 20);
    rc = job.args == NULL ? PAWL_NOMEM : pawl_effect_command(&job, &reply, NULL);
    if (rc == PAWL_OK) {
        buf_char(&reply.text, '\0');
        out = value_parse(&a, reply.text.data, reply.text.size - 1, "dot", err);
        buf_text(svg, pawl_value_string(pawl_value_get(out, "stdout")) != NULL ? pawl_value_string(pawl_value_get(out, "stdout")) : "");
        rc = svg->failed ? PAWL_NOMEM : PAWL_OK;
    } else if (rc == PAWL_EFFECT) {
        fail(err, PAWL_EFFECT, "%s: %.*s", reply_why(&reply), (int)line_of(&reply.detail), reply.detail.data != NULL ? reply.detail.data : "");
    } else {
        rc = fail(err, PAWL_GONE, "SVG is made by the program dot, which is not installed: apt-get install graphviz; or --format dot, mermaid or text");
    }
    reply_free(&reply);
    arena_free(&a);
    return rc;
}
