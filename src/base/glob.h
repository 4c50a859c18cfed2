/* glob.h - patterns with * and similar, for names, paths and texts.
 *
 * Pure; no memory; any thread. Only the last star is tried again after a mismatch, so a match costs at most the product of both lengths. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Without GLOB_STARS: * ? [a-z] [!a] [^a] and \x; a [ without its ] is a plain character. */
enum {
    GLOB_BYTES = 1,         /* ? and [...] match a byte; else a UTF-8 character, or a byte if the text is not UTF-8 */
    GLOB_STARS = 2,         /* only * is special; \* and \\ are a plain * and a plain \ */
    GLOB_BLANKS = 4,        /* with GLOB_STARS: a blank also matches GLOB_BLANK */
    GLOB_MORE_WORDS = 8     /* with GLOB_STARS: the text may continue with a blank and anything, as "git push" matches "git push origin" */
};
#define GLOB_BLANK '\x1f'

bool glob_fits(const char *p, const char *pend, const char *t, const char *tend, unsigned rules);
/* By segments between slashes: * does not match a slash, ** matches any number of segments, at the end of the pattern at least one. Neither pattern nor
 * path begins or ends with a slash. */
bool glob_path_fits(const char *p, const char *pend, const char *t, const char *tend, unsigned rules);
/* After the ] of the class at p ("["), which must precede a slash; NULL: there is none. */
const char *glob_class_end(const char *p, const char *pend);

#endif
