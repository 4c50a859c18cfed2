/* story.h - plays a scene (scenes.h) step by step; before each step, attempts make the same step with memory that fails.
 *
 *     for (story_begin(&y, sc); story_next(&y); story_stored(&y))
 *         for (size_t n = 0; tried(&y, n); n++) ...       a failed attempt must have changed nothing */
#ifndef TEST_LIB_STORY_H
#define TEST_LIB_STORY_H

#include "scenes.h"

typedef struct story {
    const scene *sc;
    pawl_machine *m;
    pawl_state *st;             /* the expected state after the step; the journal is as before it */
    pawl_step *s, *look;
    buf journal;
    play p;
    uint32_t marks;             /* open task records before it */
    pawl_event ev;              /* the event of the step */
    pawl_code rc;               /* the expected result of feeding it */
    char *bytes, *before, *after;
    bool lazy;                  /* attempts load a snapshot, and read the segments that it refers to on demand */
    buf snapshot;
    size_t snapshot_at;         /* in the journal: where its tail begins */
    bag apart;                  /* blobs of its steps */
} story;

/* The memory of one attempt. `fine`: each piece of an arena is a separate allocation, so that each can be refused; else arenas allocate chunks as in a
 * program. */
typedef struct attempt {
    heap h;
    pawl_alloc alloc;
    pawl_state *st;
    pawl_step *s;
    pawl_err err;
    journal_text j;             /* the journal that its loader reads */
    bag *apart;                 /* the blobs that its loader reads */
    size_t loads, load_fails_at;
} attempt;

/* Sets the blob limit of stories that begin after this call; 0, the default: no blobs. */
void story_apart(size_t limit);
void story_begin(story *y, const scene *sc);
void story_end(story *y);
bool story_next(story *y);      /* moves to the next event, with its expected result; false: the end */
void story_stored(story *y);
char *fold_text(story *y, pawl_state *st);      /* the folded state as text; free() it */
journal_text text_of(const story *y);

void attempt_begin(attempt *a);
/* Begins an attempt: loads a state from the journal so far, in its own memory, which does not fail yet. `fine`: see attempt. */
void attempt_state(attempt *a, story *y, bool fine);
void attempt_end(attempt *a);   /* checks that nothing leaked */
pawl_step *step_of(const pawl_alloc *alloc, bool fine);

/* Checks the result of an attempt in which memory was refused. */
void check_refused(const attempt *a, const char *what, size_t n, pawl_code rc);
void check_same(story *y, attempt *a, const char *expected, const char *what, size_t n);

#endif
