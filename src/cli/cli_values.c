/* cli_values.c - numbers, sizes, lists and shapes of the command line. Strict: what is not wholly
 * understood is an error that says what was expected. */
#include "cli/cli_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Digits alone: strtoll would take blanks, signs and more. */
static bool read_digits(const char *text, size_t size, int64_t *out)
{
    int64_t v = 0;

    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        if (v > (INT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (text[i] - '0');
    }
    *out = v;
    return true;
}

static qdq_status read_whole(const cli_opt *o, const char *text, int64_t *to, qdq_error *err)
{
    int64_t v = 0;

    if (!read_digits(text, strlen(text), &v) || v < o->min || v > o->max)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found '%s', expected a whole number from %" PRId64 " to %" PRId64, text,
                        o->min, o->max);
    *to = v;
    return QDQ_OK;
}

static bool read_real(const char *text, size_t size, double *to)
{
    char copy[64];
    char *end = NULL;

    if (size == 0 || size >= sizeof copy || strspn(text, "+-.0123456789eE") < size)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *to = strtod(copy, &end);
    return end == copy + size && isfinite(*to);
}

/* Seconds, minutes or hours. */
static qdq_status read_time(const char *text, double *to, qdq_error *err)
{
    size_t digits = strspn(text, ".0123456789");
    const char *unit = text + digits;
    double scale = strcmp(unit, "h") == 0                    ? 3600
                   : strcmp(unit, "m") == 0                  ? 60
                   : *unit == '\0' || strcmp(unit, "s") == 0 ? 1
                                                             : 0;

    if (scale == 0 || !read_real(text, digits, to) || *to <= 0 || *to > 1e7)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found '%s', expected a time above 0, as 90s, 10m or 1.5h", text);
    *to *= scale;
    return QDQ_OK;
}

static qdq_status read_size(const char *text, uint64_t *to, qdq_error *err)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    unsigned shift = 0;
    int64_t v = 0;
    bool good = read_digits(text, digits, &v);

    if (good && *unit != '\0') {
        const char *u = strchr(units, *unit);
        good = u != NULL;
        if (good)
            shift = 10 * (unsigned)(u - units + 1);
        unit++;
        good = good && (*unit == '\0' || strcmp(unit, "B") == 0 || strcmp(unit, "iB") == 0);
    }
    if (!good || v > INT64_MAX >> shift)
        return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected bytes, as 65536, 256M or 2GiB",
                        text);
    *to = (uint64_t)v << shift;
    return QDQ_OK;
}

static qdq_status read_choice(const cli_opt *o, const char *text, int *to, qdq_error *err)
{
    qdq_error list = QDQ_ERROR_INIT;
    size_t used = 0;

    for (int i = 0; o->choices[i] != NULL; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *to = i;
            return QDQ_OK;
        }
        int n = snprintf(list.text + used, sizeof list.text - used, "%s%s", i == 0 ? "" : ", ",
                         o->choices[i]);
        used += n > 0 && (size_t)n < sizeof list.text - used ? (size_t)n : 0;
    }
    return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected one of %s", text, list.text);
}

static qdq_status add_name(cli_names *names, qdq_arena *arena, const char *name, qdq_error *err)
{
    QDQ_NEED(QDQ_PUSH(arena, names, name) && QDQ_RESERVE(arena, names), err);
    names->at[names->n] = NULL;
    return QDQ_OK;
}

/* A,B,C; a backslash takes away the comma's meaning. */
static qdq_status read_names(cli_names *names, qdq_arena *arena, const char *text, qdq_error *err)
{
    const char *from = text;

    do {
        char *name = qdq_arena_alloc(arena, strlen(from) + 1);
        size_t n = 0;
        QDQ_NEED(name != NULL, err);
        while (*from != '\0' && *from != ',') {
            if (from[0] == '\\' && from[1] == ',')
                from++;
            name[n++] = *from++;
        }
        name[n] = '\0';
        if (n == 0)
            return qdq_fail(err, QDQ_E_USAGE, "found an empty name in '%s', expected A,B,...",
                            text);
        QDQ_TRY(add_name(names, arena, name, err));
    } while (*from++ == ',');
    return QDQ_OK;
}

