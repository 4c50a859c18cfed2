/* compact_test.c - conversations that grow too long: when they are made shorter, of what, by whom, and that they go on; and what breaks a prompt
 * cache. */
#include "agenting.h"

/* ---- said short ------------------------------------------------------------------------------------------ */

/* The model answers, and its request and answer had so many tokens. */
static void says(world *w, const char *text, const char *calls, int tokens)
{
    char reply[16384], json[16384 + 128];
    char *usage;

    if (!model_reply(reply, sizeof reply, text, calls) || (usage = strstr(reply, ",\"usage\":")) == NULL)
        CHECK_FAIL("no calls: %s", calls);
    *usage = '\0';
    snprintf(json, sizeof json, "%s,\"usage\":{\"cache_read_tokens\":%d,\"input_tokens\":1,\"output_tokens\":1}}", reply, tokens - 2);
    comes(w, "llm", PAWL_OUTCOME_DONE, json);
}

static void sums_up(world *w, const char *summary)
{
    char json[1024];

    CHECK(strstr(world_get(w, "@agent"), "compacting") != NULL);
    snprintf(json, sizeof json, "{\"message\":{\"content\":[{\"text\":\"%s\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end_turn\"}", summary);
    comes(w, "llm", PAWL_OUTCOME_DONE, json);
    check_valid(w);
}

/* A round: the model reads a file of so many bytes. */
static void reads(world *w, const char *id, int size, int tokens)
{
    char uses[96], *result = malloc((size_t)size + 3);

    snprintf(uses, sizeof uses, "read_file %s {\"file_path\":\"a\"}", id);
    says(w, NULL, uses, tokens);
    memset(result, 'x', (size_t)size + 2);
    result[0] = result[size + 1] = '"';
    result[size + 2] = '\0';
    comes(w, id, PAWL_OUTCOME_DONE, result);
    free(result);
}

static bool compacting(world *w)
{
    return strstr(world_get(w, "@agent"), "\"phase\":\"compacting\"") != NULL;
}

/* What the model is asked now. Lives until the next look. */
static const pawl_value *asked(world *w)
{
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && cmd.effect != NULL && strcmp(cmd.effect, "llm") == 0)
            return cmd.args;
    CHECK_FAIL("nobody asks the model");
    return NULL;
}

static void begun(world *w, int64_t tokens, bool drops, const char *input)
{
    pawl_agent a = agent_plain();

    a.compact_tokens = tokens;
    a.compact_drops = drops;
    agent_begin(w, &a, input);
}

static const char over[] = "{\"message\":{\"content\":[],\"role\":\"assistant\"},\"stop\":\"context_exceeded\"}";
static const char over_400[] = "{\"attempts\":1,\"code\":\"limit\",\"text\":\"Context exceeded: 400 invalid_request_error: prompt is too long\"}";

/* ---- between turns ----------------------------------------------------------------------------------------- */

PAWL_TEST(test_a_long_conversation_is_summed_up)
{
    world w;

    begun(&w, 15, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 15);
    world_signal(&w, "input", "{\"content\":\"never touch /etc\",\"pinned\":true}");
    sums_up(&w, "they said one");
    CHECK_STR(roles(&w), "user user");
    CHECK_STR(content_at(&w, 0), "Summary of the conversation so far:\n\nthey said one");
    CHECK_STR(content_at(&w, 1), "never touch /etc");
    says(&w, "2", NULL, 16);
    world_signal(&w, "input", "\"three\"");
    CHECK(!compacting(&w));             /* it has not grown since */
    says(&w, "3", NULL, 20);
    world_signal(&w, "input", "\"four\"");
    world_crash(&w);
    sums_up(&w, "sum");
    CHECK_STR(roles(&w), "user user user");
    CHECK_STR(content_at(&w, 1), "never touch /etc");   /* what is pinned stays to the letter */
    CHECK_STR(content_at(&w, 2), "four");
    says(&w, "4", NULL, 10);
    world_end(&w);
}

