/* note.c - formats a note and gives it to the caller.
 *
 * Called by the other files of this folder, on any thread that performs an effect: the caller's `note` must be thread-safe. */
#include "app/app.h"

#include <stdarg.h>

void app_note(const app_caller *caller, const char *fmt, ...)
{
    va_list args;
    buf text;

    if (caller == NULL || caller->note == NULL)
        return;
    buf_init(&text, NULL);
    va_start(args, fmt);
    buf_fmtv(&text, fmt, args);
    va_end(args);
    buf_char(&text, '\0');
    if (!text.failed)
        caller->note(caller->ctx, text.data);
    buf_free(&text);
}
