/* ask_test.c - a question put to a terminal, and what was typed as an answer: what fits, what does not, and what is said then. */
#include "cli/ui/view.h"
#include "lib/check.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- waits ------------------------------------------------------------------------------------------------ */

static arena mem;

static const pawl_value *value(const char *json)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = json == NULL ? NULL : value_parse(&mem, json, strlen(json), "a value", &err);

    if (json != NULL && v == NULL)
        CHECK_FAIL("%s", err.text);
    return v;
}

static pawl_wait wait_of(pawl_wait_kind kind, const char *prompt, const char *schema, const char *options)
{
    return (pawl_wait){ .id = "survey-7k2m~00000000000004d2/2.write.1.0", .slot = "write", .node = "write", .kind = kind,
                        .prompt = value(prompt), .schema = value(schema), .options = value(options) };
}

/* ---- answers ------------------------------------------------------------------------------------------------ */

static void answers(const pawl_wait *w, const char *text, const char *expected)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;
    buf json;

    buf_init(&json, NULL);
    rc = view_answer(w, text, &json, &err);
    buf_char(&json, '\0');
    CHECK_STR(rc == PAWL_OK ? json.data : err.text, expected);
    CHECK(rc == PAWL_OK ? err.code == PAWL_OK : rc == PAWL_INVALID && json.size == 1);
    buf_free(&json);
}

