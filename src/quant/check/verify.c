/* verify.c - does an engine compute what a model says? Runs the model on the engine and on a
 * reference, as check.h has it, and adds up how far the outputs are apart. Which node it is:
 * verify_search.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "quant/calib/feedback.h"
#include "quant/check/verify_state.h"
#include "quant/check/verify_texts.h"
#include "quant/compare/compare_feed.h"
#include "quant/compare/compare_run.h"
#include "quant/compare/compare_stat.h"
#include "quant/compare/reference_outputs.h"
#include "quant/data/data_source.h"
#include "quant/half_precision/safe_session.h"

enum { MOST_SAMPLES = 4, MOST_KEPT = 64 << 20 };

const char *qdq_verify_verdict_name(qdq_verify_verdict v)
{
    static const char *const names[] = {"unknown", "right", "wrong"};

    return names[v];
}

/* --- sides ------------------------------------------------------------------------------------ */

static bool is_own_reference(const qdq_engine *e)
{
    return (qdq_engine_get_info(e)->capabilities & QDQ_RUNS_AS_WRITTEN) != 0;
}

static qdq_status choose_reference(qdq_verifying *v, bool *found, qdq_error *err)
{
    char why[200];

    *found = true;
    v->reference = is_own_reference(v->engine) ? v->engine : v->opts.reference;
    if (v->reference != NULL && !is_own_reference(v->reference))
        return qdq_fail(err, QDQ_E_USAGE, "engine '%s' as the reference: expected 'ort'",
                        qdq_engine_get_info(v->reference)->name);
    if (v->reference != NULL) {
        const qdq_engine_info *info = qdq_engine_get_info(v->reference);

        snprintf(v->reference_name, sizeof v->reference_name, "%.40s %.40s without optimizations",
                 info->name, info->version);
        return QDQ_OK;
    }
    *found = qdq_verify_can_evaluate(v->m, why, sizeof why);
    if (*found)
        snprintf(v->reference_name, sizeof v->reference_name, "qdq's evaluator");
    else
        snprintf(v->why, sizeof v->why,
                 "no reference: ONNX Runtime is unavailable, and qdq's evaluator does not know %s",
                 why);
    return QDQ_OK;
}

qdq_status qdq_verify_open(qdq_verifying *v, const qdq_verify_side *side, qdq_session **out,
                           qdq_error *err)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    so.level = side->level;
    so.threads = v->opts.threads;
    so.shapes = v->opts.shapes;
    so.n_shapes = v->opts.n_shapes;
    so.expose = side->expose;
    const bool is_rounded = v->rounded != NULL && side->level == QDQ_LEVEL_NONE;
    return qdq_session_open(side->engine, is_rounded ? v->rounded : v->m, &so, out, err);
}

/* --- what comes out --------------------------------------------------------------------------- */

qdq_status qdq_verify_pair_db(const qdq_array *reference, const qdq_array *a, int64_t batch,
                              bool whole, double *db, qdq_error *err)
{
    qdq_slices s = {.n_axes = 0};
    qdq_slice_result r = {.worst_db = NAN};
    qdq_slice_list all;

    qdq_status st = qdq_slices_add(&s, 0, batch, reference, a, err);
    if (st == QDQ_OK)
        st = qdq_slices_get(&s, &r, err);
    if (st == QDQ_OK && whole) {
        qdq_slices_list(&s, true, false, QDQ_SLICES_BLOCKS, &all);
        r.worst_db = all.n > 0 ? all.db[0] : (double)NAN;
    }
    qdq_slices_free(&s);
    *db = isnan(r.worst_db) ? (double)INFINITY : r.worst_db; /* no signal proves nothing */
    return st;
}

/* Integers of more bits are indices or counts: one of them may be far away, and nearly right. */
static bool is_exact(qdq_elem e)
{
    return e == QDQ_BOOL || (qdq_elem_is_int(e) && qdq_elem_bits(e) > 8);
}

static qdq_verify_tensor *find_output(const qdq_verifying *v, const char *name, const qdq_array *a)
{
    if (!qdq_elem_is_float(a->elem) && !qdq_elem_is_int(a->elem) && a->elem != QDQ_BOOL)
        return NULL;
    for (size_t i = 0; i < v->n_outputs; i++)
        if (strcmp(v->output[i].name, name) == 0)
            return &v->output[i];
    return NULL;
}

