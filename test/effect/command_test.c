/* command_test.c - programs run by the command handler: what they are given, what they give back. */
#include "effect/acts.h"
#include "lib/heap.h"

#include <pthread.h>

/* ---- what a program is given ---------------------------------------------------------------------- */

PAWL_TEST(test_command_replies_with_status_and_output)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"echo out; echo err >&2; exit 3\"]}"), PAWL_OK);
    CHECK_BYTES(h.reply.text.data, h.reply.text.size, "{\"status\":3,\"stdout\":\"out\\n\",\"stderr\":\"err\\n\"}", 46);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"true\"]}"), PAWL_OK);
    CHECK_BYTES(h.reply.text.data, h.reply.text.size, "{\"status\":0,\"stdout\":\"\",\"stderr\":\"\"}", 36);
    hand_free(&h);
}

PAWL_TEST(test_X3_arguments_reach_the_program_as_they_are)
{
    static const char *const hostile[] = {
        "$(touch /tmp/pawl-owned)", "`id`", "; exit 9", "'", "\"", "\\", "a b", "", "-rf", "--", "--help", "*", "~", "$HOME",
        "line\nline\n", "\r\t\x01\x7f", "|cat", "&", ">x", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "!!", "%s%n", "{}",
    };
    buf rest, expected;
    hand h;

    hand_init(&h);
    buf_init(&rest, NULL);
    buf_init(&expected, NULL);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        buf_char(&rest, ',');
        canon_string(&rest, hostile[i], strlen(hostile[i]));
        buf_text(&expected, hostile[i]);
        buf_text(&expected, "\x1e");
    }
    buf_put(&rest, "]}", 3);
    CHECK_INT(hand_over(&h, pawl_effect_command, act(&h, "say", rest.data)), PAWL_OK);
    buf_char(&expected, '\0');
    CHECK_STR(said(&h, "/stdout"), expected.data);
    CHECK_INT(access("/tmp/pawl-owned", F_OK), -1);
    buf_free(&expected);
    buf_free(&rest);
    hand_free(&h);
}

PAWL_TEST(test_a_long_argument_arrives_whole_and_a_longer_one_is_a_limit)
{
    enum { LONG = 100000 };
    char *rest = malloc(3 * LONG);
    const char *got;
    hand h;

    hand_init(&h);
    CHECK(rest != NULL);
    memset(rest, 'x', 3 * LONG);
    memcpy(rest, ",\"", 2);
    memcpy(rest + 2 + LONG, "\"]}", 4);
    CHECK_INT(hand_over(&h, pawl_effect_command, act(&h, "say", rest)), PAWL_OK);
    got = said(&h, "/stdout");
    CHECK_INT(got == NULL ? 0 : strlen(got), LONG + 1);
    CHECK_INT(strspn(got, "x"), LONG);
    memset(rest + 2, 'x', 2 * LONG);
    memcpy(rest + 2 + 2 * LONG, "\"]}", 4);
    CHECK_INT(hand_over(&h, pawl_effect_command, act(&h, "say", rest)), PAWL_LIMIT);
    CHECK(strstr(reply_why(&h.reply), "more than the system takes") != NULL);
    free(rest);
    hand_free(&h);
}

PAWL_TEST(test_E15_the_environment_names_the_invocation_and_the_fence)
{
    hand h;

    hand_init(&h);
    setenv("PAWL_TEST_KEPT", "kept", 1);
    setenv("PAWL_TEST_GONE", "gone", 1);
    setenv("PAWL_FENCE", "99", 1);
    CHECK_INT(hand_over(&h, pawl_effect_command,
                        "{\"run\":[\"sh\",\"-c\",\"echo $PAWL_INVOCATION_ID $PAWL_FENCE $PAWL_TEST_KEPT ${PAWL_TEST_GONE-none} $NEW; "
                        "env | grep -c ^PAWL_FENCE=\"],"
                        "\"env\":{\"PAWL_TEST_GONE\":null,\"NEW\":\"a=b $(id)\"}}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "essay-1~9f3a/2.review.1.0 7 kept none a=b $(id)\n1\n");
    unsetenv("PAWL_FENCE");
    hand_free(&h);
}

PAWL_TEST(test_the_working_folder_is_the_one_that_is_named)
{
    char args[256];
    hand h;

    hand_init(&h);
    snprintf(args, sizeof args, "{\"run\":[\"pwd\"],\"cwd\":\"%s\"}", folder);
    CHECK_INT(hand_over(&h, pawl_effect_command, args), PAWL_OK);
    CHECK(strncmp(said(&h, "/stdout"), folder, strlen(folder)) == 0);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"pwd\"],\"cwd\":\"/nowhere/at/all\"}"), PAWL_INVALID);
    CHECK_STR(reply_why(&h.reply), "pwd: its working folder /nowhere/at/all is not there");
    hand_free(&h);
}

