/* apart_samples.c - samples in the store: by content, so that other models have them, too. */
#include "base/fail.h"
#include "base/json_write.h"
#include "tune/greedy/apart.h"
#include "tune/state/tune_values.h"

/* Whole times and times of layers have nothing to do with each other. */
static const char *key_of(const qdq_tune_sitting *s, const qdq_tune_entry *e)
{
    return qdq_arena_printf(&s->t->arena, "apart, %s, %s %u, %s: %s",
                            s->kinds->by_layers ? "layers" : "whole", s->label, s->amount,
                            qdq_scheme_kind_names[e->scheme->what->kind], e->kind->name);
}

/* For autotune_cache.json. */
static qdq_status note(const qdq_tune_sitting *s, const char *key, const qdq_tune_apart *a,
                       size_t n)
{
    qdq_cached_samples known = {.key = key, .n = 3 * n};
    double *us = qdq_arena_array(&s->t->arena, known.n + 1, sizeof *us);

    if (us == NULL)
        return qdq_nomem(s->err);
    for (size_t i = 0; i < n; i++) {
        us[3 * i] = a[i].none_us;
        us[3 * i + 1] = a[i].scheme_us;
        us[3 * i + 2] = a[i].border_us;
    }
    known.us = us;
    return QDQ_PUSH(&s->t->arena, &s->kinds->samples, known) ? QDQ_OK : qdq_nomem(s->err);
}

static json_t *write_samples(const qdq_tune_apart *a, size_t n)
{
    qdq_json_doc d = {0};
    qdq_json_out list = qdq_json_list(&d), one;

    for (size_t i = 0; i < n; i++) {
        one = qdq_json_put_list(list, NULL);
        qdq_json_put_real(one, NULL, a[i].none_us);
        qdq_json_put_real(one, NULL, a[i].scheme_us);
        qdq_json_put_real(one, NULL, a[i].border_us);
    }
    return qdq_json_take(&d);
}

static bool read_sample(const json_t *one, qdq_tune_apart *out)
{
    *out = (qdq_tune_apart){json_number_value(json_array_get(one, 0)),
                            json_number_value(json_array_get(one, 1)),
                            json_number_value(json_array_get(one, 2))};
    return out->none_us > 0 && out->scheme_us > 0 && out->border_us >= 0;
}

qdq_status qdq_tune_recall_samples(qdq_tune_sitting *s, const qdq_tune_entry *e, bool *known)
{
    const char *key = key_of(s, e);
    qdq_status st = QDQ_OK;
    qdq_tune_apart sample;
    json_t *list, *one;
    size_t i;

    if (key == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_recall_content(s->t, key, &list, s->err));
    const size_t before = e->scheme->samples.n;
    json_array_foreach(list, i, one)
    {
        if (st == QDQ_OK && read_sample(one, &sample) &&
            !QDQ_PUSH(&s->t->arena, &e->scheme->samples, sample))
            st = qdq_nomem(s->err);
    }
    *known = e->scheme->samples.n > before;
    json_decref(list);
    if (st == QDQ_OK && *known)
        st = note(s, key, &e->scheme->samples.at[before], e->scheme->samples.n - before);
    return st;
}

qdq_status qdq_tune_take_samples(qdq_tune_sitting *s, const qdq_tune_entry *e,
                                 const qdq_tune_apart *a, size_t n)
{
    const char *key = key_of(s, e);

    s->t->apart_tried += e->scheme->samples.n == 0;
    if (key == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_remember_content(s->t, key, write_samples(a, n), s->err));
    for (size_t i = 0; i < n; i++)
        if (!QDQ_PUSH(&s->t->arena, &e->scheme->samples, a[i]))
            return qdq_nomem(s->err);
    return note(s, key, a, n);
}