PAWL_TEST(test_a_summary_is_asked_for_with_the_prefix_that_is_cached)
{
    const pawl_value *args;
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 120);
    world_signal(&w, "input", "\"two\"");
    args = asked(&w);
    CHECK_STR(pawl_value_string(pawl_value_get(args, "tool_choice")), "none");

    CHECK_STR(pawl_value_string(pawl_value_find(args, "/tools/0/name")), "read_file");
    CHECK_STR(pawl_value_string(pawl_value_at(pawl_value_get(args, "system"), 0)), "You help.");
    CHECK_INT(pawl_value_int(pawl_value_get(args, "upto")), 2);        /* and not what nobody has answered */
    CHECK_INT(pawl_value_size(pawl_value_get(args, "messages")), 3);
    CHECK(strncmp(pawl_value_string(pawl_value_get(args, "then")), "Summarise", 9) == 0);
    sums_up(&w, "sum");
    CHECK(pawl_value_get(asked(&w), "upto") == NULL);
    CHECK(pawl_value_get(asked(&w), "tool_choice") == NULL);
    says(&w, "2", NULL, 50);
    world_end(&w);
}

PAWL_TEST(test_a_summary_alone_is_not_summed_up)
{
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 120);
    world_signal(&w, "input", "\"two\"");
    sums_up(&w, "sum");
    reads(&w, "r1", 10, 110);
    reads(&w, "r2", 10, 115);           /* grown by less than a quarter of 100 */
    CHECK(!compacting(&w));
    says(&w, "2", NULL, 116);
    world_signal(&w, "input", "{\"content\":\"three\",\"pinned\":true}");
    CHECK(!compacting(&w));
    says(&w, "3", NULL, 135);
    world_signal(&w, "input", "\"four\"");
    sums_up(&w, "more");
    CHECK_STR(roles(&w), "user user user");
    says(&w, NULL, "read_file r3 {\"file_path\":\"a\"}", 500);
    comes(&w, "r3", PAWL_OUTCOME_DONE, "\"\"");
    CHECK(!compacting(&w));             /* the summary, what is pinned, and a turn of which nothing is settled */
    says(&w, "4", NULL, 600);
    world_end(&w);
}

PAWL_TEST(test_old_results_are_dropped)
{
    world w;

    begun(&w, 15, true, "{\"input\":\"one\"}");
    reads(&w, "r1", 588, 15);
    says(&w, "1", NULL, 16);
    world_signal(&w, "input", "\"two\"");
    CHECK_STR(roles(&w), "user assistant tool:r1 assistant user");
    CHECK_STR(content_at(&w, 2), "[590 bytes, dropped]");
    says(&w, "2", NULL, 16);
    world_signal(&w, "input", "\"three\"");
    says(&w, "3", NULL, 30);
    world_signal(&w, "input", "\"four\"");      /* there is nothing more of that kind */
    says(&w, "4", NULL, 31);
    CHECK_INT(told_times(&w, "emit compact "), 1);
    world_end(&w);
}

/* ---- in a turn ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_a_long_turn_is_summed_up_but_for_its_last_round)
{
    static const char both[] = "read_file r3 {\"file_path\":\"a\"};read_file r4 {\"file_path\":\"b\"}";
    world w;

    begun(&w, 100, false, "{\"@once\":\"run\",\"input\":\"go\"}");
    reads(&w, "r1", 10, 200);
    CHECK(!compacting(&w));             /* of one round nothing is settled */
    reads(&w, "r2", 10, 210);
    CHECK_INT(pawl_value_int(pawl_value_get(asked(&w), "upto")), 3);
    sums_up(&w, "r1 was read");
    CHECK_STR(roles(&w), "user user assistant tool:r2");
    CHECK_STR(content_at(&w, 1), "go");
    says(&w, NULL, both, 205);
    comes(&w, "r3", PAWL_OUTCOME_DONE, "\"\"");
    comes(&w, "r4", PAWL_OUTCOME_DONE, "\"\"");
    CHECK(!compacting(&w));
    reads(&w, "r5", 10, 206);
    reads(&w, "r6", 10, 229);
    CHECK(!compacting(&w));             /* not again before it has grown by a quarter */
    reads(&w, "r7", 10, 230);
    CHECK_INT(pawl_value_int(pawl_value_get(asked(&w), "upto")), 11);
    world_crash(&w);
    sums_up(&w, "r1 to r6 were");
    CHECK_STR(roles(&w), "user user assistant tool:r7");
    CHECK_STR(content_at(&w, 0), "Summary of the conversation so far:\n\nr1 to r6 were");
    CHECK_STR(content_at(&w, 1), "go");
    CHECK_INT(told_times(&w, "emit compact "), 2);
    says(&w, "done", NULL, 150);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_turns_before_and_rounds_of_this_one_are_one_summary)
{
    world w;

    begun(&w, 100, false, "{\"input\":{\"content\":\"be kind\",\"pinned\":true}}");
    says(&w, "1", NULL, 50);
    world_signal(&w, "input", "\"two\"");
    reads(&w, "r1", 10, 60);
    reads(&w, "r2", 10, 120);
    CHECK_INT(pawl_value_int(pawl_value_get(asked(&w), "upto")), 5);
    sums_up(&w, "sum");
    CHECK_STR(roles(&w), "user user user assistant tool:r2");
    CHECK_STR(content_at(&w, 1), "be kind");
    CHECK_STR(content_at(&w, 2), "two");
    says(&w, "2", NULL, 90);
    world_signal(&w, "input", "\"three\"");
    says(&w, "3", NULL, 125);
    world_signal(&w, "input", "\"four\"");
    sums_up(&w, "sum");
    CHECK_STR(roles(&w), "user user user");     /* of a turn that is over, its input is summed up, too */
    CHECK_STR(content_at(&w, 2), "four");
    says(&w, "4", NULL, 50);
    world_end(&w);
}

