/* number.c - a double as the shortest decimal that reads back as it (K2).
 *
 * Of several that are as short it is the one nearest to the number. Decimals of up to 15
 * digits are found by one exact division; all others by the free-format algorithm of
 * Steele & White and Dragon4, in exact integers, with Burger & Dybvig's scaling. Reading
 * is taken to round half to even, so a bound itself reads back if the fraction is even. */
#include "json/inner.h"

#include <float.h>

_Static_assert(FLT_EVAL_METHOD == 0, "no excess precision: a double is what its 64 bits say (K2)");

enum {
    DIGITS_MAX = 17, /* no double needs more */
    FRACTION_BITS = 52,
    EXPONENT_LEAST = -1074, /* of the last bit */
    POINT_MAX = 21,         /* digits before the point without an exponent, as ECMAScript has it */
    POINT_MIN = -6          /* and zeros after it */
};

typedef struct real_decimal {    /* 0.DIGITS * 10^point */
    char digits[DIGITS_MAX + 3]; /* large enough for uint_text() */
    int count, point;
} real_decimal;

static uint64_t real_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool real_finite(double x)
{
    return (real_bits(x) >> FRACTION_BITS & 0x7FF) != 0x7FF;
}

/* ---- natural numbers ------------------------------------------------------------------------ */

enum { LIMBS_MAX = 40 }; /* 1280 bits; the largest here is 10^324 * 2^54 * 2^32, 1163 bits */

typedef struct big {
    int count; /* limbs in use; the last is not 0 */
    uint32_t limb[LIMBS_MAX];
} big;

static void big_set(big *a, uint64_t n)
{
    a->limb[0] = (uint32_t)n;
    a->limb[1] = (uint32_t)(n >> 32);
    a->count = n >> 32 != 0 ? 2 : n != 0;
}

static void big_times(big *a, uint32_t by)
{
    uint64_t carry = 0;

    for (int i = 0; i < a->count; i++) {
        carry += (uint64_t)a->limb[i] * by;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        a->limb[a->count++] = (uint32_t)carry;
}

static void big_times_ten_to(big *a, int power)
{
    static const uint32_t tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };

    for (; power >= 9; power -= 9)
        big_times(a, 1000000000);
    if (power > 0)
        big_times(a, tens[power]);
}

static void big_shift(big *a, int bits)
{
    int limbs = bits / 32;

    big_times(a, (uint32_t)1 << bits % 32);
    if (limbs == 0 || a->count == 0)
        return;
    memmove(a->limb + limbs, a->limb, (size_t)a->count * sizeof *a->limb);
    memset(a->limb, 0, (size_t)limbs * sizeof *a->limb);
    a->count += limbs;
}