static qdq_status copy_original(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    qdq_verify_tensor *t = find_output(ctx, name, a);

    return t != NULL ? qdq_hold(&t->original, a, err) : QDQ_OK;
}

static qdq_status copy_reference(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    qdq_verify_tensor *t = find_output(ctx, name, a);

    return t != NULL ? qdq_hold(&t->reference, a, err) : QDQ_OK;
}

static qdq_status compare_output(qdq_verify_tensor *t, const qdq_array *a, const qdq_verifying *v,
                                 qdq_error *err)
{
    const size_t sample = v->sample;
    const int64_t batch = v->batch;
    double db;

    /* Where the data decide a shape, a rounding may decide otherwise. */
    if (!qdq_array_same_shape(&t->reference.array, a)) {
        t->other_shape = true;
        return QDQ_OK;
    }
    t->is_compared = true;
    t->is_exact = is_exact(a->elem);
    if (t->is_exact) {
        t->differs |= a->bytes != t->reference.array.bytes ||
                      memcmp(a->data, t->reference.array.data, a->bytes) != 0;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_verify_pair_db(&t->reference.array, a, batch, false, &db, err));
    if (db < t->worst_db) {
        t->worst_db = db;
        t->worst_sample = sample;
        t->worst_step = v->step;
    }
    QDQ_TRY(qdq_slices_add(&t->same, sample, batch, &t->reference.array, a, err));
    if (!t->original.is_held || !qdq_array_same_shape(&t->original.array, a))
        return QDQ_OK;
    QDQ_TRY(qdq_slices_add(&t->of_reference, sample, batch, &t->original.array, &t->reference.array,
                           err));
    return qdq_slices_add(&t->of_engine, sample, batch, &t->original.array, a, err);
}

static qdq_status match_output(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const qdq_verifying *v = ctx;
    qdq_verify_tensor *t = find_output(v, name, a);

    return t != NULL && t->reference.is_held ? compare_output(t, a, v, err) : QDQ_OK;
}

/* --- runs ------------------------------------------------------------------------------------- */

enum { REFERENCE, ORIGINAL };

typedef struct running {
    qdq_session *engine, *reference;
    qdq_safe_session original;
    /* it does not run: its rule is not asked */
    bool without_original;
    /* what the original gave for the samples from `first` on, step by step */
    qdq_reference_outputs reference_outputs;
    size_t first;
    /* of the two */
    qdq_feedback states[2];
} running;

/* The step at hand. States of the reference are those of the engine, too; the original has its
 * own. */
static qdq_status get_step(qdq_verifying *v, qdq_feedback *states, const qdq_named_array **in,
                           size_t *n, qdq_error *err)
{
    QDQ_TRY(qdq_job_poll(v->opts.job, err));
    QDQ_TRY(qdq_data_get_step(v->data, v->sample, v->step, in, n, err));
    return qdq_feedback_put(states, v->step, in, *n, &v->arena, err);
}

static void forget_step(const qdq_verifying *v)
{
    for (size_t t = 0; t < v->n_outputs; t++)
        v->output[t].reference.is_held = v->output[t].original.is_held = false;
}

static void open_original(qdq_verifying *v, running *r)
{
    qdq_error own = QDQ_ERROR_INIT;

    r->original = (qdq_safe_session){
        .engine = v->reference, .model = v->opts.original, .which = "original model"};
    r->original.opts = (qdq_session_opts)QDQ_SESSION_OPTS_INIT;
    r->original.opts.level = QDQ_LEVEL_NONE;
    r->original.opts.threads = v->opts.threads;
    r->original.opts.shapes = v->opts.shapes;
    r->original.opts.n_shapes = v->opts.n_shapes;
    r->without_original = qdq_safe_open(&r->original, &own) != QDQ_OK;
}

