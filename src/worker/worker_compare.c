/* worker_compare.c - what two models give on the same samples: how far apart, and whether it is
 * numbers at all. */
#include "worker/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/array_copy.h"
#include "quant/compare/compare_output.h"
#include "quant/compare/deciders.h"

#define REFERENCE_MAX ((size_t)256 << 20)

struct qdq_compare_sums {
    int64_t a, b;
    /* sample */
    size_t next;
    qdq_arena arena;
    /* of a */
    qdq_compare_output *outputs;
    /* qdq_slices_batch() */
    int64_t batch;
    /* by output of a: its shape depends on data. Only that is compared */
    bool *follows;
    /* such a shape was another one */
    bool moved;
    size_t n;
};

/* --- what the reference gave ------------------------------------------------------------------ */

static void forget_reference(qdq_worker_reference *r)
{
    qdq_arena_free(&r->memory);
    *r = (qdq_worker_reference){.handle = -1};
}

void qdq_worker_forget(qdq_worker *w, int64_t handle)
{
    if (w->reference.handle == handle)
        forget_reference(&w->reference);
    if (w->sums != NULL && (w->sums->a == handle || w->sums->b == handle))
        w->sums->a = -1;
}

static void free_sums(qdq_compare_sums *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; s->outputs != NULL && i < s->n; i++)
        qdq_compare_output_free(&s->outputs[i]);
    qdq_arena_free(&s->arena);
    free(s);
}

void qdq_worker_compare_free(qdq_worker *w)
{
    forget_reference(&w->reference);
    free_sums(w->sums);
    w->sums = NULL;
}

/* Outputs of one run, copied: both models' are needed at once. */
typedef struct collector {
    qdq_arena *memory;
    qdq_named_array *at;
    size_t n, capacity, bytes;
} collector;

static qdq_status collect(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    collector *c = ctx;

    if (c->n == c->capacity)
        return qdq_fail(err, QDQ_E_ENGINE, "the engine gave more outputs than the %zu it has",
                        c->capacity);
    qdq_named_array *to = &c->at[c->n];
    to->array = *a;
    to->array.data = qdq_arena_alloc(c->memory, a->bytes + 1);
    to->name = qdq_arena_strdup(c->memory, name);
    if (to->array.data == NULL || to->name == NULL) {
        to->name = NULL;
        return qdq_nomem(err);
    }
    if (a->bytes > 0)
        memcpy(to->array.data, a->data, a->bytes);
    c->bytes += a->bytes;
    c->n++;
    return QDQ_OK;
}

/* *out ends with a NULL name. */
static qdq_status run_model(qdq_worker *w, qdq_worker_model *m, size_t sample, qdq_arena *memory,
                            qdq_named_array **out, size_t *bytes, size_t *samples, qdq_error *err)
{
    collector c = {.memory = memory, .capacity = m->session->n_out};
    qdq_arena converted = QDQ_ARENA_INIT;
    const qdq_named_array *in;
    size_t n;

    c.at = qdq_arena_array(memory, c.capacity + 1, sizeof *c.at);
    QDQ_NEED(c.at != NULL, err);
    qdq_status st = qdq_worker_sample(w, m->model, sample, &converted, &in, &n, samples, err);
    if (w->sums != NULL)
        w->sums->batch = qdq_slices_batch(in, n);
    if (st == QDQ_OK)
        st = qdq_session_run(m->session, in, n, collect, &c, err);
    qdq_arena_free(&converted);
    *out = c.at;
    *bytes = c.bytes;
    return st;
}

/* The outputs of `a`, kept from last time or to be kept for next time, if there is not too much of
 * it. */
