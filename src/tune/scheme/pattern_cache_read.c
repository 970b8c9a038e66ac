/* pattern_cache_read.c - cache files and state files, of ours and of Model-Optimizer. What is wrong
 * in a pattern costs that pattern; what is wrong around them is an error. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/words.h"
#include "base/yaml_read.h"
#include "ir/text_lex.h"
#include "tune/scheme/pattern_cache.h"

enum { FILE_MAX = 64 * 1024 * 1024 };

typedef struct reader {
    const char *name;
    const qdq_job *job;
    /* of the document */
    qdq_arena arena;
    qdq_pattern_cache *c;
    /* of the file */
    qdq_error *err;
    /* of the pattern at hand */
    qdq_error bad;
} reader;

/* --- values ----------------------------------------------------------------------------------- */

static const char *text_found(const qdq_yaml *v)
{
    return v->kind == QDQ_YAML_SCALAR ? v->text : qdq_yaml_kind_name(v->kind);
}

static qdq_status fail_value(const reader *r, const qdq_yaml *v, const char *expected,
                             qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "%s:%zu:%zu: '%s' is '%.60s', expected %s", r->name, v->line,
                    v->column, v->key != NULL ? v->key : "item", text_found(v), expected);
}

static qdq_status fail_missing(const reader *r, const qdq_yaml *map, const char *key,
                               qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "%s:%zu:%zu: no key '%s'", r->name, map->line, map->column,
                    key);
}

static qdq_span span_of(const char *text)
{
    return (qdq_span){(const unsigned char *)text, strlen(text)};
}

/* An integer up to max; *out stays as it is where there is none. */
static qdq_status read_size(const reader *r, const qdq_yaml *v, uint64_t max, uint64_t *out,
                            qdq_error *err)
{
    uint64_t x;

    if (v == NULL)
        return QDQ_OK;
    const qdq_number number = {span_of(v->text), false};
    if (!v->plain || strspn(v->text, "0123456789") != number.text.size ||
        !qdq_number_uint(&number, &x) || x > max)
        return fail_value(r, v, "a number from 0 on", err);
    *out = x;
    return QDQ_OK;
}

static bool is_real(const char *s)
{
    size_t whole = strspn(s, "0123456789"), part = 0;

    s += whole;
    if (*s == '.')
        part = strspn(++s, "0123456789");
    s += part;
    if (whole + part == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s += s[1] == '-' || s[1] == '+' ? 2 : 1;
        if (*s == '\0')
            return false;
        s += strspn(s, "0123456789");
    }
    return *s == '\0';
}

/* Nothing and .inf stand for no measurement. */
static qdq_status read_latency(const reader *r, const qdq_yaml *v, double *out, qdq_error *err)
{
    *out = INFINITY;
    if (qdq_yaml_is_null(v) ||
        (v->plain && QDQ_WORD_IS_IN(v->text, ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")))
        return QDQ_OK;
    const qdq_number number = {span_of(v->text), true};
    if (!v->plain || !is_real(v->text) || !qdq_number_double(&number, out) || !isfinite(*out))
        return fail_value(r, v, "milliseconds from 0 on, or .inf", err);
    return QDQ_OK;
}

static qdq_status read_bool(const reader *r, const qdq_yaml *v, bool *out, qdq_error *err)
{
    if (v == NULL)
        return QDQ_OK;
    *out = QDQ_WORD_IS_IN(v->text, "true", "True", "TRUE");
    if (v->plain && (*out || QDQ_WORD_IS_IN(v->text, "false", "False", "FALSE")))
        return QDQ_OK;
    return fail_value(r, v, "true or false", err);
}

/* A list, or nothing: *out NULL. */
static qdq_status read_list(const reader *r, const qdq_yaml *v, const qdq_yaml **out,
                            qdq_error *err)
{
    *out = NULL;
    if (qdq_yaml_is_null(v))
        return QDQ_OK;
    if (v->kind != QDQ_YAML_LIST)
        return fail_value(r, v, "a list", err);
    *out = v->first;
    return QDQ_OK;
}

/* --- schemes ---------------------------------------------------------------------------------- */

static qdq_status read_index(reader *r, const qdq_yaml *map, const char *key, bool may_be_null,
                             int32_t *out)
{
    const qdq_yaml *v = qdq_yaml_get(map, key);
    uint64_t x = 0;

    *out = QDQ_POINT_NONE;
    if (may_be_null && qdq_yaml_is_null(v))
        return QDQ_OK;
    if (v == NULL)
        return fail_missing(r, map, key, &r->bad);
    QDQ_TRY(read_size(r, v, INT32_MAX, &x, &r->bad));
    *out = (int32_t)x;
    return QDQ_OK;
}

static qdq_status read_point(reader *r, const qdq_yaml *v, const qdq_point_list *list, qdq_point *p)
{
    const bool either = list->has_region && list->has_node;

    *p = (qdq_point){QDQ_POINT_NONE, QDQ_POINT_NONE, 0};
    if (v->kind != QDQ_YAML_MAP)
        return fail_value(r, v, "a map", &r->bad);
    if (list->has_region)
        QDQ_TRY(read_index(r, v, "region_index", either, &p->region));
    if (list->has_node)
        QDQ_TRY(read_index(r, v, "node_index", either, &p->node));
    if (either && (p->region == QDQ_POINT_NONE) == (p->node == QDQ_POINT_NONE))
        return qdq_fail(&r->bad, QDQ_E_FORMAT,
                        "%s:%zu:%zu: expected one of 'region_index' and 'node_index' to be null",
                        r->name, v->line, v->column);
    return read_index(r, v, list->index_key, false, &p->index);
}

static qdq_status read_points(reader *r, const qdq_yaml *scheme, const qdq_point_list *list,
                              qdq_points *out)
{
    const qdq_yaml *first;

    QDQ_TRY(read_list(r, qdq_yaml_get(scheme, list->key), &first, &r->bad));
    for (const qdq_yaml *v = first; v != NULL; v = v->next) {
        qdq_point p;

        QDQ_TRY(read_point(r, v, list, &p));
        QDQ_NEED(QDQ_PUSH(&r->arena, out, p), &r->bad);
    }
    return QDQ_OK;
}

/* Nothing: *out stays as it is. */
static qdq_status read_text(reader *r, const qdq_yaml *v, const char *expected, const char **out)
{
    if (qdq_yaml_is_null(v))
        return QDQ_OK;
    if (v->kind != QDQ_YAML_SCALAR)
        return fail_value(r, v, expected, &r->bad);
    *out = v->text;
    return QDQ_OK;
}

static qdq_status read_scheme(reader *r, const qdq_yaml *v, qdq_scheme *s)
{
    *s = (qdq_scheme){0};
    if (v->kind != QDQ_YAML_MAP)
        return fail_value(r, v, "a map", &r->bad);
    QDQ_TRY(read_latency(r, qdq_yaml_get(v, "latency_ms"), &s->latency_ms, &r->bad));
    QDQ_TRY(read_bool(r, qdq_yaml_get(v, "error"), &s->error, &r->bad));
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "profile_timestamp"), "a time", &s->timestamp));
    for (size_t i = 0; i < QDQ_POINT_LISTS; i++)
        QDQ_TRY(read_points(r, v, &qdq_point_lists[i], &s->list[i]));
    (void)qdq_scheme_sort(s); /* a point that comes twice is one point */
    return QDQ_OK;
}