/* Of the step at hand. */
static qdq_status run_original(qdq_verifying *v, running *r, qdq_error *err)
{
    qdq_error own = QDQ_ERROR_INIT;
    const qdq_named_array *in;
    size_t n;

    forget_step(v);
    QDQ_TRY(get_step(v, &r->states[ORIGINAL], &in, &n, err));
    QDQ_TRY(qdq_compare_feed(r->original.model, v->opts.original, &in, n, &v->arena, err));
    r->without_original =
        qdq_safe_run(&r->original, in, n, qdq_feedback_take, &r->states[ORIGINAL], &own) != QDQ_OK;
    return QDQ_OK;
}

/* Where what the original gave in the step at hand is kept. */
static size_t kept_place(const qdq_verifying *v, const running *r)
{
    return ((v->sample - r->first) * qdq_data_steps(v->data) + v->step) * v->n_outputs;
}

static qdq_status keep_original(qdq_verifying *v, running *r, qdq_error *err)
{
    const qdq_arena_mark mark = qdq_arena_get_mark(&v->arena);
    const size_t at = kept_place(v, r);

    QDQ_TRY(run_original(v, r, err));
    qdq_arena_reset(&v->arena, mark);
    for (size_t t = 0; t < v->n_outputs && !r->reference_outputs.is_over; t++)
        if (v->output[t].original.is_held)
            QDQ_TRY(qdq_keep(&r->reference_outputs, at + t, &v->output[t].original.array, err));
    return QDQ_OK;
}

/* They are opened again when they are needed. */
static void close_others(running *r)
{
    qdq_session_close(r->engine);
    qdq_session_close(r->reference);
    r->engine = r->reference = NULL;
}

/* Over a range, before the others are needed: its weights and theirs are never in memory at the
 * same time. Outputs beyond the limit: none is kept, and it stays open and runs in turns with the
 * others, from then on. */
static qdq_status keep_originals(qdq_verifying *v, running *r, size_t first, size_t end,
                                 qdq_error *err)
{
    const size_t steps = qdq_data_steps(v->data);

    if (v->opts.original == NULL || v->reference == NULL || r->without_original ||
        r->reference_outputs.is_over)
        return QDQ_OK;
    close_others(r);
    qdq_reference_outputs_free(&r->reference_outputs);
    r->reference_outputs.limit = MOST_KEPT;
    r->first = first;
    QDQ_TRY(qdq_reference_outputs_begin(&r->reference_outputs, (end - first) * steps * v->n_outputs,
                                        err));
    open_original(v, r);
    for (v->sample = first; v->sample < end; v->sample++)
        for (v->step = 0; v->step < steps && !r->without_original && !r->reference_outputs.is_over;
             v->step++)
            QDQ_TRY(keep_original(v, r, err));
    if (!r->reference_outputs.is_over)
        qdq_safe_close(&r->original);
    return QDQ_OK;
}

/* A copy: that of the next step takes its place. */
static qdq_status take_original(qdq_verifying *v, running *r, qdq_error *err)
{
    if (v->opts.original == NULL || v->reference == NULL || r->without_original)
        return QDQ_OK;
    if (r->reference_outputs.is_over)
        return run_original(v, r, err);
    const qdq_held *kept = &r->reference_outputs.at[kept_place(v, r)];
    for (size_t t = 0; t < v->n_outputs; t++)
        if (kept[t].is_held)
            QDQ_TRY(qdq_hold(&v->output[t].original, &kept[t].array, err));
    return QDQ_OK;
}

/* *why: what failed, if the reference did. */
static qdq_status run_reference(qdq_verifying *v, running *r, const qdq_named_array *in, size_t n,
                                qdq_error *why)
{
    const qdq_verify_side side = {v->reference, QDQ_LEVEL_NONE, NULL};
    qdq_feedback *states = &r->states[REFERENCE];

    if (v->reference == NULL)
        return qdq_verify_evaluate(v->m, in, n, qdq_feedback_take, states, why);
    if (r->reference == NULL)
        QDQ_TRY(qdq_verify_open(v, &side, &r->reference, why));
    return qdq_session_run(r->reference, in, n, qdq_feedback_take, states, why);
}

