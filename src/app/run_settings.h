/* run_settings.h - the copy of its agent file that a run keeps. */
#ifndef APP_RUN_SETTINGS_H
#define APP_RUN_SETTINGS_H

#include "pawl/kernel.h"

/* The current "@file", "@cwd" or "@mode"; NULL: it has none. Lent until the state changes. */
const pawl_value *kept_value(pawl_state *st, const char *name);
bool kept_undone(const pawl_state *st);     /* compensation has run: it must not be reopened */

#endif