PAWL_TEST(test_an_answer_in_several_parts_is_not_cut_apart)
{
    static const char part[] = "{\"message\":{\"content\":[{\"text\":\"so far\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"pause_turn\","
                               "\"usage\":{\"input_tokens\":%d,\"output_tokens\":5}}";
    char json[512];
    world w;

    begun(&w, 100, false, "{\"input\":\"go\"}");
    reads(&w, "r1", 10, 50);
    for (int i = 0; i < 3; i++) {
        snprintf(json, sizeof json, part, 100 + i);
        comes(&w, "llm", PAWL_OUTCOME_DONE, json);
        if (i == 0) {
            CHECK_INT(pawl_value_int(pawl_value_get(asked(&w), "upto")), 3);
            sums_up(&w, "r1 was read");
            CHECK_STR(roles(&w), "user user assistant");
        }
    }
    CHECK(!compacting(&w));
    CHECK_STR(roles(&w), "user user assistant assistant assistant");
    says(&w, "done", NULL, 300);
    world_end(&w);
}

PAWL_TEST(test_results_of_a_long_turn_are_dropped_but_for_its_last_round)
{
    world w;

    begun(&w, 100, true, "{\"@once\":\"run\",\"input\":\"go\"}");
    reads(&w, "r1", 300, 120);
    reads(&w, "r2", 300, 200);
    CHECK_STR(roles(&w), "user assistant tool:r1 assistant tool:r2");
    CHECK_STR(content_at(&w, 2), "[302 bytes, dropped]");
    CHECK_INT(strlen(content_at(&w, 4)), 300);
    reads(&w, "r3", 10, 150);
    reads(&w, "r4", 10, 160);
    CHECK_INT(strlen(content_at(&w, 4)), 300);
    reads(&w, "r5", 10, 175);
    CHECK_STR(content_at(&w, 4), "[302 bytes, dropped]");
    CHECK_STR(content_at(&w, 6), "xxxxxxxxxx");         /* as long as the line that it would be */
    check_valid(&w);
    CHECK_INT(told_times(&w, "emit compact "), 2);
    CHECK_INT(told_times(&w, "compacting"), 0);      /* nobody was asked for a summary */
    says(&w, "done", NULL, 100);
    world_end(&w);
}

/* ---- too long for the model ------------------------------------------------------------------------------------- */

PAWL_TEST(test_one_that_overflows_is_summed_up_once)
{
    static const char *const ways[] = { over, over_400 };

    for (size_t i = 0; i < 2; i++) {
        const pawl_outcome outcome = i == 0 ? PAWL_OUTCOME_DONE : PAWL_OUTCOME_ERROR;
        world w;

        begun(&w, 0, false, "{\"input\":\"one\"}");
        says(&w, "1", NULL, 10);
        world_signal(&w, "input", "\"two\"");
        comes(&w, "llm", outcome, ways[i]);
        sums_up(&w, "sum");
        CHECK_STR(roles(&w), "user user");
        comes(&w, "llm", outcome, ways[i]);
        CHECK_STR(agent_shows(&w), "error");
        CHECK(strstr(world_get(&w, "@agent"), "LLM error: the conversation is too long for the model, also after it was made shorter") != NULL);
        CHECK_STR(command_of(&w, "llm"), "");
        world_signal(&w, "input", "\"three\"");         /* it lives */
        says(&w, "3", NULL, 10);
        CHECK_STR(agent_shows(&w), "idle");
        world_end(&w);
    }
}

