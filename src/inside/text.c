/* text.c - numbers and lines, without stdio: its start costs more than the whole program.
 *
 * Called by all files of `inside`. Pure, but for line_write(). */
#include "inside/inside.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

const char *number_text(uint64_t n, char room[NUMBER_SIZE])
{
    char *at = room + NUMBER_SIZE - 1;

    *at = '\0';
    do
        *--at = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    return at;
}

uint64_t number_of(const char *text)
{
    uint64_t n = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        n = 10 * n + (uint64_t)(*text - '0');
    return n;
}

bool joined(char *out, size_t size, const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);

    out[0] = '\0';
    if (n + m >= size)
        return false;
    memcpy(out, a, n);
    memcpy(out + n, b, m + 1);
    return true;
}

bool line_write(int fd, const char *a, const char *b, const char *c)
{
    const char *const texts[] = { a, b, c, "\n" };
    struct iovec all[4];
    ssize_t size = 0, n;

    for (int i = 0; i < 4; i++) {
        all[i] = (struct iovec){ (char *)(uintptr_t)texts[i], strlen(texts[i]) };
        size += (ssize_t)all[i].iov_len;
    }
    do
        n = writev(fd, all, 4);
    while (n < 0 && errno == EINTR);
    return n == size;
}
