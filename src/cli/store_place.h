/* store_place.h - where the store of a project is when nobody names one: outside of the project, out of reach for its agents (P9). */
#ifndef CLI_STORE_PLACE_H
#define CLI_STORE_PLACE_H

#include "cli/cli.h"

typedef struct store_place {
    char project[STORE_URL_BYTES];  /* the nearest folder upward with .pawl or .git, else the working folder; without links */
    char folder[STORE_URL_BYTES];   /* in the folder of stores: NAME-HASH of the project; "": there is no place */
    char path[STORE_URL_BYTES];     /* the store, in `folder` */
    bool there;                     /* it exists */
    char found[STORE_URL_BYTES];    /* the nearest pawl.db upward, as older versions made it; "": none */
    char owned[16];                 /* "" or why it is not used: "another user" */
} store_place;

/* The place for the working folder. PAWL_IO: the folder's path is not known. */
pawl_code store_place_find(store_place *p, pawl_err *err);
/* PAWL_IO with the variable to set: there is no place for stores. */
pawl_code store_place_needed(const store_place *p, pawl_err *err);
/* Creates its folder, which only this user can enter, with a file that names the project. PAWL_IO, PAWL_CONFLICT. */
pawl_code store_place_make(const store_place *p, pawl_err *err);

/* Makes a folder for this user alone, with those above it. */
pawl_code private_folder_make(const char *folder, pawl_err *err);

/* One store in the folder of stores: `project` may be gone. False: stop. Called in the order of names. */
typedef bool store_place_fn(void *ctx, const char *project, const char *path);
pawl_code store_places(arena *mem, store_place_fn *fn, void *ctx, pawl_err *err);

#endif
