/* trt_profile.c - reads a profile. A reader of its own: a name ends where the next key follows,
 * whatever is inside it. */
#include "engine/trt/trt_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/tool_json.h"

typedef struct reader {
    const char *text, *end, *p;
    qdq_arena *arena;
    qdq_error *err;
    QDQ_VEC(qdq_trt_row) rows;
    double count;
} reader;

static const struct {
    const char *key;
    size_t offset;
} numbers[] = {{"timeMs", offsetof(qdq_trt_row, time_ms)},
               {"averageMs", offsetof(qdq_trt_row, average_ms)},
               {"medianMs", offsetof(qdq_trt_row, median_ms)},
               {"percentage", offsetof(qdq_trt_row, percentage)}};

static qdq_status wrong(const reader *r, const char *expected)
{
    size_t line = 1;

    for (const char *p = r->text; p < r->p && p < r->end; p++)
        line += *p == '\n';
    return qdq_fail(r->err, QDQ_E_FORMAT, "profile: line %zu: %s, expected %s", line,
                    r->p >= r->end ? "it ends here" : "found something else", expected);
}

/* The text `"key" :` at p; returns what is behind it, or NULL. */
static const char *at_key(const char *p, const char *end, const char *key)
{
    size_t n = strlen(key);

    if ((size_t)(end - p) < n + 2 || *p != '"' || memcmp(p + 1, key, n) != 0 || p[n + 1] != '"')
        return NULL;
    p = qdq_tool_skip_space(p + n + 2, end);
    return p < end && *p == ':' ? qdq_tool_skip_space(p + 1, end) : NULL;
}

/* Is this quote the end of a name? Behind it stands one of our keys, or the end of the row. */
static bool ends_name(const char *quote, const char *end)
{
    const char *p = qdq_tool_skip_space(quote + 1, end);

    if (p < end && *p == '}') {
        p = qdq_tool_skip_space(p + 1, end);
        if (p < end && *p == ',')
            p = qdq_tool_skip_space(p + 1, end);
        return p == end || *p == ']' || *p == '{';
    }
    if (p == end || *p != ',')
        return false;
    p = qdq_tool_skip_space(p + 1, end);
    for (size_t i = 0; i < QDQ_COUNT(numbers); i++)
        if (at_key(p, end, numbers[i].key) != NULL)
            return true;
    return false;
}

static qdq_status read_name(reader *r, const char **name)
{
    const char *p = r->p;

    if (p >= r->end || *p != '"')
        return wrong(r, "a name in quotes");
    for (p++; p < r->end && !(*p == '"' && ends_name(p, r->end)); p++)
        ;
    if (p >= r->end) {
        r->p = p;
        return wrong(r, "the end of a name");
    }
    char *copy = qdq_arena_strndup(r->arena, r->p + 1, (size_t)(p - r->p - 1));
    QDQ_NEED(copy != NULL, r->err);
    for (size_t i = 0, n = (size_t)(p - r->p - 1); i < n; i++)
        if (copy[i] == '\0')
            copy[i] = '?';
    *name = copy;
    r->p = p + 1;
    return QDQ_OK;
}

static qdq_status read_number(reader *r, double *x)
{
    size_t n = qdq_tool_number(r->p, (size_t)(r->end - r->p), x);

    if (n == 0)
        return wrong(r, "a number");
    r->p += n;
    if (!isfinite(*x) || *x < 0)
        *x = NAN;
    return QDQ_OK;
}

/* One member of a row; keys that we do not know are numbers, too. */
static qdq_status read_member(reader *r, qdq_trt_row *row)
{
    const char *behind = at_key(r->p, r->end, "name");
    double ignored, *to = &ignored;

    if (behind != NULL) {
        r->p = behind;
        return read_name(r, &row->name);
    }
    for (size_t i = 0; i < QDQ_COUNT(numbers) && behind == NULL; i++) {
        behind = at_key(r->p, r->end, numbers[i].key);
        if (behind != NULL)
            to = (double *)(void *)((char *)row + numbers[i].offset);
    }
    if (behind == NULL && (behind = at_key(r->p, r->end, "count")) != NULL)
        to = &r->count;
    if (behind == NULL && *r->p == '"') {
        const char *p = r->p + 1;
        while (p < r->end && *p != '"' && *p != '\n')
            p++;
        p = p < r->end ? qdq_tool_skip_space(p + 1, r->end) : p;
        behind = p < r->end && *p == ':' ? qdq_tool_skip_space(p + 1, r->end) : NULL;
    }
    if (behind == NULL)
        return wrong(r, "a key");
    r->p = behind;
    return read_number(r, to);
}

