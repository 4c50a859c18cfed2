/* story.h - a scene that is marched through: before each of its steps others try the same, and fail.
 *
 *     for (story_begin(&y, sc); story_next(&y); story_stored(&y))
 *         for (size_t n = 0; tried(&y, n); n++) ...       what fails once must have changed nothing */
#ifndef TEST_LIB_STORY_H
#define TEST_LIB_STORY_H

#include "scenes.h"

typedef struct story {
    const scene *sc;
    pawl_machine *m;
    pawl_state *st;             /* as it should be, after the step; the journal is as before it */
    pawl_step *s, *look;
    buf journal;
    play p;
    uint32_t marks;             /* task records that stand open before it */
    pawl_event ev;              /* that makes the step */
    pawl_code rc;               /* what feeding it returns */
    char *bytes, *before, *after;
    bool lazy;                  /* attempts load a snapshot, and what it left in the journal when somebody looks */
    buf snapshot;
    size_t snapshot_at;         /* in the journal: where its tail begins */
    bag apart;                  /* what its steps set apart */
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

/* Stories that begin from now on set apart what is larger; 0, as at first: nothing. */
void story_apart(size_t limit);
void story_begin(story *y, const scene *sc);
void story_end(story *y);
bool story_next(story *y);      /* the next event, and what should come of it */
void story_stored(story *y);
char *fold_text(story *y, pawl_state *st);      /* to be freed */
journal_text text_of(const story *y);

void attempt_begin(attempt *a);
/* A state as the journal has it so far, in memory of its own, which is there. `fine`: of its step. */
void attempt_state(attempt *a, story *y, bool fine);
void attempt_end(attempt *a);   /* checks that nothing is left */
pawl_step *step_of(const pawl_alloc *alloc, bool fine);

/* What it said, when memory was refused. */
void check_refused(const attempt *a, const char *what, size_t n, pawl_code rc);
void check_same(story *y, attempt *a, const char *expected, const char *what, size_t n);

#endif
