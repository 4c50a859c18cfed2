/* exporting.c - the spans of a store are sent while a verb is at work. Called on the main thread; notes come from the exporter's thread. */
#include "cli/exporting.h"
#include "effect/trace_context.h"

static void note(void *ctx, const char *text) { cli_note(ctx, "%s", text); }

int exporting_begin(spans_out *x, cli_call *c)
{
    pawl_err err = { 0 };
    pawl_store *store;

    *x = (spans_out){ .plan = exporter_plan_new(cli_given(c, "otlp"), &err) };
    if (x->plan == NULL)
        return err.code == PAWL_OK ? EXIT_DONE : err.code == PAWL_INVALID ? cli_usage(c, "%s", err.text) : cli_fail(c, err.code, &err);
    if ((store = cli_store(c, true, &err)) != NULL && (x->of = exporter_begin(x->plan, store, note, c, &err)) != NULL) {
        cli_note(c, "spans are sent to %s", exporter_plan_url(x->plan));
        trace_context_send(true);
        return EXIT_DONE;
    }
    exporting_end(x);
    return cli_fail(c, err.code, &err);
}

void exporting_end(spans_out *x)
{
    exporter_end(x->of);
    exporter_plan_free(x->plan);
    *x = (spans_out){ .plan = NULL };
}