PAWL_TEST(test_one_that_overflows_drops_results_where_nothing_is_declared)
{
    world w;

    begun(&w, 0, false, "{\"@once\":\"run\",\"input\":\"one\"}");
    reads(&w, "r1", 300, 10);
    reads(&w, "r2", 300, 10);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK(!compacting(&w));
    CHECK_STR(content_at(&w, 2), "[302 bytes, dropped]");
    CHECK_INT(strlen(content_at(&w, 4)), 300);
    world_crash(&w);
    reads(&w, "r3", 300, 10);           /* it was answered, so the next one may be made shorter once, too */
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(content_at(&w, 4), "[302 bytes, dropped]");
    says(&w, "done", NULL, 10);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_one_that_overflows_at_once_says_so)
{
    static const char part[] = "{\"message\":{\"content\":[{\"text\":\"half\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"context_exceeded\"}";
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "too long for the model, and nothing of it can be left out: ") != NULL);
    CHECK(strstr(world_get(&w, "@agent"), ": Context exceeded: 400 invalid_request_error: prompt is too long\"") != NULL);
    world_signal(&w, "input", "\"two\"");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"limit\",\"text\":\"Invalid response: an event over 4 MiB\"}");
    CHECK(strstr(world_get(&w, "@agent"), "LLM error: Invalid response") != NULL);      /* another limit */
    world_signal(&w, "input", "\"three\"");
    comes(&w, "llm", PAWL_OUTCOME_DONE, part);
    CHECK(compacting(&w));
    sums_up(&w, "sum");
    comes(&w, "llm", PAWL_OUTCOME_DONE, part);  /* what it could say is an answer */
    CHECK_STR(agent_shows(&w), "idle");
    CHECK_STR(world_get(&w, "output"), "\"half\"");
    world_end(&w);
}

/* ---- too long by itself ------------------------------------------------------------------------------------------- */

/* The model reads what comes to it as `result`, a JSON text. */
static void reads_json(world *w, const char *id, const char *result)
{
    char uses[96];

    snprintf(uses, sizeof uses, "read_file %s {\"file_path\":\"a\"}", id);
    says(w, NULL, uses, 10);
    comes(w, id, PAWL_OUTCOME_DONE, result);
}

/* What a cut text says of itself has to be so: what is left of it and what is missing are the whole. */
static void check_cut(const char *text, size_t most, size_t whole)
{
    const char *note = strstr(text, "\n["), *behind;
    size_t missing, of;

    CHECK(strlen(text) <= most && strlen(text) > most / 2);
    CHECK(note != NULL && sscanf(note, "\n[%zu of %zu bytes are left out here", &missing, &of) == 2);
    CHECK((behind = strstr(note, " --json]\n")) != NULL);
    CHECK_INT(of, whole);
    CHECK_INT((size_t)(note - text) + missing + strlen(behind + 9), whole);
    CHECK(strstr(behind + 9, "left out here") == NULL);
}