static int big_compare(const big *a, const big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void big_sum(big *sum, const big *a, const big *b)
{
    uint64_t carry = 0;
    int n = a->count > b->count ? a->count : b->count;

    for (int i = 0; i < n; i++) {
        carry += (i < a->count ? a->limb[i] : 0);
        carry += (i < b->count ? b->limb[i] : 0);
        sum->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum->count = n;
    if (carry != 0)
        sum->limb[sum->count++] = (uint32_t)carry;
}

/* a -= b * by, which must not fall below 0. */
static void big_less(big *a, const big *b, uint32_t by)
{
    uint64_t carry = 0, borrow = 0;

    for (int i = 0; i < a->count; i++) {
        carry += i < b->count ? (uint64_t)b->limb[i] * by : 0;
        uint64_t left = (uint64_t)a->limb[i] - (uint32_t)carry - borrow;
        a->limb[i] = (uint32_t)left;
        borrow = left >> 63;
        carry >>= 32;
    }
    while (a->count > 0 && a->limb[a->count - 1] == 0)
        a->count--;
}

/* a / b, below 10; `a` keeps the remainder. The top limb of `b` has 28 bits, so the estimate is too low by 1 at most. */
static unsigned big_digit(big *a, const big *b)
{
    uint32_t guess;

    if (a->count < b->count)
        return 0;
    guess = a->limb[a->count - 1] / (b->limb[b->count - 1] + 1);
    if (guess > 0)
        big_less(a, b, guess);
    if (big_compare(a, b) >= 0) {
        big_less(a, b, 1);
        guess++;
    }
    return guess;
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* x is whole / unit; numbers from down / unit below it to up / unit above it read back as x. */
typedef struct real_range {
    big whole, unit, down, up;
    bool wide;     /* the bounds themselves read back as x */
    bool lopsided; /* up is twice down: x is a power of 2 */
} real_range;

static int cmp_whole_plus_up(const real_range *r)
{
    big sum;

    big_sum(&sum, &r->whole, r->lopsided ? &r->up : &r->down);
    return big_compare(&sum, &r->unit);
}

static bool reaches_up(const real_range *r)
{
    int c = cmp_whole_plus_up(r);

    return r->wide ? c >= 0 : c > 0;
}

static bool reaches_down(const real_range *r)
{
    int c = big_compare(&r->whole, &r->down);

    return r->wide ? c <= 0 : c < 0;
}

static void times_ten(real_range *r)
{
    big_times(&r->whole, 10);
    big_times(&r->down, 10);
    if (r->lopsided)
        big_times(&r->up, 10);
}

/* floor(log2 * log10(2)) in exact integers: 10^result <= 2^log2. */
static int ten_below(int log2)
{
    const int64_t scaled = 1292913986; /* log10(2) * 2^32; no |log2| <= 1100 comes near a whole result */

    if (log2 >= 0)
        return (int)(log2 * scaled >> 32);
    return -(int)((-log2 * scaled + UINT32_MAX) >> 32);
}

/* The range of fraction * 2^exponent, doubled once so that half a unit is whole. */
static void range_of(real_range *r, uint64_t fraction, int exponent)
{
    r->lopsided = fraction == UINT64_C(1) << FRACTION_BITS && exponent > EXPONENT_LEAST;
    r->wide = fraction % 2 == 0;
    big_set(&r->whole, fraction << (1 + r->lopsided));
    big_set(&r->unit, UINT64_C(1) << (1 + r->lopsided));
    big_set(&r->down, 1);
    big_set(&r->up, 2);
    big_shift(exponent < 0 ? &r->unit : &r->whole, exponent < 0 ? -exponent : exponent);
    if (exponent > 0) {
        big_shift(&r->down, exponent);
        big_shift(&r->up, exponent);
    }
}

/* The shift that gives a number with this top limb a top limb of 28 bits. */
static int unit_shift(uint32_t top)
{
    int bits = 0;

    while (top >> bits > 1)
        bits++;
    return bits < 28 ? 27 - bits : 59 - bits;
}

/* Scales x / 10^result into [1/10, 1), and all parts so that big_digit() can divide by the unit. */
static int range_scale(real_range *r, int log2)
{
    int point = ten_below(log2) + 1, bits;

    if (point >= 0) {
        big_times_ten_to(&r->unit, point);
    } else {
        big_times_ten_to(&r->whole, -point);
        big_times_ten_to(&r->down, -point);
        big_times_ten_to(&r->up, -point);
    }
    if (reaches_up(r))
        point++; /* rounds up to the next power of ten */
    else
        times_ten(r);
    bits = unit_shift(r->unit.limb[r->unit.count - 1]);
    big_shift(&r->unit, bits);
    big_shift(&r->whole, bits);
    big_shift(&r->down, bits);
    big_shift(&r->up, bits);
    return point;
}

static bool past_half(const real_range *r, unsigned digit)
{
    big twice = r->whole;
    int c;

    big_times(&twice, 2);
    c = big_compare(&twice, &r->unit);
    return c > 0 || (c == 0 && digit % 2 == 1);
}

/* Digits until the rest can be dropped, or rounded up, so that the number still reads back. */
static void exact_decimal(double x, real_decimal *d)
{
    uint64_t bits = real_bits(x), fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS), log2 = FRACTION_BITS;
    real_range r;

    if (exponent > 0) {
        fraction |= UINT64_C(1) << FRACTION_BITS;
        exponent--;
    }
    exponent += EXPONENT_LEAST;
    while (fraction >> log2 == 0)
        log2--;
    range_of(&r, fraction, exponent);
    d->point = range_scale(&r, log2 + exponent);
    for (d->count = 0;; times_ten(&r)) {
        unsigned digit = big_digit(&r.whole, &r.unit);
        bool down = reaches_down(&r), up = reaches_up(&r);
        if (up && (!down || past_half(&r, digit)))
            digit++;
        d->digits[d->count++] = (char)('0' + digit);
        if (down || up)
            break;
    }
}

/* What people write: m / 10^k with m below 10^15. Both are exact, so the division is the number that
 * the text reads back as; and no two decimals of 15 digits read as one double, so none is shorter. */
static bool short_decimal(double x, real_decimal *d)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9, 1e10,
                                   1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20 };
    const double most = 1e15;
    size_t k = 1;

    if (x < 1e-6)
        return false;
    for (; k < sizeof tens / sizeof *tens && x * tens[k] < most; k++) {
        uint64_t m = (uint64_t)(x * tens[k] + 0.5);
        if ((double)m / tens[k] == x) {
            d->count = (int)uint_text(m, d->digits);
            d->point = d->count - (int)k;
            return true;
        }
    }
    return false;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static char *zeros_put(char *out, int n)
{
    memset(out, '0', (size_t)n);
    return out + n;
}

static char *digits_put(char *out, const real_decimal *d, int from, int to)
{
    memcpy(out, d->digits + from, (size_t)(to - from));
    return out + (to - from);
}

/* d.ddde-10; the point only between digits. */
static char *exponent_put(char *out, const real_decimal *d)
{
    int power = d->point - 1;

    out = digits_put(out, d, 0, 1);
    if (d->count > 1) {
        *out++ = '.';
        out = digits_put(out, d, 1, d->count);
    }
    *out++ = 'e';
    if (power < 0)
        *out++ = '-';
    return out + uint_text((uint64_t)(power < 0 ? -power : power), out);
}

static char *decimal_put(char *out, const real_decimal *d)
{
    if (d->point > POINT_MAX || d->point <= POINT_MIN)
        return exponent_put(out, d);
    if (d->point <= 0) {
        out = zeros_put(out, 1);
        *out++ = '.';
        out = zeros_put(out, -d->point);
        return digits_put(out, d, 0, d->count);
    }
    if (d->point < d->count) {
        out = digits_put(out, d, 0, d->point);
        *out++ = '.';
        return digits_put(out, d, d->point, d->count);
    }
    out = digits_put(out, d, 0, d->count);
    out = zeros_put(out, d->point - d->count);
    *out++ = '.';
    return zeros_put(out, 1);
}

size_t real_text(double x, char out[REAL_TEXT_MAX])
{
    const double whole_most = 9007199254740992.0; /* 2^53: below it, every integer is its own neighbour */
    char *p = out;
    real_decimal d;

    if (x < 0) {
        *p++ = '-';
        x = -x;
    }
    if (x < whole_most && (double)(uint64_t)x == x) {
        p += uint_text((uint64_t)x, p);
        *p++ = '.';
        *p++ = '0';
        return (size_t)(p - out);
    }
    if (!short_decimal(x, &d))
        exact_decimal(x, &d);
    return (size_t)(decimal_put(p, &d) - out);
}