/* NAME=1x3x224x224. The last '=' counts: tensor names may hold one. */
static qdq_status read_shape(cli_shapes *shapes, qdq_arena *arena, const char *text, qdq_error *err)
{
    const char *equals = strrchr(text, '=');
    qdq_input_shape s = {NULL, 0, {0}};

    if (equals == NULL || equals == text || equals[1] == '\0')
        return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected NAME=1x3x224x224", text);
    s.name = qdq_arena_strndup(arena, text, (size_t)(equals - text));
    QDQ_NEED(s.name != NULL, err);
    for (const char *d = equals + 1;; d++) {
        size_t size = strcspn(d, "x");
        if (s.rank == QDQ_MAX_RANK)
            return qdq_fail(err, QDQ_E_USAGE, "found more than %d dimensions in '%s'", QDQ_MAX_RANK,
                            text);
        if (!read_digits(d, size, &s.dim[s.rank]) || s.dim[s.rank] < 1 || s.dim[s.rank] > INT32_MAX)
            return qdq_fail(
                err, QDQ_E_USAGE,
                "found '%.*s' as dimension %d in '%s', expected a whole number from 1 to %d",
                (int)size, d, s.rank + 1, text, INT32_MAX);
        s.rank++;
        d += size;
        if (*d == '\0')
            break;
    }
    for (size_t i = 0; i < shapes->n; i++)
        if (strcmp(shapes->at[i].name, s.name) == 0)
            return qdq_fail(err, QDQ_E_USAGE, "found two shapes for '%s', expected one", s.name);
    return QDQ_PUSH(arena, shapes, s) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status read_reals(cli_reals *to, const char *text, qdq_error *err)
{
    cli_reals r = {{0}, 0};

    for (const char *v = text;; v++) {
        size_t size = strcspn(v, ",");
        if (r.n == CLI_MAX_REALS || !read_real(v, size, &r.at[r.n]))
            return qdq_fail(err, QDQ_E_USAGE,
                            "found '%s', expected 1 to %d numbers, as 127,127,127", text,
                            CLI_MAX_REALS);
        r.n++;
        v += size;
        if (*v == '\0')
            break;
    }
    *to = r;
    return QDQ_OK;
}

static qdq_status read_extent(cli_extent *to, const char *text, qdq_error *err)
{
    size_t first = strcspn(text, "x");
    const char *second = text[first] == 'x' ? text + first + 1 : text;
    int64_t h = 0, w = 0;

    if (!read_digits(text, first, &h) || !read_digits(second, strlen(second), &w) || h < 1 ||
        w < 1 || h > 65535 || w > 65535)
        return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected HEIGHTxWIDTH, as 240x320", text);
    to->height = (int)h;
    to->width = (int)w;
    return QDQ_OK;
}

qdq_status cli_value_read(const cli_opt *o, const char *text, qdq_arena *arena, void *to,
                          qdq_error *err)
{
    switch (o->kind) {
    case CLI_FLAG:
    case CLI_COUNT:
        return qdq_fail(err, QDQ_E_BUG, "a value for an option that takes none");
    case CLI_TEXT:
    case CLI_WORDS:
    case CLI_FILE:
        if (*text == '\0')
            return qdq_fail(err, QDQ_E_USAGE, "found an empty value, expected %s", o->what);
        *(const char **)to = text;
        return QDQ_OK;
    case CLI_CHOICE:
        return read_choice(o, text, to, err);
    case CLI_WHOLE:
        return read_whole(o, text, to, err);
    case CLI_REAL:
        if (!read_real(text, strlen(text), to))
            return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected a number", text);
        return QDQ_OK;
    case CLI_MAYBE:
        if (!read_real(text, strlen(text), &((cli_maybe *)to)->value))
            return qdq_fail(err, QDQ_E_USAGE, "found '%s', expected a number", text);
        ((cli_maybe *)to)->is_set = true;
        return QDQ_OK;
    case CLI_TIME:
        return read_time(text, to, err);
    case CLI_SIZE:
        return read_size(text, to, err);
    case CLI_LIST:
        if (*text == '\0')
            return qdq_fail(err, QDQ_E_USAGE, "found an empty value, expected %s", o->what);
        return add_name(to, arena, text, err);
    case CLI_NAMES:
        return read_names(to, arena, text, err);
    case CLI_SHAPES:
        return read_shape(to, arena, text, err);
    case CLI_REALS:
        return read_reals(to, text, err);
    case CLI_EXTENT:
        return read_extent(to, text, err);
    }
    return qdq_fail(err, QDQ_E_BUG, "option of unknown kind");
}

void cli_value_count(const cli_opt *o, bool negated, void *to)
{
    if (o->kind == CLI_COUNT)
        ++*(int *)to;
    else
        *(bool *)to = !negated;
}

/* --- what was given --------------------------------------------------------------------------- */

static bool is_number_at_default(const cli_opt *o, const void *at)
{
    union {
        int choice;
        int64_t whole;
        uint64_t bytes;
        double real;
    } init;
    const size_t size = o->kind == CLI_CHOICE || o->kind == CLI_COUNT ? sizeof(int) : sizeof init;
    qdq_error ignored = QDQ_ERROR_INIT;

    memset(&init, 0, sizeof init);
    return (o->init == NULL || cli_value_read(o, o->init, NULL, &init, &ignored) == QDQ_OK) &&
           memcmp(at, &init, size) == 0;
}

static bool is_text_at_default(const cli_opt *o, const char *text)
{
    return text == NULL || (o->init != NULL && strcmp(text, o->init) == 0);
}

static bool is_at_default(const cli_opt *o, const void *at)
{
    switch (o->kind) {
    case CLI_FLAG:
        return *(const bool *)at == (o->init != NULL);
    case CLI_TEXT:
    case CLI_WORDS:
    case CLI_FILE:
        return is_text_at_default(o, *(const char *const *)at);
    case CLI_LIST:
    case CLI_NAMES:
        return ((const cli_names *)at)->n == 0;
    case CLI_SHAPES:
        return ((const cli_shapes *)at)->n == 0;
    case CLI_MAYBE:
        return !((const cli_maybe *)at)->is_set;
    case CLI_REALS:
        return ((const cli_reals *)at)->n == 0;
    case CLI_EXTENT:
        return ((const cli_extent *)at)->height == 0;
    case CLI_COUNT:
    case CLI_CHOICE:
    case CLI_WHOLE:
    case CLI_REAL:
    case CLI_TIME:
    case CLI_SIZE:
        break;
    }
    return is_number_at_default(o, at);
}

const char *cli_first_given(const cli_opt *opts, const void *args)
{
    for (const cli_opt *o = opts; o->name != NULL; o++) {
        const void *at = (const char *)args + o->offset;
        if (!is_at_default(o, at))
            return o->kind == CLI_FLAG && o->init != NULL ? o->off : o->spelling;
    }
    return NULL;
}

void cli_put_given(const cli_opt *opts, const void *args, qdq_buf *out)
{
    for (const cli_opt *o = opts; o->name != NULL; o++) {
        const void *at = (const char *)args + o->offset;
        const cli_names *list = at;

        if (is_at_default(o, at))
            continue;
        for (size_t i = 0; o->kind == CLI_LIST && i < list->n; i++)
            qdq_buf_printf(out, " %s %s", o->spelling, list->at[i]);
        if (o->kind == CLI_CHOICE)
            qdq_buf_printf(out, " %s %s", o->spelling, o->choices[*(const int *)at]);
        else if (o->kind == CLI_TEXT)
            qdq_buf_printf(out, " %s %s", o->spelling, *(const char *const *)at);
        else if (o->kind != CLI_LIST)
            qdq_buf_printf(out, " %s", o->spelling);
    }
}

qdq_status cli_agreement_check(const cli_maybe *a, qdq_error *err)
{
    if (a->is_set && !(a->value > 0 && a->value <= 1))
        return qdq_fail(err, QDQ_E_USAGE,
                        "--min-agreement: found %g, expected more than 0 and at most 1", a->value);
    return QDQ_OK;
}
