/* autotune_cache_read.c - the reader. Model-Optimizer writes with Python, for which NaN and
 * Infinity are JSON. */
#include "tune/cache/autotune_cache.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"

enum { FILE_MAX = 64 * 1024 * 1024, VERSION = 1 };

/* --- what is no JSON -------------------------------------------------------------------------- */

/* How many bytes of `text` are a number that JSON does not have. */
static size_t odd_number(const char *text, size_t size)
{
    static const char *const odd[] = {"NaN", "Infinity", "-Infinity"};

    for (size_t i = 0; i < QDQ_COUNT(odd); i++)
        if (size >= strlen(odd[i]) && memcmp(text, odd[i], strlen(odd[i])) == 0)
            return strlen(odd[i]);
    return 0;
}

/* The string that begins at text[0], with both quotes; or what there is of it. */
static size_t string_size(const char *text, size_t size)
{
    size_t i = 1;

    while (i < size && text[i] != '"')
        i += text[i] == '\\' && i + 1 < size ? 2 : 1;
    return i < size ? i + 1 : size;
}

/* Such numbers become null. Whatever else is no JSON stays so, for no other text does. */
static void put_strict(qdq_buf *b, const char *text, size_t size)
{
    size_t done = 0;

    for (size_t i = 0; i < size;) {
        const size_t odd = odd_number(text + i, size - i);
        if (odd > 0) {
            qdq_buf_append(b, text + done, i - done);
            qdq_buf_puts(b, "null");
            done = i + odd;
        }
        i += odd > 0 ? odd : text[i] == '"' ? string_size(text + i, size - i) : 1;
    }
    qdq_buf_append(b, text + done, size - done);
}

/* --- members ---------------------------------------------------------------------------------- */

/* 0 is what Model-Optimizer writes where it has no profile. */
static double read_time(const qdq_json_place *p, const char *key)
{
    const double ms = qdq_json_number(p, key, 0, INFINITY, NAN);

    return ms > 0 ? ms : NAN;
}

static int64_t read_number(const qdq_json_place *p, const char *key)
{
    if (!qdq_json_has(p, key))
        qdq_json_wrong(p, key, "the number of a group");
    return qdq_json_int(p, key, 0, INT64_MAX, 0);
}

static void read_group(const qdq_json_place *p, qdq_autotune_cache *c)
{
    qdq_cached_group g = {.id = read_number(p, "group_id"),
                          .layer = qdq_json_text(p, "trt_layer_name", ""),
                          .scheme = qdq_json_text(p, "best_scheme_name", "baseline"),
                          .what = qdq_json_text(p, "best_scheme_description", ""),
                          .tensor = qdq_json_texts(p, "best_scheme_target_tensors"),
                          .base_ms = read_time(p, "baseline_latency_ms"),
                          .best_ms = read_time(p, "best_latency_ms"),
                          .base_compute_ms = read_time(p, "baseline_compute_ms"),
                          .best_compute_ms = read_time(p, "best_compute_ms"),
                          .in_progress = qdq_json_bool(p, "in_progress")};

    while (g.tensor != NULL && g.tensor[g.n_tensors] != NULL)
        g.n_tensors++;
    if (p->reader->status == QDQ_OK && !QDQ_PUSH(&c->arena, &c->groups, g))
        qdq_json_nomem(p);
}

static void read_decision(const qdq_json_place *p, qdq_autotune_cache *c)
{
    const qdq_cached_decision d = {
        .group = read_number(p, "group_id"),
        .accepted = qdq_json_bool(p, "kept"),
        .ms = read_time(p, "latency_ms"),
        .reason = qdq_json_has(p, "reason") ? qdq_json_text(p, "reason", "") : NULL,
        .verdict = qdq_json_has(p, "verdict") ? qdq_json_text(p, "verdict", "") : NULL};

    if (!qdq_json_has(p, "kept"))
        qdq_json_wrong(p, "kept", "true or false");
    if (p->reader->status == QDQ_OK && !QDQ_PUSH(&c->arena, &c->decisions, d))
        qdq_json_nomem(p);
}

static void read_candidates(const qdq_json_place *p, qdq_autotune_cache *c)
{
    const json_t *list = json_object_get(p->object, "candidates");

    if (qdq_json_has(p, "candidates") && !json_is_array(list))
        qdq_json_wrong(p, "candidates", "a list of numbers of groups");
    for (size_t i = 0; i < json_array_size(list) && p->reader->status == QDQ_OK; i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            qdq_json_wrong(p, "candidates", "a list of numbers of groups");
        else if (!QDQ_PUSH(&c->arena, &c->candidates, (int64_t)json_integer_value(id)))
            qdq_json_nomem(p);
    }
}

