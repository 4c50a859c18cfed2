/* fuzz_hook.c - whatever a hook prints, and whatever its matcher is (P4, P5): a verdict in words, never more than is allowed.
 *
 * The input: a byte for the status, one for the event, profile and form, then what was printed. */
#include "policy/hook.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_read(const char *text)
{
    must(text == NULL || (utf8_valid(text, strlen(text)) && strlen(text) <= 2 * HOOK_TEXT_BYTES + 2));
}

static void must_be(const verdict *v, hook_profile profile, bool well)
{
    must(v->behavior >= PAWL_BEHAVIOR_OPEN && v->behavior <= PAWL_BEHAVIOR_DENY);
    must(!v->open || (profile == HOOK_CLAUDE && v->reason != NULL));
    must(v->behavior != PAWL_BEHAVIOR_DENY || (v->reason != NULL && v->input == NULL && v->result == NULL && v->go == NULL && !v->defers));
    must(!v->stops || v->behavior == PAWL_BEHAVIOR_DENY);
    must(!v->defers || (v->behavior == PAWL_BEHAVIOR_ASK && v->defer_name != NULL));
    must(well || profile == HOOK_CLAUDE || v->behavior == PAWL_BEHAVIOR_DENY);
    must_read(v->reason);
    must_read(v->context);
    must_read(v->message);
    must_read(v->defer_name);
}

static const pawl_value *receipt_of(arena *a, unsigned form, int64_t status, const char *text, size_t size)
{
    const pawl_value *v = value_string(a, text, size), *json = value_parse(a, text, size, "fuzz", NULL);

    if (form == 0)
        return json;
    if (form == 1)
        return value_pack(a, NULL, "{s:i,s:v,s:v}", "status", status, "stdout", v, "stderr", v);
    return value_pack(a, NULL, "{s:i,s:v}", "status", 200 + status % 2 * 100, json != NULL ? "body_json" : "body", json != NULL ? json : v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const points[] = { "PreToolUse", "PostToolUse", "PostToolUseFailure", "before", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact",
                                          "SessionStart", "SessionEnd", "PostAssistantResponse", "Notification" };
    const char *why;
    hook_list list = { .count = 0 };
    pawl_err err = { PAWL_OK, "" };
    char *text;
    arena a;

    if (size < 2 || (text = malloc(size - 1)) == NULL)
        return 0;
    memcpy(text, data + 2, size - 2);
    text[size - 2] = '\0';
    arena_init(&a, NULL, 1024);
    for (int p = HOOK_STRICT; p <= HOOK_CLAUDE; p++) {
        const unsigned form = data[1] / 12 % 3;
        const int64_t status = data[0] % 4;
        const pawl_value *receipt = receipt_of(&a, form, status, text, size - 2);
        verdict v, all = { .behavior = PAWL_BEHAVIOR_OPEN };

        must(hook_verdict(&a, (hook_profile)p, points[data[1] % 12], receipt, &v, NULL) == PAWL_OK);
        must_be(&v, (hook_profile)p, form == 0 || (form == 1 ? status == 0 : status % 2 == 0));
        must(hook_merge(&a, &all, &v) == PAWL_OK && hook_merge(&a, &all, &v) == PAWL_OK);
        must_be(&all, (hook_profile)p, true);
        must(all.behavior == v.behavior && all.open == v.open);
    }
    must(hook_matcher_reads(text, &why) || hook_fits(text, "Bash"));
    (void)hook_fits(text, "mcp__server__tool");
    must(hooks_read(&a, value_parse(&a, text, size - 2, "fuzz", NULL), "fuzz", &list, &err) == err.code);
    must(err.code == PAWL_OK || list.count == 0);
    arena_free(&a);
    free(text);
    return 0;
}