PAWL_TEST(test_a_result_that_is_too_long_alone_is_cut_until_it_fits)
{
    world w;

    begun(&w, 0, false, "{\"@once\":\"run\",\"input\":\"go\"}");
    reads(&w, "r1", 16000, 10);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(agent_shows(&w), "processing");
    check_cut(content_at(&w, 2), 8000, 16000);
    CHECK(strstr(content_at(&w, 2), "ask for less of it at a time. All of it is kept: pawl log ") != NULL);
    world_crash(&w);
    comes(&w, "llm", PAWL_OUTCOME_DONE, over);
    check_cut(content_at(&w, 2), 4000, 16000);
    CHECK_STR(roles(&w), "user assistant tool:r1");
    CHECK_STR(content_at(&w, 0), "go");
    check_valid(&w);
    CHECK_INT(told_times(&w, "emit compact {\"from\":3,\"method\":\"cut\",\"to\":3}"), 2);
    CHECK_INT(told_times(&w, "1 of 3 messages are cut in what it is sent"), 2);
    CHECK_INT(told_times(&w, "emit cache_break {\"cause\":\"compaction\"}"), 2);
    says(&w, "done", NULL, 10);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_what_is_longest_is_cut_and_what_is_short_stays)
{
    static const char two[] = "read_file r2 {\"file_path\":\"a\"};read_file r3 {\"file_path\":\"b\"};read_file r4 {\"file_path\":\"c\"}";
    char result[12003], *at = result;
    world w;

    begun(&w, 0, false, "{\"@once\":\"run\",\"input\":\"go\"}");
    reads(&w, "r1", 3000, 10);
    says(&w, NULL, two, 10);
    comes(&w, "r2", PAWL_OUTCOME_DONE, "\"short\"");
    *at++ = '"';
    for (int i = 0; i < 1000; i++)
        at += snprintf(at, 16, "line%04d\\n", i);
    *at++ = '"';
    *at = '\0';
    comes(&w, "r3", PAWL_OUTCOME_DONE, result);
    comes(&w, "r4", PAWL_OUTCOME_ERROR, "{\"code\":\"effect\",\"text\":\"no such file\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(content_at(&w, 2), "[3002 bytes, dropped]");      /* what is settled goes first */
    CHECK_INT(strlen(content_at(&w, 5)), 9000);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    sums_up(&w, "r1 was read");
    CHECK_INT(strlen(content_at(&w, 4)), 9000);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(roles(&w), "user user assistant tool:r2 tool:r3 tool:r4");
    CHECK_STR(content_at(&w, 3), "short");
    check_cut(content_at(&w, 4), 4500, 9000);
    CHECK(strncmp(content_at(&w, 4), "line0000\nline0001\n", 18) == 0);
    CHECK(strstr(content_at(&w, 4), "\n\n[") != NULL);           /* whole lines before it, and behind */
    CHECK(strncmp(strstr(content_at(&w, 4), " --json]\n") + 9, "line", 4) == 0);
    CHECK_STR(content_at(&w, 5), "Error: no such file");
    says(&w, "done", NULL, 10);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_no_character_is_torn_and_blocks_that_are_no_text_go_last)
{
    static const char image[] = ",{\"data\":\"AAAA\",\"media_type\":\"image/png\",\"type\":\"image\"}]}";
    char result[16000], *at = result;
    const pawl_value *content;
    world w;

    begun(&w, 0, false, "{\"@once\":\"run\",\"input\":\"go\"}");
    at += snprintf(at, sizeof result, "{\"content\":[{\"text\":\"");
    for (int i = 0; i < 3001; i++)
        at += snprintf(at, 4, "\u20ac");
    snprintf(at, sizeof result - (size_t)(at - result), "\",\"type\":\"text\"}%s", image);
    reads_json(&w, "r1", result);
    for (int most = 4502; most >= 2251; most -= 2251) {
        comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
        content = pawl_value_get(pawl_value_at(pawl_state_get(w.st, "messages"), 2), "content");
        CHECK_INT(pawl_value_size(content), 2);
        CHECK_STR(pawl_value_string(pawl_value_find(content, "/1/type")), "image");
        check_cut(pawl_value_string(pawl_value_find(content, "/0/text")), (size_t)most, 9003);
    }
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);     /* 2,000 bytes of it are left, and now the image goes */
    CHECK(strstr(content_at(&w, 2), "[image of 55 bytes is left out: it is too long for the model]") != NULL);
    says(&w, "done", NULL, 10);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_one_that_never_fits_ends)
{
    int n = 0;
    world w;

    begun(&w, 0, false, "{\"input\":\"go\"}");
    reads(&w, "r1", 30000, 10);
    reads(&w, "r2", 30000, 10);
    for (; *command_of(&w, "llm") != '\0'; n++)
        comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK(n >= 4 && n < 20);
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "could not be made shorter: it is too long for that, too: ") != NULL);
    check_valid(&w);
    world_signal(&w, "input", "\"more\"");
    says(&w, "done", NULL, 10);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_what_a_user_says_is_not_cut_in_its_turn_and_is_in_the_next)
{
    char input[9002];
    world w;

    memset(input, 'y', sizeof input);
    input[0] = input[sizeof input - 2] = '"';
    input[sizeof input - 1] = '\0';
    begun(&w, 0, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 10);
    world_signal(&w, "input", input);
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    sums_up(&w, "sum");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "LLM error: the conversation is too long for the model, also after it was made shorter: what is said in this turn has 9027 of ") != NULL);
    CHECK(strstr(world_get(&w, "@agent"),
                 " bytes; say it in parts, or put it into a file that is read piece by piece, or take a model that reads more: Context") != NULL);
    CHECK_INT(strlen(content_at(&w, 1)), 8999);
    world_signal(&w, "input", "\"three\"");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK(compacting(&w));
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);     /* no summary of it is to be had */
    check_cut(content_at(&w, 1), 4499, 8999);
    CHECK(strstr(content_at(&w, 1), "ask for less") == NULL);
    CHECK_INT(told_times(&w, "could not be summed up, and what is longest was cut: it is too long for that, too"), 1);
    CHECK_STR(roles(&w), "user user user");
    says(&w, "3", NULL, 10);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_the_error_names_what_has_most)
{
    static const struct { const char *update, *says; } rows[] = {
        { "{\"@system\":\"%s\"}", "the system prompt has 4" },
        { "{\"@pinned\":\"%s\"}", "the system prompt has 4" },
        { "{\"@tools\":[{\"description\":\"%s\",\"name\":\"read_file\"}]}", "the tools have 5" },
    };
    char text[4001], json[4100];

    memset(text, 'z', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world w;

        begun(&w, 0, false, "{\"input\":\"one\"}");
        says(&w, "1", NULL, 10);
        snprintf(json, sizeof json, rows[i].update, text);
        world_update(&w, NULL, json);
        world_signal(&w, "input", "\"two\"");
        comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
        sums_up(&w, "sum");
        comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
        CHECK(strstr(world_get(&w, "@agent"), rows[i].says) != NULL);
        world_end(&w);
    }
}

