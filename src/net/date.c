/* date.c - dates as HTTP writes them, and how long Retry-After asks to wait.
 *
 * Pure. */
#include "net/net.h"

#define RETRY_AFTER_MS_MAX INT64_C(86400000)    /* a day */

/* `n` digits at `text`; -1: other characters. */
static int digits(const char *text, int n)
{
    int v = 0;

    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        v = v * 10 + (text[i] - '0');
    }
    return v;
}

static bool leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Since 1970; `month` from 0, `day` from 1. */
static int64_t days_until(int64_t year, int month, int day)
{
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    int64_t y = year - 1;

    return 365 * (year - 1970) + (y / 4 - y / 100 + y / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400) + before[month] + day - 1 +
           (month > 1 && leap(year) ? 1 : 0);
}

/* The only form that may still be sent (RFC 9110 5.6.7); the two old forms are refused. */
int64_t http_date(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec", form[] = "***, ** *** **** **:**:** GMT";
    static const int length[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int month = 0, day, year, hour, minute, second;

    if (text == NULL || strlen(text) != sizeof form - 1)
        return -1;
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] != '*' && form[i] != text[i])
            return -1;
    while (month < 12 && strncmp(months + (ptrdiff_t)month * 3, text + 8, 3) != 0)
        month++;
    day = digits(text + 5, 2);
    year = digits(text + 12, 4);
    hour = digits(text + 17, 2);
    minute = digits(text + 20, 2);
    second = digits(text + 23, 2);
    if (month == 12 || day < 1 || day > length[month] || (month == 1 && day == 29 && !leap(year)) || year < 1970 || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return -1;
    return ((days_until(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
}

int64_t retry_after_ms(const char *text, const char *date)
{
    int64_t ms = 0, at, now;
    size_t n = text != NULL ? strlen(text) : 0;

    if (n == 0)
        return 0;
    if (strspn(text, "0123456789") == n) {
        for (size_t i = 0; i < n && ms < RETRY_AFTER_MS_MAX; i++)
            ms = ms * 10 + (text[i] - '0') * 1000;
    } else if ((at = http_date(text)) >= 0) {
        now = http_date(date);
        ms = at * 1000 - (now >= 0 ? now * 1000 : epoch_ms());
    }
    return ms < 0 ? 0 : ms > RETRY_AFTER_MS_MAX ? RETRY_AFTER_MS_MAX : ms;
}
