/* script_digest.c - see script_digest.h. What is hashed is what one opened descriptor gives.
 *
 * Called by agent_effects.c before a hook runs, on any thread, and by src/app when settings are read or trusted. Owns nothing. */
#define _XOPEN_SOURCE 700       /* O_CLOEXEC, fstat */
#include "effect/script_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void text_digest(const void *data, size_t size, char out[SCRIPT_DIGEST_BYTES])
{
    hash h;

    hash_of(data, size, &h);
    memcpy(out, "sha256:", 7);
    hash_hex(&h, out + 7);
}

static void word_put(char out[SCRIPT_DIGEST_BYTES], const char *word)
{
    memcpy(out, word, strlen(word) + 1);
}

/* False: it is no file of that size any more, or cannot be read. */
static bool whole_read(int fd, char *data, size_t size)
{
    size_t done = 0;
    ssize_t n;

    while (done < size && (n = read(fd, data + done, size - done)) > 0)
        done += (size_t)n;
    return done == size && read(fd, &(char){0}, 1) == 0;
}

void script_digest(const char *path, char out[SCRIPT_DIGEST_BYTES])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);    /* a pipe would hold it up */
    struct stat st;
    char *data = NULL;

    word_put(out, fd < 0 && (errno == ENOENT || errno == ENOTDIR) ? SCRIPT_MISSING : "unreadable");
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SCRIPT_BYTES_MAX && (data = malloc((size_t)st.st_size + 1)) != NULL &&
        whole_read(fd, data, (size_t)st.st_size))
        text_digest(data, (size_t)st.st_size, out);
    free(data);
    close(fd);
}

const char *script_changed(const pawl_value *scripts)
{
    pawl_iter it = pawl_iter_of(scripts);
    const pawl_value *key, *v;
    char now[SCRIPT_DIGEST_BYTES];

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        script_digest(pawl_value_string(key), now);
        if (pawl_value_string(v) == NULL || strcmp(pawl_value_string(v), now) != 0 || strcmp(now, "unreadable") == 0)
            return pawl_value_string(key);
    }
    return NULL;
}