/* ---- summaries that fail ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_A2_a_summary_is_asked_for_again)
{
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 120);
    world_signal(&w, "input", "\"two\"");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"retry_after_ms\":90000,\"text\":\"API error: 529 overloaded_error\"}");
    CHECK_STR(command_of(&w, "llm"), "");
    CHECK_INT(told_times(&w, "\"again_in_ms\":90000"), 1);
    world_crash(&w);
    wakes(&w);
    CHECK(compacting(&w));
    CHECK_INT(pawl_value_int(pawl_value_get(asked(&w), "retry")), 1);
    comes(&w, "llm", PAWL_OUTCOME_TIMEOUT, NULL);
    wakes(&w);
    sums_up(&w, "sum");
    CHECK_STR(roles(&w), "user user");
    CHECK(pawl_value_get(asked(&w), "retry") == NULL);  /* another request, with all its tries */
    for (int i = 0; i < 2; i++) {
        comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
        wakes(&w);
        CHECK(!compacting(&w));
    }
    says(&w, "2", NULL, 50);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_a_summary_that_fails_for_good_ends_no_turn)
{
    static const char denied[] = "{\"code\":\"denied\",\"text\":\"no\"}";
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    reads(&w, "r1", 300, 50);
    says(&w, "1", NULL, 120);
    world_signal(&w, "input", "\"two\"");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, denied);
    CHECK_STR(roles(&w), "user assistant tool:r1 assistant user");
    CHECK_STR(content_at(&w, 2), "[302 bytes, dropped]");
    CHECK_INT(told_times(&w, "{\"note\":\"The conversation could not be summed up, and results of tools were left out: no\"}"), 1);
    says(&w, "2", NULL, 120);
    world_signal(&w, "input", "\"three\"");
    says(&w, "3", NULL, 145);
    world_signal(&w, "input", "\"four\"");
    for (int i = 0; i < 3; i++) {
        comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[],\"role\":\"assistant\"},\"stop\":\"refusal\"}");
        if (i < 2)
            wakes(&w);
    }
    CHECK_INT(told_times(&w, "and goes on as it is: there is no summary in the answer"), 1);
    CHECK(!compacting(&w));
    says(&w, "4", NULL, 150);
    world_signal(&w, "input", "\"five\"");
    CHECK(!compacting(&w));             /* not for each request */
    says(&w, "5", NULL, 170);
    world_signal(&w, "input", "\"six\"");
    CHECK(compacting(&w));
    sums_up(&w, "sum");
    says(&w, "6", NULL, 170);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_a_summary_that_is_too_long_itself_is_not_tried_again)
{
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 50);
    world_signal(&w, "input", "\"two\"");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK(compacting(&w));
    comes(&w, "llm", PAWL_OUTCOME_ERROR, over_400);
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(world_get(&w, "@agent"), "could not be made shorter: it is too long for that, too") != NULL);
    world_end(&w);
}