PAWL_TEST(test_W3_a_text_is_an_answer_when_it_fits)
{
    const pawl_wait whole = wait_of(PAWL_WAIT_QUESTION, "\"how many?\"", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}", NULL);
    const pawl_wait text = wait_of(PAWL_WAIT_QUESTION, "\"who?\"", "{\"type\":\"string\",\"minLength\":2}", NULL);
    const pawl_wait either = wait_of(PAWL_WAIT_QUESTION, "\"what?\"", "{\"type\":[\"string\",\"null\"]}", NULL);
    const pawl_wait any = wait_of(PAWL_WAIT_QUESTION, "\"go on?\"", NULL, NULL);
    const pawl_wait truth = wait_of(PAWL_WAIT_QUESTION, "\"is it?\"", "{\"type\":\"boolean\"}", NULL);
    const pawl_wait object = wait_of(PAWL_WAIT_QUESTION, "\"which?\"", "{\"type\":\"object\",\"required\":[\"a\",\"b\"]}", NULL);

    answers(&whole, "7", "7");
    answers(&whole, " 7\n", "7");
    answers(&whole, "11", "write: \"11\" does not fit: answer with a whole number from 1 to 10");
    answers(&whole, "seven", "write: \"seven\" does not fit: answer with a whole number from 1 to 10");
    answers(&whole, "", "write: \"\" does not fit: answer with a whole number from 1 to 10");
    answers(&text, "42", "\"42\"");
    answers(&text, "true", "\"true\"");
    answers(&text, "a \"b\"", "\"a \\\"b\\\"\"");
    answers(&text, "\"quoted\"", "\"quoted\"");
    answers(&text, "\"torn", "\"\\\"torn\"");
    answers(&text, "x", "write: \"x\" does not fit: answer with a text of at least 2 characters");
    answers(&text, "\xff\xff", "write: \"\\xff\\xff\" does not fit: answer with a text of at least 2 characters");
    answers(&either, "null", "null");
    answers(&either, "nothing", "\"nothing\"");
    answers(&any, "ok", "\"ok\"");
    answers(&any, "{\"a\":1}", "{\"a\":1}");
    answers(&truth, "Yes", "true");
    answers(&truth, "n", "false");
    answers(&truth, "perhaps", "write: \"perhaps\" does not fit: answer with yes or no");
    answers(&object, "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
    answers(&object, "{}", "write: \"{}\" does not fit: answer with an object with a, b, as JSON");
}

PAWL_TEST(test_W3_an_option_is_meant_by_what_it_says_or_by_its_number)
{
    const pawl_wait words = wait_of(PAWL_WAIT_QUESTION, "\"which?\"", NULL, "[\"red\",\"dark green\",{\"r\":1}]");
    const pawl_wait stand = wait_of(PAWL_WAIT_QUESTION, "\"which?\"", NULL,
                                    "[{\"label\":\"Red\",\"value\":\"r\"},{\"value\":[7]},{\"label\":\"None\",\"value\":null}]");
    const pawl_wait numbers = wait_of(PAWL_WAIT_QUESTION, "\"which?\"", "{\"type\":\"integer\"}", "[3,2,10]");
    const pawl_wait list = wait_of(PAWL_WAIT_QUESTION, "\"which?\"", "{\"enum\":[\"1st\",\"true\"]}", NULL);
    const pawl_wait yes = wait_of(PAWL_WAIT_APPROVAL, "\"may it?\"", NULL, "[\"yes, once\",\"never\"]");

    answers(&stand, "1", "\"r\"");
    answers(&stand, "r", "\"r\"");
    answers(&stand, "Red", "\"r\"");
    answers(&stand, "[7]", "[7]");
    answers(&stand, "None", "null");
    answers(&stand, "{}", "write: \"{}\" does not fit: answer with a number from 1 to 3, or one of: Red (r), [7], None (null)");
    answers(&words, "red", "\"red\"");
    answers(&words, " dark green ", "\"dark green\"");
    answers(&words, "2", "\"dark green\"");
    answers(&words, "{ \"r\" : 1 }", "{\"r\":1}");
    answers(&words, "4", "write: \"4\" does not fit: answer with a number from 1 to 3, or one of: red, dark green, {\"r\":1}");
    answers(&words, "0", "write: \"0\" does not fit: answer with a number from 1 to 3, or one of: red, dark green, {\"r\":1}");
    answers(&numbers, "2", "2");
    answers(&numbers, "1", "3");
    answers(&numbers, "10", "10");
    answers(&list, "true", "\"true\"");
    answers(&list, "2nd", "write: \"2nd\" does not fit: answer with one of 1st, true");
    answers(&yes, "y", "true");
    answers(&yes, "no", "false");
    answers(&yes, "1", "\"yes, once\"");
}

PAWL_TEST(test_W5_an_approval_is_a_yes_or_a_no)
{
    const pawl_wait gate = wait_of(PAWL_WAIT_APPROVAL, "\"write it?\"", "{\"type\":\"boolean\"}", NULL);
    const pawl_wait bare = wait_of(PAWL_WAIT_APPROVAL, "\"write it?\"", NULL, NULL);

    answers(&gate, "yes", "true");
    answers(&gate, "N", "false");
    answers(&gate, "1", "write: \"1\" does not fit: answer with yes or no");
    answers(&bare, "true", "true");
    answers(&bare, "sure", "write: \"sure\" does not fit: answer with yes or no");
}

/* What is asked when nobody knows what came of a command: its schema is no single type. */
PAWL_TEST(test_E5_a_doubt_is_answered_in_words_or_json)
{
    const pawl_wait doubt = wait_of(PAWL_WAIT_QUESTION, "{\"effect\":\"pay\",\"text\":\"pay was begun\"}",
                                    "{\"anyOf\":[{\"const\":\"again\"},{\"properties\":{\"done\":{}},\"required\":[\"done\"],\"type\":\"object\"}]}", NULL);
    pawl_err err = { PAWL_OK, "" };
    buf json;

    answers(&doubt, "again", "\"again\"");
    answers(&doubt, "{\"done\":5}", "{\"done\":5}");
    buf_init(&json, NULL);
    CHECK_INT(view_answer(&doubt, "what?", &json, &err), PAWL_INVALID);
    CHECK(strncmp(err.text, "write", 5) == 0);
    buf_free(&json);
}

/* ---- asked -------------------------------------------------------------------------------------------------- */

typedef struct sitting { int in, err; FILE *typed, *said; } sitting;

static void sit(sitting *s, const char *types)
{
    s->typed = tmpfile();
    s->said = tmpfile();
    CHECK(s->typed != NULL && s->said != NULL);
    fputs(types, s->typed);
    fflush(s->typed);
    fflush(stderr);
    lseek(fileno(s->typed), 0, SEEK_SET);
    s->in = dup(0);
    s->err = dup(2);
    dup2(fileno(s->typed), 0);
    dup2(fileno(s->said), 2);
}

static void rise(sitting *s, char *said, size_t size)
{
    size_t n;

    fflush(stderr);
    rewind(s->said);
    n = fread(said, 1, size - 1, s->said);
    said[n] = '\0';
    dup2(s->in, 0);
    dup2(s->err, 2);
    close(s->in);
    close(s->err);
    fclose(s->typed);
    fclose(s->said);
}

static void asks(const pawl_wait *w, const char *no, bool colour, const char *types, ask_result how, const char *answer, const char *said)
{
    cli_call c = { .err_tty = true, .err_colour = colour };
    char text[4096];
    sitting s;
    buf json;
    ask_result was;

    buf_init(&json, NULL);
    sit(&s, types);
    was = view_ask(&c, w, no, &json);
    rise(&s, text, sizeof text);
    buf_char(&json, '\0');
    CHECK_STR(text, said);
    CHECK_INT(was, how);
    CHECK_STR(json.data, answer);
    buf_free(&json);
}

static const char gate_text[] =
    "\n"
    "  write asks for approval\n"
    "    Write a report on 3 files, 42 lines?\n"
    "    no: the run ends rejected\n"
    "    later: keeps the question; `pawl approve survey-7k2m` goes on\n";

PAWL_TEST(test_a_gate_says_what_no_and_later_do_and_asks_until_it_is_told)
{
    const pawl_wait gate = wait_of(PAWL_WAIT_APPROVAL, "\"Write a report on 3 files, 42 lines?\"", "{\"type\":\"boolean\"}", NULL);
    char text[1024];

    snprintf(text, sizeof text, "%s  [y]es, [n]o, [l]ater: ", gate_text);
    asks(&gate, "the run ends rejected", false, "y\n", ASKED_ANSWER, "true", text);
    asks(&gate, "the run ends rejected", false, "no\n", ASKED_ANSWER, "false", text);
    asks(&gate, "the run ends rejected", false, "L\n", ASKED_LATER, "", text);
    snprintf(text, sizeof text, "%s  [y]es, [n]o, [l]ater:   write: \"maybe\" does not fit: answer with yes or no\n"
             "  [y]es, [n]o, [l]ater:   write: \"\" does not fit: answer with yes or no\n  [y]es, [n]o, [l]ater: \n", gate_text);
    asks(&gate, "the run ends rejected", false, "maybe\n\n", ASKED_GONE, "", text);
    asks(&gate, "goes on at rework", true, "yes", ASKED_ANSWER, "true",
         "\n  write asks for approval\n\x1b[1m    Write a report on 3 files, 42 lines?\n\x1b[0m"
         "    no: goes on at rework\n    later: keeps the question; `pawl approve survey-7k2m` goes on\n  [y]es, [n]o, [l]ater: ");
    asks(&gate, NULL, false, "yes", ASKED_ANSWER, "true",     /* a child's: what comes of a no is not known here */
         "\n  write asks for approval\n    Write a report on 3 files, 42 lines?\n"
         "    later: keeps the question; `pawl approve survey-7k2m` goes on\n  [y]es, [n]o, [l]ater: ");
}

PAWL_TEST(test_a_question_says_what_fits_and_what_becomes_of_it_without_an_answer)
{
    pawl_wait q = wait_of(PAWL_WAIT_QUESTION, "\"How many?\\nSay \\u001b[2J a number.\"", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}", NULL);

    setenv("TZ", "UTC", 1);
    q.asked_of = "alice";
    q.expires_ms = 1763733600000;
    q.otherwise = value("3");
    asks(&q, NULL, false, "eleven\n5\n", ASKED_ANSWER, "5",
         "\n  write asks, of alice\n    How many?\n    Say \\x1b[2J a number.\n    answer: a whole number from 1 to 10\n"
         "    without an answer by 2025-11-21 14:00:00, the answer is: 3\n"
         "    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n"
         "  >   write: \"eleven\" does not fit: answer with a whole number from 1 to 10\n  > ");
    asks(&q, NULL, false, "", ASKED_GONE, "",
         "\n  write asks, of alice\n    How many?\n    Say \\x1b[2J a number.\n    answer: a whole number from 1 to 10\n"
         "    without an answer by 2025-11-21 14:00:00, the answer is: 3\n"
         "    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n  > \n");
}

PAWL_TEST(test_options_stand_there_by_number_and_a_long_prompt_is_broken_at_blanks)
{
    const pawl_wait q = wait_of(PAWL_WAIT_QUESTION,
        "{\"text\":\"Which of the colours that were found in the picture should the cover have, when all of them are equally well liked?\"}", NULL,
        "[\"red\",\"green\"]");

    asks(&q, NULL, false, "\n", ASKED_LATER, "",
         "\n  write asks\n    Which of the colours that were found in the picture should the cover have,\n    when all of them are equally well liked?\n"
         "     1  red\n     2  green\n"
         "    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n  number or text: ");
    asks(&q, NULL, false, "2\n", ASKED_ANSWER, "\"green\"",
         "\n  write asks\n    Which of the colours that were found in the picture should the cover have,\n    when all of them are equally well liked?\n"
         "     1  red\n     2  green\n"
         "    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n  number or text: ");
}

PAWL_TEST(test_A6_what_an_agent_asks_its_user_is_asked_one_by_one)
{
    pawl_wait q = wait_of(PAWL_WAIT_QUESTION, "\"Which colour? (and 1 more)\"", "{\"type\":\"object\",\"required\":[\"Colour\",\"Sizes\"]}", NULL);

    q.node = "";
    q.about = value("{\"questions\":[{\"header\":\"Colour\",\"question\":\"Which colour?\",\"options\":[{\"label\":\"red\",\"description\":\"warm\"},{\"label\":\"blue\"}]},"
                    "{\"header\":\"Sizes\",\"question\":\"Which sizes?\",\"multi_select\":true,\"options\":[{\"label\":\"small\"},{\"label\":\"large, wide\"}]}]}");
    asks(&q, NULL, false, "3\nblue\n2, 1, small\n", ASKED_ANSWER, "{\"Colour\":\"blue\",\"Sizes\":[\"large, wide\",\"small\"]}",
         "\n  survey-7k2m asks\n    Which colour?\n     1  red: warm\n     2  blue\n    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n"
         "  number or text:   survey-7k2m: \"3\" does not fit: answer with a number from 1 to 2, or one of:\n  red, blue\n  number or text: "
         "\n  survey-7k2m asks\n    Which sizes?\n     1  small\n     2  large, wide\n    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n"
         "  numbers or texts, with commas: ");
    asks(&q, NULL, false, "1\n\n", ASKED_LATER, "",
         "\n  survey-7k2m asks\n    Which colour?\n     1  red: warm\n     2  blue\n    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n"
         "  number or text: "
         "\n  survey-7k2m asks\n    Which sizes?\n     1  small\n     2  large, wide\n    an empty line: keeps the question; `pawl answer survey-7k2m VALUE` goes on\n"
         "  numbers or texts, with commas: ");
    answers(&q, "large, wide", "survey-7k2m: \"large, wide\" does not fit: answer with one for each question, as {\"Colour\":\"red\",\"Sizes\":[\"small\"]}");
    answers(&q, "{\"Sizes\":[],\"Colour\":1}", "{\"Colour\":1,\"Sizes\":[]}");     /* what its schema takes is taken */
    q.about = value("{\"questions\":[{\"header\":\"Sizes\",\"question\":\"Which sizes?\",\"multi_select\":true,\"options\":[{\"label\":\"small\"},{\"label\":\"large, wide\"}]}]}");
    answers(&q, "large, wide", "[\"large, wide\"]");
    answers(&q, "large, wide,", "survey-7k2m: \"large, wide,\" does not fit: answer with numbers from 1 to 2, with commas, or some of: small, large, wide");
    answers(&q, "1 ,2,1", "[\"small\",\"large, wide\"]");
}

int main(int argc, char **argv)
{
    int code;

    setvbuf(stdin, NULL, _IONBF, 0);    /* it is another file in each test */
    arena_init(&mem, NULL, 4096);
    code = check_main(argc, argv);
    arena_free(&mem);
    return code;
}
