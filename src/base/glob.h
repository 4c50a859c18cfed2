/* glob.h - patterns with * and the like: of a name, of a path, of a text. Pure; no memory; any thread.
 *
 * A star that failed is gone back to only if it is the last one, so a match costs the product of both lengths at most. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Without GLOB_STARS: * ? [a-z] [!a] [^a] and \x; a [ without its ] is a plain character. */
enum {
    GLOB_BYTES = 1,         /* ? and [...] fit one byte; else one character of UTF-8, and a byte where the text is not UTF-8 */
    GLOB_STARS = 2,         /* only * is special; \* and \\ are a plain * and a plain \ */
    GLOB_BLANKS = 4,        /* with GLOB_STARS: a blank fits GLOB_BLANK, too */
    GLOB_MORE_WORDS = 8     /* with GLOB_STARS: the text may go on with a blank and anything, as "git push" fits "git push origin" */
};
#define GLOB_BLANK '\x1f'

bool glob_fits(const char *p, const char *pend, const char *t, const char *tend, unsigned rules);
/* By segments between slashes: * does not fit a slash, and ** fits any number of segments, at the end of the pattern one at least.
 * Neither the pattern nor the path begins or ends with a slash. */
bool glob_path_fits(const char *p, const char *pend, const char *t, const char *tend, unsigned rules);
/* Behind the ] of the class at p ("["), which must come before a slash; NULL: it has none. */
const char *glob_class_end(const char *p, const char *pend);

#endif