static qdq_status read_row(reader *r)
{
    qdq_trt_row row = {NULL, NAN, NAN, NAN, NAN};

    for (r->p++;;) {
        r->p = qdq_tool_skip_space(r->p, r->end);
        if (r->p >= r->end)
            return wrong(r, "'}'");
        if (*r->p == '}')
            break;
        QDQ_TRY(read_member(r, &row));
        r->p = qdq_tool_skip_space(r->p, r->end);
        if (r->p < r->end && *r->p == ',')
            r->p++;
        else if (r->p < r->end && *r->p != '}')
            return wrong(r, "',' or '}'");
    }
    r->p++;
    if (row.name == NULL) /* the header */
        return QDQ_OK;
    return QDQ_PUSH(r->arena, &r->rows, row) ? QDQ_OK : qdq_nomem(r->err);
}

qdq_status qdq_trt_profile_parse(const char *text, size_t size, qdq_arena *arena,
                                 qdq_trt_profile *out, qdq_error *err)
{
    reader r = {.text = text, .end = text + size, .p = text, .arena = arena, .err = err};

    *out = (qdq_trt_profile){0};
    r.p = qdq_tool_skip_space(r.p, r.end);
    if (r.p >= r.end || *r.p != '[')
        return wrong(&r, "'['");
    for (r.p++;;) {
        r.p = qdq_tool_skip_space(r.p, r.end);
        if (r.p < r.end && *r.p == ',')
            r.p = qdq_tool_skip_space(r.p + 1, r.end);
        if (r.p < r.end && *r.p == ']')
            break;
        if (r.p >= r.end || *r.p != '{')
            return wrong(&r, "'{' or ']'");
        QDQ_TRY(read_row(&r));
    }
    *out = (qdq_trt_profile){.count = r.count >= 1 && r.count < 4e9 ? (unsigned)r.count : 0,
                             .at = r.rows.at,
                             .n = r.rows.n,
                             .single_pass = r.count <= 1};
    return QDQ_OK;
}

double qdq_trt_row_ms(const qdq_trt_row *r)
{
    return isnan(r->median_ms) ? r->average_ms : r->median_ms;
}

/* --- to the layers ---------------------------------------------------------------------------- */

/* The name of a row may still have its " [profile N]". */
static bool same_name(const char *row, const qdq_trt_layer *l)
{
    size_t n = strlen(l->name);

    return strncmp(row, l->name, n) == 0 &&
           (row[n] == '\0' || strncmp(row + n, " [profile ", 10) == 0);
}

static bool in_order(const qdq_trt_profile *p, const qdq_trt_layers *l)
{
    if (p->n != l->n)
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (!same_name(p->at[i].name, &l->at[i]))
            return false;
    return true;
}

/* The length of a name without its " [profile N]". */
static size_t bare_size(const char *name)
{
    const char *at = NULL;

    for (const char *p = name; (p = strstr(p, " [profile ")) != NULL; p++)
        at = p;
    return at != NULL && name[strlen(name) - 1] == ']' ? (size_t)(at - name) : strlen(name);
}

/* first[name]: the first row of that name; next[i]: the next row of the same name. Each is used
 * once. */
static bool join_by_name(const qdq_trt_profile *p, const qdq_trt_layers *l, size_t *row,
                         size_t *next)
{
    qdq_map first = QDQ_MAP_INIT;
    bool good = true;

    for (size_t i = p->n; i-- > 0 && good;) { /* backwards, so that each list is in order */
        bool is_new;
        qdq_map_value *v = qdq_map_put_n(&first, p->at[i].name, bare_size(p->at[i].name), &is_new);

        good = v != NULL;
        if (good) {
            next[i] = is_new ? SIZE_MAX : (size_t)v->num;
            v->num = i;
        }
    }
    for (size_t i = 0; i < l->n && good; i++) {
        qdq_map_value *v = qdq_map_get(&first, l->at[i].name);

        row[i] = v != NULL ? (size_t)v->num : SIZE_MAX;
        if (v != NULL && v->num != SIZE_MAX)
            v->num = next[v->num];
    }
    qdq_map_free(&first);
    return good;
}

qdq_status qdq_trt_profile_join(const qdq_trt_profile *p, const qdq_trt_layers *l, size_t *row,
                                bool *positional, qdq_error *err)
{
    *positional = in_order(p, l);
    if (*positional) {
        for (size_t i = 0; i < l->n; i++)
            row[i] = i;
        return QDQ_OK;
    }
    size_t *next = calloc(p->n + 1, sizeof *next);
    bool good = next != NULL && join_by_name(p, l, row, next);
    free(next);
    return good ? QDQ_OK : qdq_nomem(err);
}