/* --- patterns --------------------------------------------------------------------------------- */

static qdq_status read_keys(reader *r, const qdq_yaml *v, qdq_pattern_key *k)
{
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "canonical_hash"), "32 digits", &k->canon));
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "engine"), "a text", &k->engine));
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "device"), "a text", &k->device));
    return read_text(r, qdq_yaml_get(v, "options"), "a text", &k->options);
}

typedef qdq_status read_scheme_fn(reader *r, const qdq_yaml *v, qdq_scheme *s);

static qdq_status read_schemes(reader *r, const qdq_yaml *list, read_scheme_fn *read,
                               qdq_pattern_schemes *ps)
{
    const qdq_yaml *first;

    QDQ_TRY(read_list(r, list, &first, &r->bad));
    for (const qdq_yaml *v = first; v != NULL; v = v->next) {
        qdq_scheme s;

        QDQ_TRY(read(r, v, &s));
        QDQ_NEED(QDQ_PUSH(&r->arena, &ps->schemes, s), &r->bad);
    }
    return QDQ_OK;
}

static qdq_status read_pattern(reader *r, const qdq_yaml *v, qdq_pattern_schemes *ps)
{
    const qdq_yaml *signature = qdq_yaml_get(v, "pattern_signature");
    uint64_t size = 0;

    *ps = (qdq_pattern_schemes){0};
    if (v->kind != QDQ_YAML_MAP)
        return fail_value(r, v, "a map", &r->bad);
    if (qdq_yaml_is_null(signature))
        return fail_missing(r, v, "pattern_signature", &r->bad);
    if (signature->kind != QDQ_YAML_SCALAR)
        return fail_value(r, signature, "a text", &r->bad);
    QDQ_TRY(read_size(r, qdq_yaml_get(v, "pattern_size"), SIZE_MAX, &size, &r->bad));
    ps->key.signature = signature->text;
    if (qdq_pattern_is_model(&ps->key))
        return fail_value(r, signature, "operators", &r->bad);
    ps->size = (size_t)size;
    QDQ_TRY(read_keys(r, v, &ps->key));
    return read_schemes(r, qdq_yaml_get(v, "schemes"), read_scheme, ps);
}

/* --- models ----------------------------------------------------------------------------------- */

static qdq_status read_placement(reader *r, const qdq_yaml *v, qdq_scheme *s)
{
    *s = (qdq_scheme){0};
    if (v->kind != QDQ_YAML_MAP)
        return fail_value(r, v, "a map", &r->bad);
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "placement"), "hexadecimal digits", &s->placement));
    if (s->placement == NULL)
        return fail_missing(r, v, "placement", &r->bad);
    QDQ_TRY(read_latency(r, qdq_yaml_get(v, "latency_ms"), &s->latency_ms, &r->bad));
    return read_text(r, qdq_yaml_get(v, "profile_timestamp"), "a time", &s->timestamp);
}