static qdq_status run_both(qdq_verifying *v, running *r, const qdq_named_array *in, size_t n,
                           bool *known, qdq_error *err)
{
    const qdq_verify_side side = {v->engine, QDQ_LEVEL_ALL, NULL};
    qdq_error why = QDQ_ERROR_INIT;

    v->batch = qdq_slices_batch(in, n);
    qdq_status st = run_reference(v, r, in, n, &why);
    *known = st == QDQ_OK;
    if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED)
        return qdq_fail(err, st, "%s", why.text);
    if (!*known) {
        snprintf(v->why, sizeof v->why, "no reference: %.*s: %.600s", 199, v->out->reference,
                 why.text);
        return QDQ_OK;
    }
    if (r->engine == NULL)
        QDQ_TRY(qdq_verify_open(v, &side, &r->engine, err));
    return qdq_session_run(r->engine, in, n, match_output, v, err);
}

static qdq_status run_step(qdq_verifying *v, running *r, bool *known, qdq_error *err)
{
    const qdq_arena_mark mark = qdq_arena_get_mark(&v->arena);
    const qdq_named_array *in;
    size_t n;

    forget_step(v);
    QDQ_TRY(take_original(v, r, err));
    QDQ_TRY(get_step(v, &r->states[REFERENCE], &in, &n, err));
    if (v->opts.original != NULL)
        QDQ_TRY(qdq_compare_feed(v->m, v->opts.original, &in, n, &v->arena, err));
    QDQ_TRY(run_both(v, r, in, n, known, err));
    qdq_arena_reset(&v->arena, mark);
    return QDQ_OK;
}

static qdq_status run_sample(qdq_verifying *v, running *r, size_t i, bool *known, qdq_error *err)
{
    v->sample = i;
    *known = true;
    for (v->step = 0; v->step < qdq_data_steps(v->data) && *known; v->step++)
        QDQ_TRY(run_step(v, r, known, err));
    v->out->samples += *known;
    return QDQ_OK;
}

static qdq_status begin_states(qdq_verifying *v, running *r, qdq_error *err)
{
    for (int k = 0; k < 2; k++) {
        QDQ_TRY(qdq_feedback_begin(&r->states[k], v->data, err));
        r->states[k].fn = k == REFERENCE ? copy_reference : copy_original;
        r->states[k].ctx = v;
    }
    return QDQ_OK;
}

static void close_all(running *r)
{
    close_others(r);
    qdq_safe_close(&r->original);
    qdq_reference_outputs_free(&r->reference_outputs);
    for (int k = 0; k < 2; k++)
        qdq_feedback_free(&r->states[k]);
}

/* --- the interface ---------------------------------------------------------------------------- */

static bool is_open(const qdq_verifying *v)
{
    qdq_io io;

    for (size_t i = 0; v->opts.n_shapes == 0 && qdq_model_input(v->m, i, &io); i++)
        for (int d = 0; d < io.rank; d++)
            if (io.dim[d] < 0)
                return true;
    return false;
}

static qdq_status prepare_outputs(qdq_verifying *v, size_t *end, qdq_error *err)
{
    const qdq_compare_opts range = {.first = v->opts.first, .count = v->opts.count};
    size_t first;
    qdq_io io;

    QDQ_TRY(qdq_compare_range(v->data, &range, &first, end, err));
    QDQ_TRY(qdq_data_warn_of_sameness(v->data, v->opts.job, err));
    if (v->opts.count == 0 && *end - first > MOST_SAMPLES)
        *end = first + MOST_SAMPLES;
    v->n_outputs = qdq_model_output_count(v->m);
    v->output = qdq_arena_array(&v->arena, v->n_outputs + 1, sizeof *v->output);
    QDQ_NEED(v->output != NULL, err);
    for (size_t i = 0; i < v->n_outputs && qdq_model_output(v->m, i, &io); i++) {
        v->output[i].name = io.name;
        v->output[i].worst_db = INFINITY;
        v->output[i].worst_sample = v->opts.first;
    }
    v->out->open = is_open(v);
    return QDQ_OK;
}

static qdq_status run_samples(qdq_verifying *v, running *r, size_t first, size_t end, bool *known,
                              qdq_error *err)
{
    *known = true;
    QDQ_TRY(keep_originals(v, r, first, end, err));
    for (size_t i = first; *known && i < end; i++)
        QDQ_TRY(run_sample(v, r, i, known, err));
    if (*known)
        qdq_verify_decide(v);
    return QDQ_OK;
}

/* A few samples of a plan that is noise in places may tell a right engine from the reference by
 * chance. */
