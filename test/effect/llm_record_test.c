/* llm_record_test.c - answers from a file, asked for when they are not there, or compared. */
#include "effect/modeling.h"

#include <fcntl.h>
#include <sys/stat.h>

#define ASK(text, more) "\"model\":\"script:s\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more

static char path[64];
static unsigned asked;

static pawl_llm_script *script_of(world *w, const char *list)
{
    pawl_llm_script *s = pawl_llm_script_new(value_parse(&w->h.mem, list, strlen(list), "list", NULL), "s", NULL, NULL, NULL);

    CHECK(s != NULL);
    return s;
}

static pawl_code counted(const pawl_job *job, pawl_reply *reply, void *arg)
{
    __atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
    return pawl_effect_script(job, reply, arg);
}

static pawl_llm_record *record_of(pawl_record_mode mode, pawl_llm_script *s)
{
    pawl_err err = { 0 };
    pawl_llm_record *r = pawl_llm_record_open(path, mode, s != NULL ? counted : NULL, s, &err);

    CHECK_STR(err.text, "");
    CHECK(r != NULL);
    return r;
}

static void begin(world *w)
{
    int fd;

    world_open(w);
    snprintf(path, sizeof path, "/tmp/pawl-record-XXXXXX");
    CHECK((fd = mkstemp(path)) >= 0);
    close(fd);
    asked = 0;
}

static void end(world *w)
{
    unlink(path);
    world_close(w);
}

static size_t lines_of(void)
{
    FILE *f = fopen(path, "r");
    size_t n = 0;
    int c;

    CHECK(f != NULL);
    while ((c = fgetc(f)) != EOF)
        n += c == '\n' ? 1 : 0;
    fclose(f);
    return n;
}

