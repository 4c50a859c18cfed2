/* scenes.h - a dozen scenes: a machine, its input, and a fixed list of events (moves).
 *
 *     play p = { .sc = &scenes[i] };
 *     while (play_next(&p, st, look, &ev)) ...        the same events in each run
 *
 * Between two moves ticks are fed as long as a step is due. Used by the tests of failing memory and of damaged journals, and by the journals under
 * test/journals. */
#ifndef TEST_LIB_SCENES_H
#define TEST_LIB_SCENES_H

#include "kernel/names.h"
#include "world.h"

typedef struct move {
    pawl_event_kind kind;       /* 0: the end */
    const char *at;             /* node, task path or id of a command; slot of a wait; name of a signal; node of an update */
    const char *value, *update;
    pawl_outcome outcome;
} move;

typedef pawl_machine *machine_fn(const pawl_alloc *alloc, pawl_err *err);

typedef struct scene {
    const char *name;
    machine_fn *machine;
    const char *input;
    const move *moves;
} scene;

extern const scene scenes[];
extern const size_t scene_count;
const scene *scene_named(const char *name);     /* fails the test when there is none */
machine_fn machine_talk_2;                      /* version 2 of "talk", with one more channel */

typedef struct play {
    const scene *sc;
    size_t move;                /* index of the next move */
    int64_t now;
    char id[ID_BYTES_MAX + 1];
} play;

/* Sets the next event for this state, valid until the next call. False: there are no more moves. */
bool play_next(play *p, pawl_state *st, pawl_step *look, pawl_event *ev);
/* Begins a world (world.h) and plays the scene on it up to move `upto`, with all checks of the world. */
void scene_play(world *w, play *p, const scene *sc, size_t upto);
void scene_go_on(world *w, play *p, size_t upto);

/* A loader that reads entries from the text of a journal. */
typedef struct journal_text { const char *data; size_t size; } journal_text;
pawl_loader journal_loader(journal_text *j);
/* Sets the line at position *at, without its newline, and moves *at to the next one. False: there are no more lines. */
bool journal_line(const journal_text *j, size_t *at, pawl_bytes *line);

#endif