static qdq_status confirm(qdq_verifying *v, running *r, size_t end, bool *known, qdq_error *err)
{
    const size_t left = qdq_data_count(v->data) - end;
    const size_t more = v->opts.confirm < left ? v->opts.confirm : left;

    if (v->worst == NULL || more == 0)
        return QDQ_OK;
    return run_samples(v, r, end, end + more, known, err);
}

static qdq_status run_all(qdq_verifying *v, size_t end, bool *known, qdq_error *err)
{
    running r = {0};
    qdq_status st = begin_states(v, &r, err);

    if (st == QDQ_OK)
        st = run_samples(v, &r, v->opts.first, end, known, err);
    if (st == QDQ_OK && *known)
        st = confirm(v, &r, end, known, err);
    close_all(&r);
    return st;
}

static void free_slices(qdq_verify_tensor *t)
{
    qdq_slices_free(&t->same);
    qdq_slices_free(&t->of_engine);
    qdq_slices_free(&t->of_reference);
}

static void forget_outputs(qdq_verifying *v)
{
    for (size_t i = 0; i < v->n_outputs; i++) {
        qdq_verify_tensor *t = &v->output[i];

        free_slices(t);
        memset(&t->same, 0, sizeof t->same);
        memset(&t->of_engine, 0, sizeof t->of_engine);
        memset(&t->of_reference, 0, sizeof t->of_reference);
        t->worst_db = INFINITY;
        t->other_shape = t->is_compared = t->is_exact = t->differs = false;
    }
    v->out->samples = 0;
    v->worst = NULL;
}

/* What is wrong by the graph may be right by what the engine's operators are documented to do. */
static qdq_status run_rounded(qdq_verifying *v, size_t end, bool *known, qdq_error *err)
{
    bool any;

    QDQ_TRY(qdq_verify_round(v, &any, err));
    if (!any)
        return QDQ_OK;
    forget_outputs(v);
    return run_all(v, end, known, err);
}

static qdq_status verify_outputs(qdq_verifying *v, qdq_error *err)
{
    size_t end = 0;
    bool known;

    if ((qdq_engine_get_info(v->engine)->capabilities & QDQ_CAN_RUN) == 0) {
        snprintf(v->why, sizeof v->why, "engine '%s' computes no outputs",
                 qdq_engine_get_info(v->engine)->name);
        return QDQ_OK;
    }
    QDQ_TRY(choose_reference(v, &known, err));
    if (!known)
        return QDQ_OK;
    QDQ_TRY(prepare_outputs(v, &end, err));
    QDQ_TRY(run_all(v, end, &known, err));
    if (known && v->worst != NULL)
        QDQ_TRY(run_rounded(v, end, &known, err));
    if (!known || v->worst == NULL)
        return QDQ_OK;
    if (!v->opts.no_search)
        QDQ_TRY(qdq_verify_search(v, err));
    qdq_verify_explain(v);
    return QDQ_OK;
}

static void pack_texts(qdq_pack *p, void *r)
{
    qdq_verify_pack(p, r);
}

qdq_status qdq_verify_engine(const qdq_model *m, qdq_engine *e, qdq_data *data,
                             const qdq_verify_opts *opts, qdq_verify_result **out, qdq_error *err)
{
    qdq_verify_result result;
    qdq_verifying v = {.m = m,
                       .engine = e,
                       .data = data,
                       .opts = QDQ_VERIFY_OPTS_INIT,
                       .out = &result,
                       .arena = QDQ_ARENA_INIT};

    *out = NULL;
    qdq_verify_begin(&v);
    QDQ_TRY(qdq_opts_read("qdq_verify_opts", &v.opts, sizeof v.opts, opts, err));
    qdq_status st = verify_outputs(&v, err);
    for (size_t i = 0; i < v.n_outputs && v.output != NULL; i++) {
        qdq_held_free(&v.output[i].reference);
        qdq_held_free(&v.output[i].original);
        free_slices(&v.output[i]);
    }
    qdq_model_free(v.rounded);
    qdq_arena_free(&v.arena);
    if (st == QDQ_OK && (*out = qdq_pack_struct(&result, sizeof result, pack_texts)) == NULL)
        st = qdq_nomem(err);
    return st;
}
