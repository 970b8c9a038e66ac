/* regexp.c - POSIX regular expressions with bounds on size and time. What an expression will
 * cost is counted before the system's compiler sees it. */
#include "base/regexp.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"

/* --- size ------------------------------------------------------------------------------------- */

/* Characters and operators, as the compiler writes them out. */
typedef struct cost {
    uint64_t size, operators;
} cost;

/* One pair of parentheses: all before its last element, and that element, which an operator may
 * repeat. */
typedef struct level {
    cost before, last;
} level;

/* No product of two of these overflows. */
static uint64_t capped(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : n;
}

static cost add_costs(cost a, cost b)
{
    return (cost){capped(a.size + b.size), capped(a.operators + b.operators)};
}

static void begin_element(level *l, uint64_t size)
{
    l->before = add_costs(l->before, l->last);
    l->last = (cost){size, 0};
}

static void repeat(level *l, uint64_t times)
{
    l->last.size = capped(l->last.size * times);
    l->last.operators = capped((l->last.operators + 1) * times);
}

/* Behind the bracket expression that begins at p. */
static const char *behind_bracket(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    p += *p == ']';
    while (*p != '\0' && *p != ']') {
        if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
            const char kind = p[1];

            for (p += 2; *p != '\0' && !(*p == kind && p[1] == ']');)
                p++;
            p += *p != '\0';
        }
        p += *p != '\0';
    }
    return p + (*p != '\0');
}

/* Reads "{m}", "{m,}", "{m,n}" at p; NULL: it is none, and stands for itself. */
static const char *read_interval(const char *p, uint64_t *times)
{
    char *end;

    if (p[1] < '0' || p[1] > '9')
        return NULL;
    unsigned long long low = strtoull(p + 1, &end, 10), high = low;

    if (*end == ',') {
        const char *from = end + 1;

        if (*from >= '0' && *from <= '9')
            high = strtoull(from, &end, 10);
        else
            end++, high = low + 1;
    }
    *times = capped(high > low ? high : low);
    return *end == '}' ? end + 1 : NULL;
}

/* What begins at p, in the level *l; behind it. */
static const char *count_one(const char *p, level *l)
{
    uint64_t times;
    const char *end;

    switch (*p) {
    case '\\':
        begin_element(l, 1);
        return p + (p[1] == '\0' ? 1 : 2);
    case '[':
        begin_element(l, 1);
        return behind_bracket(p);
    case '|':
        begin_element(l, 0);
        l->last.operators = 1;
        return p + 1;
    case '*':
    case '?':
        repeat(l, 1);
        return p + 1;
    case '+': /* x+ is compiled as xx* */
        repeat(l, 2);
        return p + 1;
    case '{':
        end = read_interval(p, &times);
        if (end != NULL) {
            repeat(l, times > 0 ? times : 1);
            return end;
        }
        break;
    default:
        break;
    }
    begin_element(l, 1);
    return p + 1;
}

static qdq_status too_large(const char *text, const char *what, int limit, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_USAGE,
                    "regular expression '%.60s%s': too large; expected at most %d %s", text,
                    strlen(text) > 60 ? "..." : "", limit, what);
}

static qdq_status check_size(const char *text, qdq_error *err)
{
    level stack[QDQ_REGEXP_DEPTH + 1] = {{{0, 0}, {0, 0}}};
    int depth = 0;

    if (strlen(text) > QDQ_REGEXP_TEXT)
        return too_large(text, "bytes", QDQ_REGEXP_TEXT, err);
    for (const char *p = text; *p != '\0';) {
        level *l = &stack[depth];

        if (*p == '\\' && p[1] >= '1' && p[1] <= '9')
            return qdq_fail(
                err, QDQ_E_USAGE,
                "regular expression '%.60s': found the back reference '%.2s'; expected none", text,
                p);
        if (*p == '(') {
            if (depth == QDQ_REGEXP_DEPTH)
                return too_large(text, "nested parentheses", QDQ_REGEXP_DEPTH, err);
            begin_element(l, 1);
            stack[++depth] = (level){{0, 0}, {0, 0}};
            p++;
        } else if (*p == ')' && depth > 0) {
            const cost inner = add_costs(l->before, l->last);

            depth--;
            stack[depth].last = add_costs(stack[depth].last, inner);
            p++;
        } else {
            p = count_one(p, l);
        }
    }
    cost all = {0, 0};

    for (int i = 0; i <= depth; i++) /* what is left open is the compiler's to report */
        all = add_costs(all, add_costs(stack[i].before, stack[i].last));
    if (all.operators > QDQ_REGEXP_OPERATORS)
        return too_large(text, "operators with repetitions written out", QDQ_REGEXP_OPERATORS, err);
    if (all.size > QDQ_REGEXP_SIZE)
        return too_large(text, "characters with repetitions written out", QDQ_REGEXP_SIZE, err);
    return QDQ_OK;
}

/* --- use -------------------------------------------------------------------------------------- */

qdq_status qdq_regexp_open(const char *text, bool any_case, qdq_regexp *out, qdq_error *err)
{
    char reason[128];

    *out = (qdq_regexp){.text = text};
    QDQ_TRY(check_size(text, err));
    int code = regcomp(&out->re, text, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0));
    if (code == 0)
        return QDQ_OK;
    if (code == REG_ESPACE)
        return qdq_nomem(err);
    regerror(code, &out->re, reason, sizeof reason);
    return qdq_fail(err, QDQ_E_USAGE, "regular expression '%s': %s", text, reason);
}

void qdq_regexp_close(qdq_regexp *r)
{
    regfree(&r->re);
}

qdq_status qdq_regexp_match(qdq_regexp *r, const char *name, bool *yes, qdq_error *err)
{
    *yes = false;
    if (strnlen(name, QDQ_REGEXP_NAME + 1) > QDQ_REGEXP_NAME)
        return QDQ_OK;
    double begin = qdq_clock_seconds();
    int code = regexec(&r->re, name, 0, NULL, 0);

    r->seconds += qdq_clock_seconds() - begin;
    *yes = code == 0;
    if (code == REG_ESPACE)
        return qdq_nomem(err);
    if (r->seconds > QDQ_REGEXP_SECONDS)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "regular expression '%.60s': its matching took more than %d s; expected a simpler one",
            r->text, QDQ_REGEXP_SECONDS);
    return QDQ_OK;
}