PAWL_TEST(test_A4_while_a_summary_waits_to_be_asked_for_again)
{
    world w;

    begun(&w, 100, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 120);
    world_signal(&w, "input", "\"two\"");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(roles(&w), "user assistant user user");
    CHECK_INT(pawl_state_commands(w.st), 0);
    world_signal(&w, "input", "\"three\"");
    sums_up(&w, "sum");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
    wakes(&w);
    CHECK(!compacting(&w));
    says(&w, "3", NULL, 50);
    world_end(&w);
}

PAWL_TEST(test_A8_what_was_left_out_is_not_reserved)
{
    pawl_agent a = agent_plain();
    char input[6000];
    pawl_spent spent;
    world w;

    a.max_tokens = 100;
    a.ntools = 0;
    a.compact_tokens = 1000;
    memset(input, 'x', sizeof input);
    memcpy(input, "{\"input\":\"", 10);
    memcpy(input + sizeof input - 3, "\"}", 3);
    world_budget((pawl_caps){ .tokens = 100000 });
    agent_begin(&w, &a, input);
    world_budget((pawl_caps){0});
    says(&w, "1", NULL, 1500);
    world_signal(&w, "input", "\"two\"");
    sums_up(&w, "sum");
    CHECK(pawl_state_spent(w.st, &spent));
    CHECK(spent.reserved.tokens > 100 && spent.reserved.tokens < 500);
    says(&w, "2", NULL, 50);
    world_end(&w);
}

/* ---- prompt caches ---------------------------------------------------------------------------------------------------- */

static void next_turn(world *w)
{
    world_signal(w, "input", "\"more\"");
    says(w, "so", NULL, 10);
}

PAWL_TEST(test_what_breaks_a_cache_is_told)
{
    world w;

    begun(&w, 0, false, "{\"@mode\":\"bypassPermissions\",\"input\":\"one\"}");
    says(&w, "1", NULL, 10);
    next_turn(&w);
    world_update(&w, NULL, "{\"@mode\":\"plan\"}");
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break"), 0);
    world_update(&w, NULL, "{\"@config\":{\"max_tokens\":10,\"model\":\"script:other\"}}");
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break {\"cause\":\"model\"}"), 1);
    next_turn(&w);
    world_update(&w, NULL, "{\"@system\":\"You do not.\"}");
    next_turn(&w);
    world_update(&w, NULL, "{\"@pinned\":\"be brief\"}");
    world_crash(&w);
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break {\"cause\":\"system\"}"), 2);
    world_signal(&w, "input", "\"look\"");
    says(&w, NULL, "tool_search s1 {\"query\":\"internet\"};tool_search s2 {\"query\":\"page\"}", 10);
    CHECK_STR(content_at(&w, pawl_value_size(pawl_state_get(w.st, "messages")) - 1), "These are there now: web_fetch");
    CHECK(strstr(strstr(world_get(&w, "@tools"), "web_fetch") + 1, "web_fetch") == NULL);
    says(&w, "so", NULL, 10);
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break {\"cause\":\"tools\"}"), 1);
    world_update(&w, NULL, "{\"@config\":{\"model\":\"script:other\",\"thinking\":{\"budget_tokens\":2000}}}");
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break {\"cause\":\"thinking\"}"), 1);
    CHECK_INT(told_times(&w, "emit cache_break"), 5);
    world_end(&w);
}

PAWL_TEST(test_a_fork_with_another_model_tells_so)
{
    world w;

    begun(&w, 0, false, "{\"input\":\"one\"}");
    says(&w, "1", NULL, 10);
    world_fork(&w, &(pawl_run_info){ .id = "fork-1", .life = 9, .created_ms = 77000 });
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break"), 0);        /* what was cached of the other run fits */
    world_fork(&w, &(pawl_run_info){ .id = "fork-2", .life = 10, .created_ms = 78000 });
    world_update(&w, NULL, "{\"@config\":{\"model\":\"script:other\"}}");
    next_turn(&w);
    CHECK_INT(told_times(&w, "emit cache_break {\"cause\":\"model\"}"), 1);
    world_end(&w);
}