static void read_numbers(const qdq_json_place *p, const char *key, const json_t *list,
                         qdq_autotune_cache *c)
{
    qdq_cached_samples s = {.key = qdq_arena_strdup(&c->arena, key), .n = json_array_size(list)};
    double *us = qdq_arena_array(&c->arena, s.n + 1, sizeof *us);

    if (s.key == NULL || us == NULL) {
        qdq_json_nomem(p);
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        const json_t *one = json_array_get(list, i);
        us[i] = json_number_value(one);
        if (!json_is_number(one) || !(us[i] >= 0))
            qdq_json_wrong(p, key, "a list of times in us");
    }
    s.us = us;
    if (!json_is_array(list))
        qdq_json_wrong(p, key, "a list of times in us");
    else if (p->reader->status == QDQ_OK && !QDQ_PUSH(&c->arena, &c->samples, s))
        qdq_json_nomem(p);
}

static void read_samples(const qdq_json_place *phase, qdq_autotune_cache *c)
{
    qdq_json_place p;
    const char *key;
    json_t *list;

    if (!qdq_json_member(phase, "samples", &p))
        return;
    json_object_foreach(p.object, key, list)
    {
        if (p.reader->status == QDQ_OK)
            read_numbers(&p, key, list, c);
    }
}

static void read_run(const qdq_json_place *top, qdq_autotune_cache *c)
{
    qdq_json_place p;

    if (!qdq_json_member(top, "run", &p))
        return;
    c->fingerprint = qdq_json_text(&p, "fingerprint", "");
    c->run = qdq_json_int(&p, "number", 0, INT64_MAX, 0);
}

static void read_all(const qdq_json_place *top, qdq_autotune_cache *c)
{
    qdq_json_place phase, item;

    if (qdq_json_int(top, "version", INT64_MIN, INT64_MAX, VERSION) != VERSION)
        qdq_json_wrong(top, "version", "1");
    c->model = qdq_json_text(top, "model_path", "");
    read_run(top, c);
    if (qdq_json_member(top, "phase2", &phase)) {
        for (size_t i = 0; qdq_json_item(&phase, "results", i, &item); i++)
            read_group(&item, c);
        read_samples(&phase, c);
    }
    if (!qdq_json_member(top, "phase3", &phase))
        return;
    c->base_ms = read_time(&phase, "full_baseline_ms");
    c->current_ms = read_time(&phase, "current_latency_ms");
    read_candidates(&phase, c);
    for (size_t i = 0; qdq_json_item(&phase, "validated", i, &item); i++)
        read_decision(&item, c);
    c->next = qdq_json_int(&phase, "next", 0, INT64_MAX, -1);
    c->completed = qdq_json_bool(&phase, "completed");
}

/* --- the file --------------------------------------------------------------------------------- */

static qdq_status read_strict(const char *text, size_t size, const char *name,
                              qdq_autotune_cache *out, qdq_error *err)
{
    qdq_json_reader reader = {.arena = &out->arena, .err = err, .text = text, .size = size};
    json_t *root;

    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    const qdq_json_place top = {&reader, root, ""};
    if (json_is_object(root))
        read_all(&top, out);
    else
        qdq_json_fail(&top, "expected an object");
    json_decref(root);
    return reader.status != QDQ_OK ? qdq_within(err, reader.status, "%s", name) : QDQ_OK;
}

qdq_status qdq_autotune_cache_parse(const char *text, size_t size, const char *name,
                                    qdq_autotune_cache *out, qdq_error *err)
{
    qdq_buf strict = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_autotune_cache_init(out);
    put_strict(&strict, text, size);
    qdq_status st =
        strict.failed ? qdq_nomem(err) : read_strict(strict.data, strict.size, name, out, err);
    qdq_buf_free(&strict);
    return st;
}

qdq_status qdq_autotune_cache_read(const char *path, qdq_autotune_cache *out, qdq_error *err)
{
    char *text;
    size_t size;

    qdq_autotune_cache_init(out);
    QDQ_TRY(qdq_read_file(path, FILE_MAX, &text, &size, err));
    qdq_status st = qdq_autotune_cache_parse(text, size, path, out, err);
    qdq_free(text);
    return st;
}