PAWL_TEST(test_a_program_gets_no_descriptor_but_its_three)
{
    int leak[2];
    hand h;

    hand_init(&h);
    CHECK_INT(pipe(leak), 0);       /* without O_CLOEXEC, as a host may do */
    CHECK_INT(hand_over(&h, pawl_effect_command, act(&h, "fds", "]}")), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "0 1 2\n");
    close(leak[0]);
    close(leak[1]);
    hand_free(&h);
}

PAWL_TEST(test_a_program_begins_with_no_signal_blocked_or_ignored)
{
    sigset_t one, before;
    hand h;

    hand_init(&h);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    signal(SIGPIPE, SIG_IGN);
    CHECK_INT(hand_over(&h, pawl_effect_command, act(&h, "signals", "]}")), PAWL_OK);
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK_STR(said(&h, "/stdout"), "unblocked default leader\n");
    hand_free(&h);
}

PAWL_TEST(test_a_host_without_stdin_or_stdout_runs_programs_all_the_same)
{
    int in = dup(0), out = dup(1);
    pawl_code rc;
    hand h;

    hand_init(&h);
    fflush(stdout);
    close(0);
    close(1);
    rc = hand_over(&h, pawl_effect_command, "{\"run\":[\"cat\"],\"stdin\":\"through\"}");
    dup2(in, 0);
    dup2(out, 1);
    close(in);
    close(out);
    CHECK_INT(rc, PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "through");
    hand_free(&h);
}

/* ---- stdin ------------------------------------------------------------------------------------------- */

/* `head` with a stdin of `size` bytes. */
static char *with_stdin(hand *h, const char *head, size_t size)
{
    size_t n = strlen(head);
    char *args = arena_get(&h->mem, n + size + 32);

    CHECK(args != NULL);
    memcpy(args, head, n);
    memcpy(args + n, ",\"stdin\":\"", 10);
    memset(args + n + 10, 'i', size);
    memcpy(args + n + 10 + size, "\"}", 3);
    return args;
}

PAWL_TEST(test_stdin_is_a_string_or_json_or_nothing)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"cat\"],\"stdin\":\"a\\u0000b\"}"), PAWL_OK);
    CHECK_INT(pawl_value_size(pawl_value_get(h.value, "stdout")), 3);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"cat\"],\"stdin\":{\"b\":1,\"a\":[null]}}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "{\"a\":[null],\"b\":1}");
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"cat\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "");
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"cat\"],\"stdin\":\"\"}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "");
    hand_free(&h);
}

PAWL_TEST(test_a_program_need_not_read_its_stdin)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, with_stdin(&h, "{\"run\":[\"true\"]", 1 << 20)), PAWL_OK);
    CHECK_INT(number(&h, "/status"), 0);
    CHECK_INT(hand_over(&h, pawl_effect_command, with_stdin(&h, "{\"run\":[\"sh\",\"-c\",\"exec <&-; echo done\"]", 1 << 20)), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "done\n");
    hand_free(&h);
}

PAWL_TEST(test_both_sides_may_write_a_megabyte_first)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command,
                        with_stdin(&h, "{\"output_bytes\":4000000,\"run\":[\"sh\",\"-c\",\"head -c 1000000 /dev/zero | tr '\\\\0' o; "
                                       "head -c 1000000 /dev/zero | tr '\\\\0' e >&2; wc -c\"]", 1 << 20)), PAWL_OK);
    CHECK_INT(strspn(said(&h, "/stdout"), "o"), 1000000);
    CHECK_STR(said(&h, "/stdout") + 1000000, "1048576\n");
    CHECK_INT(strspn(said(&h, "/stderr"), "e"), 1000000);
    CHECK(pawl_value_get(h.value, "cut") == NULL);
    hand_free(&h);
}