static qdq_status refer(qdq_worker *w, qdq_worker_model *a, size_t sample, qdq_arena *memory,
                        qdq_named_array **out, size_t *samples, qdq_error *err)
{
    qdq_worker_reference *r = &w->reference;
    size_t bytes;

    if (r->handle != a->handle) {
        forget_reference(r);
        r->handle = a->handle;
    }
    if (sample < r->samples.n) {
        *out = r->samples.at[sample];
        *samples = w->data != NULL ? qdq_data_count(w->data) : 1;
        return QDQ_OK;
    }
    if (sample != r->samples.n || r->bytes >= REFERENCE_MAX)
        return run_model(w, a, sample, memory, out, &bytes, samples, err);
    qdq_status st = run_model(w, a, sample, &r->memory, out, &bytes, samples, err);
    if (st == QDQ_OK && !QDQ_PUSH(&r->memory, &r->samples, *out))
        st = qdq_nomem(err);
    if (st != QDQ_OK)
        forget_reference(r);
    r->bytes += st == QDQ_OK ? bytes : 0;
    return st;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Outputs of a, in the order of its session. */
static qdq_status find_followers(qdq_compare_sums *s, const qdq_worker_model *a, qdq_error *err)
{
    qdq_deciders d;

    qdq_status st = qdq_deciders_find(a->model, NULL, &d, err);
    for (size_t i = 0; st == QDQ_OK && i < s->n && i < qdq_model_output_count(a->model); i++)
        s->follows[i] = d.follows[i];
    qdq_deciders_free(&d);
    return st;
}

static qdq_status begin(qdq_worker *w, const qdq_worker_model *a, int64_t b, qdq_error *err)
{
    const size_t outputs = a->session->n_out;
    qdq_compare_sums *s = calloc(1, sizeof *s);

    free_sums(w->sums);
    w->sums = s;
    QDQ_NEED(s != NULL, err);
    s->a = a->handle;
    s->b = b;
    s->n = outputs;
    s->outputs = qdq_arena_array(&s->arena, outputs + 1, sizeof *s->outputs);
    s->follows = qdq_arena_array(&s->arena, outputs + 1, sizeof *s->follows);
    return s->outputs != NULL && s->follows != NULL ? find_followers(s, a, err) : qdq_nomem(err);
}

/* An engine that gives something else than the model promises has failed. */
static qdq_status add_outputs(qdq_compare_sums *s, size_t sample, const qdq_named_array *a,
                              const qdq_named_array *b, qdq_error *err)
{
    for (size_t i = 0; i < s->n && a[i].name != NULL; i++) {
        const qdq_named_array *other = b;

        while (other->name != NULL && strcmp(other->name, a[i].name) != 0)
            other++;
        if (other->name == NULL)
            return qdq_fail(err, QDQ_E_ENGINE, "there is no output '%s' to compare", a[i].name);
        const bool same = qdq_array_same_shape(&other->array, &a[i].array);
        s->moved = s->moved || !same;
        if (!same && !s->follows[i])
            return qdq_fail(err, QDQ_E_ENGINE,
                            "output '%s' has another shape than that of the other model",
                            a[i].name);
        if (s->follows[i])
            continue;
        QDQ_TRY(qdq_compare_output_add(&s->outputs[i], sample, s->batch, &a[i].array, &other->array,
                                       NULL, err));
    }
    return QDQ_OK;
}

/* A pair of numbers that are not finite and not the same makes the sum of differences infinite. An
 * output that is zero everywhere has no SQNR, and is worse than any that has one. */
static qdq_status conclude(const qdq_compare_sums *s, qdq_worker_verdict *out, qdq_error *err)
{
    out->finite = true;
    out->sqnr_db = s->moved ? -INFINITY : INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        qdq_compare_tensor t = {0};

        QDQ_TRY(qdq_compare_output_get(&s->outputs[i], &t, err));
        if (isinf(s->outputs[i].stat.dd)) {
            out->finite = false;
            t.worst_db = -INFINITY;
        }
        if (t.elements > 0 && (isnan(t.worst_db) || !(t.worst_db >= out->sqnr_db)))
            out->sqnr_db = isnan(out->sqnr_db) ? out->sqnr_db : t.worst_db;
    }
    return QDQ_OK;
}

qdq_status qdq_worker_compare(qdq_worker *w, qdq_worker_model *a, qdq_worker_model *b,
                              size_t sample, qdq_worker_verdict *out, qdq_error *err)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_named_array *of_a = NULL, *of_b = NULL;
    size_t bytes;

    if (sample == 0)
        QDQ_TRY(begin(w, a, b->handle, err));
    if (w->sums == NULL || w->sums->a != a->handle || w->sums->b != b->handle ||
        w->sums->next != sample)
        return qdq_fail(err, QDQ_E_BUG, "sample %zu is not the next one of this comparison",
                        sample);
    qdq_status st = refer(w, a, sample, &memory, &of_a, &out->samples, err);
    if (st == QDQ_OK)
        st = run_model(w, b, sample, &memory, &of_b, &bytes, &out->samples, err);
    if (st == QDQ_OK)
        st = add_outputs(w->sums, sample, of_a, of_b, err);
    qdq_arena_free(&memory);
    w->sums->next++;
    return st == QDQ_OK ? conclude(w->sums, out, err) : st;
}
