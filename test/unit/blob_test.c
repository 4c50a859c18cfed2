/* blob_test.c - what is larger than a limit stands apart, once by content, and nothing else changes by it (S5, K7, K10). */
#include "lib/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- every scene, with nearly everything apart -------------------------------------------------- */

static void play_apart(const scene *sc, bool snapshots, size_t apart)
{
    world w;
    play p;
    size_t moves = 0;

    while (sc->moves[moves].kind != 0)
        moves++;
    scene_play(&w, &p, sc, 0);
    for (size_t upto = 1; upto <= moves; upto++) {
        if (snapshots && w.st->nmarks == 0)
            world_snapshot(&w);
        world_crash(&w);
        scene_go_on(&w, &p, upto);
    }
    CHECK(w.apart.n > 0 || apart > 1);
    world_end(&w);              /* verified, with its blobs */
}

PAWL_TEST(test_S5_K6_every_scene_goes_its_way_with_all_values_apart)
{
    for (size_t i = 0; i < scene_count; i++) {
        for (size_t limit = 1; limit < 64; limit *= 3) {
            world_apart(limit);
            play_apart(&scenes[i], false, limit);
            play_apart(&scenes[i], true, limit);
        }
        world_apart(0);
    }
}

static const check_case cases[] = {
    CASE(test_S5_K6_every_scene_goes_its_way_with_all_values_apart),
};

int main(int argc, char **argv)
{
    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