PAWL_TEST(test_what_was_asked_once_is_answered_from_the_record)
{
    world w;
    pawl_llm_script *s;
    pawl_llm_record *r;
    buf first, told;

    begin(&w);
    unlink(path);
    s = script_of(&w, "[{\"match\":\"no\",\"error\":\"busy\"},{\"match\":\"a\",\"reply\":\"one\",\"tools\":[{\"name\":\"t\"}],\"usage\":{\"input_tokens\":3}},{\"reply\":\"two\"}]");
    r = record_of(PAWL_RECORD_LIVE, s);
    CHECK_INT(ask_of(&w, ASK("a", ""), pawl_effect_record, r), PAWL_OK);
    buf_init(&first, NULL);
    buf_init(&told, NULL);
    canon(&first, w.h.value);
    buf_put(&told, w.told.data, w.told.size);
    CHECK_INT(ask_of(&w, ASK("b", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_INT(ask_of(&w, ASK("no", ""), pawl_effect_record, r), PAWL_TRANSIENT);
    CHECK_INT(ask_of(&w, ASK("no", ""), pawl_effect_record, r), PAWL_TRANSIENT);    /* a failure is not written down */
    CHECK_INT(asked, 4);
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            pawl_llm_record_close(r);
            r = record_of(PAWL_RECORD_LIVE, s);
        } else if (i == 2) {
            pawl_llm_record_close(r);
            r = record_of(PAWL_RECORD_STRICT, NULL);
        }
        CHECK_INT(ask_of(&w, ASK("a", ",\"cache\":false,\"node\":\"n\",\"decision\":{}"), pawl_effect_record, r), PAWL_OK);
        CHECK_BYTES(w.h.reply.text.data, w.h.reply.text.size, first.data, first.size);
        CHECK_BYTES(w.told.data, w.told.size, told.data, told.size);
        CHECK_INT(w.h.reply.tokens, 3);
        CHECK_INT(ask_of(&w, ASK("b", ""), pawl_effect_record, r), PAWL_OK);
        CHECK(!w.h.reply.costs);
    }
    CHECK_INT(asked, 4);
    CHECK_INT(lines_of(), 2);
    CHECK_INT(ask_of(&w, ASK("b", ",\"temperature\":1"), pawl_effect_record, r), PAWL_INVALID);
    CHECK(strstr(text_of(&w), " has no answer to this request: script:s, messages 1, \"b\" (") != NULL && strstr(text_of(&w), "record it live") != NULL);
    CHECK(strncmp(text_of(&w), "llm: /tmp/pawl-record-", 22) == 0);
    CHECK_INT(ask_of(&w, "\"model\":\"script:s\",\"prompt\":\"two\\nlines \\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4x\\u00e4\"", pawl_effect_record, r), PAWL_INVALID);
    CHECK(strstr(text_of(&w), "messages 0, \"two lines \xc3\xa4") != NULL);
    CHECK(utf8_valid(text_of(&w), strlen(text_of(&w))));
    CHECK(w.h.reply.untouched);
    pawl_llm_record_close(r);
    pawl_llm_script_free(s);
    buf_free(&first);
    buf_free(&told);
    end(&w);
}

PAWL_TEST(test_a_shadow_compares_and_is_never_used)
{
    world w;
    pawl_llm_script *was, *is;
    pawl_llm_record *r;

    begin(&w);
    was = script_of(&w, "[{\"match\":\"same\",\"reply\":\"x\",\"tools\":[{\"name\":\"t\",\"id\":\"1\"}]},{\"match\":\"other\",\"reply\":\"x\",\"tools\":[{\"name\":\"t\"}]}]");
    is = script_of(&w, "[{\"match\":\"same\",\"reply\":\"x\",\"thinking\":\"hm\",\"tools\":[{\"name\":\"t\",\"id\":\"2\"}]},{\"match\":\"other\",\"reply\":\"y\"},{\"reply\":\"z\"}]");
    r = record_of(PAWL_RECORD_LIVE, was);
    CHECK_INT(ask_of(&w, ASK("same", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_INT(ask_of(&w, ASK("other", ""), pawl_effect_record, r), PAWL_OK);
    pawl_llm_record_close(r);
    r = record_of(PAWL_RECORD_SHADOW, is);
    CHECK_INT(ask_of(&w, ASK("same", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/2/id"), "2");
    buf_char(&w.told, '\0');
    CHECK(strstr(w.told.data, "record ") == NULL);
    CHECK_INT(ask_of(&w, ASK("other", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "y");
    buf_char(&w.told, '\0');
    CHECK(strstr(w.told.data, "record {\"differs\":[\"text\",\"tools\",\"stop\"],\"key\":\"") != NULL);
    CHECK_INT(ask_of(&w, ASK("new", ""), pawl_effect_record, r), PAWL_OK);
    buf_char(&w.told, '\0');
    CHECK(strstr(w.told.data, "record {\"differs\":[\"missing\"],\"key\":\"") != NULL);
    CHECK_INT(asked, 5);
    CHECK_INT(lines_of(), 2);
    pawl_llm_record_close(r);
    pawl_llm_script_free(was);
    pawl_llm_script_free(is);
    end(&w);
}

PAWL_TEST(test_a_line_that_was_cut_off_is_taken_away_and_others_are_refused)
{
    world w;
    pawl_llm_script *s;
    pawl_llm_record *r;
    pawl_err err = { 0 };
    struct stat st;

    begin(&w);
    s = script_of(&w, "[{\"reply\":\"x\"}]");
    r = record_of(PAWL_RECORD_LIVE, s);
    CHECK_INT(ask_of(&w, ASK("a", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_INT(ask_of(&w, ASK("b", ""), pawl_effect_record, r), PAWL_OK);
    pawl_llm_record_close(r);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(truncate(path, st.st_size - 5), 0);
    r = record_of(PAWL_RECORD_STRICT, NULL);
    CHECK_INT(ask_of(&w, ASK("a", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_INT(ask_of(&w, ASK("b", ""), pawl_effect_record, r), PAWL_INVALID);
    pawl_llm_record_close(r);
    r = record_of(PAWL_RECORD_LIVE, s);
    CHECK_INT(ask_of(&w, ASK("b", ""), pawl_effect_record, r), PAWL_OK);
    CHECK_INT(asked, 3);
    pawl_llm_record_close(r);
    CHECK_INT(lines_of(), 2);
    r = record_of(PAWL_RECORD_STRICT, NULL);
    CHECK_INT(ask_of(&w, ASK("b", ""), pawl_effect_record, r), PAWL_OK);
    pawl_llm_record_close(r);
    FILE *f = fopen(path, "a");
    CHECK(f != NULL && fputs("{\"key\":\"00\",\"reply\":1}\n", f) >= 0 && fclose(f) == 0);
    CHECK(pawl_llm_record_open(path, PAWL_RECORD_STRICT, NULL, NULL, &err) == NULL);
    CHECK_INT(err.code, PAWL_CORRUPT);
    CHECK(strstr(err.text, ":3: this is no record") != NULL);
    err = (pawl_err){ 0 };
    unlink(path);
    CHECK(pawl_llm_record_open(path, PAWL_RECORD_STRICT, NULL, NULL, &err) == NULL);
    CHECK_INT(err.code, PAWL_IO);
    err = (pawl_err){ 0 };
    CHECK(pawl_llm_record_open(path, PAWL_RECORD_SHADOW, NULL, NULL, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    err = (pawl_err){ 0 };
    CHECK_INT(mkfifo(path, 0600), 0);
    CHECK(pawl_llm_record_open(path, PAWL_RECORD_LIVE, pawl_effect_script, s, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    CHECK(strstr(err.text, "it is no file") != NULL);
    unlink(path);
    pawl_llm_script_free(s);
    end(&w);
}

typedef struct crowd {
    pawl_llm_record *r;
    unsigned number;
    pawl_code rc;
} crowd;

static pthread_barrier_t gate;

/* All ask for the first time before one is answered. */
static pawl_code together(const pawl_job *job, pawl_reply *reply, void *arg)
{
    if (strcmp(pawl_value_string(pawl_value_find(job->args, "/messages/0/content")), "0") == 0)
        pthread_barrier_wait(&gate);
    return pawl_effect_script(job, reply, arg);
}

static void *ask_some(void *arg)
{
    crowd *c = arg;
    hand h;
    char args[128];

    hand_init(&h);
    for (int i = 0; i < 20 && c->rc == PAWL_OK; i++) {
        snprintf(args, sizeof args, "{\"model\":\"script:s\",\"messages\":[{\"role\":\"user\",\"content\":\"%d\"}]}", i);
        reply_reset(&h.reply);
        h.job.args = value_parse(&h.mem, args, strlen(args), "args", NULL);
        c->rc = pawl_effect_record(&h.job, &h.reply, c->r);
    }
    hand_free(&h);
    return NULL;
}

PAWL_TEST(test_many_threads_ask_one_record)
{
    world w;
    pawl_llm_script *s;
    pthread_t threads[8];
    crowd all[8];
    pawl_llm_record *r;

    begin(&w);
    s = script_of(&w, "[{\"reply\":\"x\"}]");
    CHECK((r = pawl_llm_record_open(path, PAWL_RECORD_LIVE, together, s, NULL)) != NULL);
    CHECK_INT(pthread_barrier_init(&gate, NULL, 8), 0);
    for (unsigned i = 0; i < 8; i++) {
        all[i] = (crowd){ .r = r, .number = i };
        CHECK_INT(pthread_create(&threads[i], NULL, ask_some, &all[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(all[i].rc, PAWL_OK);
    }
    pthread_barrier_destroy(&gate);
    pawl_llm_record_close(r);
    CHECK_INT(lines_of(), 20);         /* one of each, whoever was first */
    r = record_of(PAWL_RECORD_STRICT, NULL);
    for (unsigned i = 0; i < 8; i++) {
        all[i].r = r;
        ask_some(&all[i]);
        CHECK_INT(all[i].rc, PAWL_OK);
    }
    pawl_llm_record_close(r);
    pawl_llm_script_free(s);
    end(&w);
}