static qdq_status read_model(reader *r, const qdq_yaml *v, qdq_pattern_schemes *ps)
{
    uint64_t size = 0;

    *ps = (qdq_pattern_schemes){.key.signature = QDQ_PATTERN_MODEL};
    if (v->kind != QDQ_YAML_MAP)
        return fail_value(r, v, "a map", &r->bad);
    QDQ_TRY(read_keys(r, v, &ps->key));
    if (ps->key.canon == NULL)
        return fail_missing(r, v, "canonical_hash", &r->bad);
    QDQ_TRY(read_size(r, qdq_yaml_get(v, "nodes"), SIZE_MAX, &size, &r->bad));
    ps->size = (size_t)size;
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "best"), "hexadecimal digits", &ps->best));
    QDQ_TRY(read_text(r, qdq_yaml_get(v, "settled"), "32 digits", &ps->settled));
    return read_schemes(r, qdq_yaml_get(v, "placements"), read_placement, ps);
}

/* --- the file --------------------------------------------------------------------------------- */

/* `empty`: also those without schemes. */
static qdq_status add_entries(reader *r, const qdq_yaml *list, const char *what, bool empty,
                              qdq_status (*read)(reader *r, const qdq_yaml *v,
                                                 qdq_pattern_schemes *ps))
{
    const qdq_yaml *first;

    QDQ_TRY(read_list(r, list, &first, r->err));
    for (const qdq_yaml *v = first; v != NULL; v = v->next) {
        qdq_pattern_schemes ps;
        qdq_status st = read(r, v, &ps);

        if (st == QDQ_E_NOMEM)
            return qdq_nomem(r->err);
        if (st != QDQ_OK)
            qdq_job_log(r->job, QDQ_LOG_WARNING, "%s: %s left out", r->bad.text, what);
        else if (ps.schemes.n > 0 || empty)
            QDQ_TRY(qdq_pattern_cache_add(r->c, &ps, r->err));
    }
    return QDQ_OK;
}

static qdq_status read_limit(const reader *r, const qdq_yaml *map, const char *key, unsigned *out)
{
    uint64_t x = *out;

    QDQ_TRY(read_size(r, qdq_yaml_get(map, key), INT32_MAX, &x, r->err));
    *out = (unsigned)x;
    return QDQ_OK;
}

static qdq_status read_document(reader *r, const qdq_yaml *top)
{
    const qdq_yaml *cached = qdq_yaml_get(top, "pattern_schemes"),
                   *state = qdq_yaml_get(top, "patterns");
    const qdq_yaml *config = qdq_yaml_get(top, "config");
    unsigned distance = r->c->minimum_distance, entries = r->c->max_entries;

    if (cached == NULL && state == NULL)
        return qdq_fail(r->err, QDQ_E_FORMAT,
                        "%s: neither 'pattern_schemes' nor 'patterns', expected a pattern cache",
                        r->name);
    QDQ_TRY(read_limit(r, cached != NULL ? top : config,
                       cached != NULL ? "minimum_distance" : "pattern_cache_minimum_distance",
                       &distance));
    QDQ_TRY(read_limit(r, cached != NULL ? top : config,
                       cached != NULL ? "max_entries_per_pattern"
                                      : "pattern_cache_max_entries_per_pattern",
                       &entries));
    r->c->minimum_distance = r->c->max_entries = 0;
    QDQ_TRY(
        add_entries(r, cached != NULL ? cached : state, "pattern", cached != NULL, read_pattern));
    QDQ_TRY(add_entries(r, qdq_yaml_get(top, "models"), "model", true, read_model));
    r->c->minimum_distance = distance;
    r->c->max_entries = entries;
    return QDQ_OK;
}

qdq_status qdq_pattern_cache_parse(const char *text, size_t size, const char *name,
                                   const qdq_job *job, qdq_pattern_cache *out, qdq_error *err)
{
    reader r = {.name = name, .job = job, .c = out, .err = err};
    const qdq_yaml *top;

    *out = (qdq_pattern_cache)QDQ_PATTERN_CACHE_INIT;
    qdq_status st = qdq_yaml_parse(text, size, name, &r.arena, &top, err);
    if (st == QDQ_OK)
        st = read_document(&r, top);
    qdq_arena_free(&r.arena);
    if (st != QDQ_OK)
        qdq_pattern_cache_free(out);
    return st;
}

qdq_status qdq_pattern_cache_load(const char *path, const qdq_job *job, qdq_pattern_cache *out,
                                  qdq_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *out = (qdq_pattern_cache)QDQ_PATTERN_CACHE_INIT;
    QDQ_TRY(qdq_read_file(path, FILE_MAX, &text, &size, err));
    qdq_status st = qdq_pattern_cache_parse(text, size, strcmp(path, "-") == 0 ? "<stdin>" : path,
                                            job, out, err);
    qdq_free(text);
    return st;
}