/* ---- output --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_X2_output_beyond_its_limit_is_cut_and_said_so)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"head -c 3000000 /dev/zero | tr '\\\\0' a\"]}"), PAWL_OK);
    CHECK_INT(strlen(said(&h, "/stdout")), 1 << 20);
    CHECK(pawl_value_bool(pawl_value_get(h.value, "cut")));
    CHECK_INT(hand_over(&h, pawl_effect_command,
                        "{\"run\":[\"sh\",\"-c\",\"echo 123456789; echo abcdefghi >&2\"],\"output_bytes\":4}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "1234");
    CHECK_STR(said(&h, "/stderr"), "ghi\n");
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"printf 1234; printf abcd >&2\"],\"output_bytes\":4}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "1234");
    CHECK_STR(said(&h, "/stderr"), "abcd");
    CHECK(pawl_value_get(h.value, "cut") == NULL);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"echo x; echo y >&2\"],\"output_bytes\":0}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "");
    CHECK_STR(said(&h, "/stderr"), "");
    CHECK(pawl_value_bool(pawl_value_get(h.value, "cut")));
    hand_free(&h);
}

PAWL_TEST(test_the_end_of_a_long_stderr_is_what_is_kept)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command,
                        "{\"run\":[\"sh\",\"-c\",\"i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done\"],\"output_bytes\":100}"),
              PAWL_OK);
    CHECK_INT(strlen(said(&h, "/stderr")), 100);
    CHECK_STR(said(&h, "/stderr") + 80, "line 4998\nline 4999\n");
    hand_free(&h);
}

PAWL_TEST(test_no_character_is_torn_by_a_cut)
{
    static const char *const args = "{\"run\":[\"sh\",\"-c\",\"printf '\\u20ac\\u20ac\\u20ac'; printf '\\u20ac\\u20ac\\u20ac' >&2\"],"
                                    "\"output_bytes\":%d}";
    char text[160];
    hand h;

    hand_init(&h);
    for (int most = 0; most <= 9; most++) {
        snprintf(text, sizeof text, args, most);
        CHECK_INT(hand_over(&h, pawl_effect_command, text), PAWL_OK);
        CHECK_INT(pawl_value_size(pawl_value_get(h.value, "stdout")), most / 3 * 3);
        CHECK_INT(pawl_value_size(pawl_value_get(h.value, "stderr")), most / 3 * 3);
    }
    hand_free(&h);
}

PAWL_TEST(test_output_that_is_no_utf8_is_base64)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"printf\",\"\\\\377\\\\000\\\\376\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout_base64"), "/wD+");
    CHECK(pawl_value_get(h.value, "stdout") == NULL);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"printf '\\\\300\\\\257' >&2\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stderr_base64"), "wK8=");
    CHECK_STR(said(&h, "/stdout"), "");
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"printf\",\"\\\\377abc\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout_base64"), "/2FiYw==");
    hand_free(&h);
}

/* ---- failing ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_X1_what_cannot_be_run_is_named)
{
    static const struct { const char *args, *text; pawl_code rc; } wrong[] = {
        { "{\"run\":[\"no-such-program-here\"]}", "no-such-program-here: there is no such program in PATH", PAWL_INVALID },
        { "{\"run\":[\"/no/such/program\"]}", "/no/such/program: there is no such program", PAWL_INVALID },
        { "{\"run\":[\"/etc/passwd\"]}", "/etc/passwd: is not a program that may be run; check its mode bits", PAWL_INVALID },
        { "{\"run\":[\"/\"]}", "/: is not a program that may be run; check its mode bits", PAWL_INVALID },
        { "{\"run\":[]}", "do: \"run\" is due, a list of the program and its arguments", PAWL_INVALID },
        { "{}", "do: \"run\" is due, a list of the program and its arguments", PAWL_INVALID },
        { "[]", "do: its arguments are no object", PAWL_INVALID },
        { "{\"run\":\"ls\"}", "do: \"run\" is due, a list of the program and its arguments", PAWL_INVALID },
        { "{\"run\":[\"\"]}", "do: \"run\"[0], the program, is empty", PAWL_INVALID },
        { "{\"run\":[\"ls\",1]}", "do: \"run\"[1] is no string, or holds NUL", PAWL_INVALID },
        { "{\"run\":[\"ls\",\"a\\u0000b\"]}", "do: \"run\"[1] is no string, or holds NUL", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"timeout\":1}", "do: no argument \"timeout\"", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"stdn\":1}", "do: no argument \"stdn\" (did you mean \"stdin\"?)", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"timeout_ms\":-1}", "do: \"timeout_ms\" is no whole number from 0 to 2592000000", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"output_bytes\":18446744073709551615}", "do: \"output_bytes\" is no whole number from 0 to 268435456",
          PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"env\":[]}", "do: \"env\" is no object", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"env\":{\"A=B\":\"\"}}", "do: \"env\": \"A=B\" is no name of a variable", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"env\":{\"A\":1}}", "do: \"env\": A is neither a string without NUL nor null", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"env\":{\"PAWL_FENCE\":\"1\"}}", "do: \"env\": PAWL_FENCE is Pawl's own", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"cwd\":1}", "do: \"cwd\" is no string, or holds NUL", PAWL_INVALID },
        { "{\"run\":[\"ls\"],\"check\":1}", "do: \"check\" is neither true nor false", PAWL_INVALID },
    };
    hand h;

    hand_init(&h);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(hand_over(&h, pawl_effect_command, wrong[i].args), wrong[i].rc);
        CHECK_STR(reply_why(&h.reply), wrong[i].text);
        CHECK(h.reply.untouched);
    }
    hand_free(&h);
}

PAWL_TEST(test_a_checked_command_fails_with_the_end_of_its_stderr)
{
    const char *first;
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command,
                        "{\"check\":true,\"run\":[\"sh\",\"-c\",\"i=0; while [ $i -lt 50 ]; do echo line $i >&2; i=$((i+1)); done; exit 4\"]}"),
              PAWL_EFFECT);
    CHECK_STR(reply_why(&h.reply), "sh: ended with status 4");
    buf_char(&h.reply.detail, '\0');
    first = h.reply.detail.data;
    CHECK(strncmp(first, "line 30\n", 8) == 0);
    CHECK_STR(first + strlen(first) - 8, "line 49\n");
    CHECK(!h.reply.untouched);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"check\":true,\"run\":[\"sh\",\"-c\",\"printf '\\\\377\\\\000x' >&2; kill -9 $$\"]}"),
              PAWL_EFFECT);
    CHECK_STR(reply_why(&h.reply), "sh: ended by signal 9");
    CHECK_BYTES(h.reply.detail.data, h.reply.detail.size, "??x", 3);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"check\":true,\"run\":[\"sh\",\"-c\",\"echo fine\"]}"), PAWL_OK);
    CHECK_STR(said(&h, "/stdout"), "fine\n");
    hand_free(&h);
}

PAWL_TEST(test_a_failure_is_told_as_json)
{
    hand h;
    buf b;

    hand_init(&h);
    buf_init(&b, NULL);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"check\":true,\"run\":[\"sh\",\"-c\",\"echo \\\\\\\"oh\\\\\\\" >&2; exit 1\"]}"), PAWL_EFFECT);
    reply_failure(&h.reply, h.rc, 0, &b);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "{\"code\":\"effect\",\"text\":\"sh: ended with status 1\",\"detail\":\"\\\"oh\\\"\\n\"}");
    buf_free(&b);
    hand_free(&h);
}

PAWL_TEST(test_a_signal_that_ended_it_is_part_of_the_result)
{
    hand h;

    hand_init(&h);
    CHECK_INT(hand_over(&h, pawl_effect_command, "{\"run\":[\"sh\",\"-c\",\"kill -TERM $$\"]}"), PAWL_OK);
    CHECK_INT(number(&h, "/signal"), SIGTERM);
    CHECK_INT(number(&h, "/status"), 128 + SIGTERM);
    hand_free(&h);
}

PAWL_TEST(test_a_status_that_the_host_took_away_is_unknown)
{
    hand h;
    pawl_code rc;

    hand_init(&h);
    signal(SIGCHLD, SIG_IGN);
    rc = hand_over(&h, pawl_effect_command, "{\"run\":[\"true\"]}");
    signal(SIGCHLD, SIG_DFL);
    CHECK_INT(rc, PAWL_UNKNOWN);
    CHECK(!h.reply.untouched);
    hand_free(&h);
}

int main(int argc, char **argv)
{
    return acts_main(argc, argv);
}
