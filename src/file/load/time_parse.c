/* time_parse.c - parses times in a file.
 *
 * Pure: the current time is an argument. */
#include "file/model.h"

#define DAY_MS INT64_C(86400000)

static bool digits(const char **at, unsigned n, unsigned most, unsigned *out)
{
    *out = 0;
    for (unsigned i = 0; i < n; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (unsigned)(**at - '0');
    }
    return *out <= most;
}

/* Days since 1970-01-01 in the Gregorian calendar; years 1970 to 9999. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2), era = y / 400;
    int64_t of_era = y - era * 400, of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + (int64_t)day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool clock_read(const char **at, int64_t *ms)
{
    unsigned hour, minute, second = 0;

    if (!digits(at, 2, 23, &hour) || *(*at)++ != ':' || !digits(at, 2, 59, &minute))
        return false;
    if (**at == ':' && ((*at)++, !digits(at, 2, 59, &second)))
        return false;
    *ms = ((int64_t)hour * 3600 + (int64_t)minute * 60 + (int64_t)second) * 1000;
    return true;
}

static unsigned month_days(unsigned year, unsigned month)
{
    static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

bool moment_read(const char *text, int64_t now_ms, int64_t *out_ms)
{
    const char *at = text;
    unsigned year, month, day;
    int64_t ms;

    if (strlen(text) <= 8 && clock_read(&at, &ms) && *at == '\0') {
        *out_ms = now_ms / DAY_MS * DAY_MS + ms;
        if (*out_ms <= now_ms)
            *out_ms += DAY_MS;
        return true;
    }
    at = text;
    if (!digits(&at, 4, 9999, &year) || year < 1970 || *at++ != '-' || !digits(&at, 2, 12, &month) || month == 0 || *at++ != '-' ||
        !digits(&at, 2, month_days(year, month), &day) || day == 0 || (*at != 'T' && *at != ' ') || (at++, !clock_read(&at, &ms)) ||
        strcmp(at, "Z") != 0)
        return false;
    *out_ms = days_of(year, month, day) * DAY_MS + ms;
    return true;
}
