/* story.h - a scene that is marched through: before each of its steps, attempts make the same step with failing memory.
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

/* Memory of one attempt. `fine`: each piece of an arena is an allocation of its own, so that every place
 * which asks for memory is refused; else chunks are taken as in a program. */
typedef struct attempt {
    heap h;
    pawl_alloc alloc;
    pawl_state *st;
    pawl_step *s;
    pawl_err err;
    journal_text j;             /* what its loader reads from, */
    bag *apart;                 /* and this */
    size_t loads, load_fails_at;
} attempt;

/* The blob limit of stories that begin from now on; 0, the default: no blobs. */
void story_apart(size_t limit);
void story_begin(story *y, const scene *sc);
void story_end(story *y);
bool story_next(story *y);      /* the next event, and its expected result */
void story_stored(story *y);
char *fold_text(story *y, pawl_state *st);      /* to be freed */
journal_text text_of(const story *y);

void attempt_begin(attempt *a);
/* A state loaded from the journal so far, in memory of its own that does not fail. `fine`: of its step. */
void attempt_state(attempt *a, story *y, bool fine);
void attempt_end(attempt *a);   /* checks that nothing leaked */
pawl_step *step_of(const pawl_alloc *alloc, bool fine);

/* Its result, when memory was refused. */
void check_refused(const attempt *a, const char *what, size_t n, pawl_code rc);
void check_same(story *y, attempt *a, const char *expected, const char *what, size_t n);

#endif
